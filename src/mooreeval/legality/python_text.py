"""Where Python's own library makes code, or the choice of an attribute, of text: no reader meets a call there.

Annotations may be any text as long as nobody evaluates them; `typing` and `functools` do when asked, and `dataclasses`
writes the keys of `__annotations__` into functions that it compiles. Keys that the grammar wrote are names, keys that a
candidate wrote are code.
"""

from __future__ import annotations

# Parts of modules that may be imported -> the rule that they break.
BY_TEXT = {
    "typing.get_type_hints": "code_from_text",
    "typing.ForwardRef": "code_from_text",
    "typing.evaluate_forward_ref": "code_from_text",
    "typing_extensions.get_type_hints": "code_from_text",
    "typing_extensions.ForwardRef": "code_from_text",
    "typing_extensions.evaluate_forward_ref": "code_from_text",
    "typing_extensions.get_annotations": "code_from_text",
    "functools.singledispatch": "code_from_text",
    "functools.singledispatchmethod": "code_from_text",
    "string.Formatter": "hidden_name",
}

# What of a class becomes code. It may not be given by hand: as a name in its body, an attribute, or a key of its dict.
BECOMES_CODE = frozenset(
    "__annotations__ __annotate__ __annotate_func__ __dataclass_fields__ __dataclass_params__".split()
)
