"""Text that Python's own library evaluates: no call of `eval` stands in the source, and the text runs all the same."""

import pytest

from .reading import python

EVALUATED = {
    "hints": ("import typing", "typing.get_type_hints(f)"),
    "hints by another name": ("from typing import get_type_hints as hints", "hints(f)"),
    "hints by a star": ("from typing import *", "get_type_hints(f)"),
    "hints by a name as text": ("import typing", "getattr(typing, 'get_type' + '_hints')(f)"),
    "a forward reference": ("import typing", "typing.ForwardRef('1')"),
    "a dispatch by annotations": ("import functools", "functools.singledispatch(f)"),
    "a method's dispatch": ("from functools import singledispatchmethod", "singledispatchmethod(f)"),
    "annotations of a class": ("class A:\n    __annotations__ = {'x=print(1)': int}", "pass"),
    "annotations by setattr": ("class A:\n    pass\nsetattr(A, '__anno' + 'tations__', {'x=print(1)': int})", "pass"),
    "annotations by an attribute": ("class A:\n    pass\nA.__annotations__ = {'x=print(1)': int}", "pass"),
    "annotations of a class by type()": ("A = type('A', (), {'__annotations__': {'x=print(1)': int}})", "pass"),
    "annotations by a name that is made": (
        "name = '__annotations'\nA = type('A', (), {name + '__': {'x=print(1)': int}})",
        "pass",
    ),
    "fields of a dataclass": ("class A:\n    __dataclass_fields__ = {}", "pass"),
    "an attribute by a format": ("import string", "string.Formatter().get_field('0.mm', (x,), {})"),
}


@pytest.mark.parametrize(("top", "body"), EVALUATED.values(), ids=EVALUATED)
def test_text_that_the_library_evaluates_is_accused(top, body):
    rules = set(python(f"def f(a): return a\n{body}\nreturn ext.run(x)", top=top))
    assert rules & {"code_from_text", "hidden_name", "introspection"}


HONEST = {
    "annotations as text": "def g(a: 'torch.Tensor', n: 'int' = 3) -> 'torch.Tensor':\n    return a",
    "a dataclass": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    width: 'int' = 3\n    names: list = None",
    "a made dataclass": "import dataclasses\nA = dataclasses.make_dataclass('A', ['x', ('y', int)])",
    "types of typing": "from typing import Optional, NamedTuple\nclass A(NamedTuple):\n    x: Optional[int] = None",
    "a class by type()": "A = type('A', (object,), {'width': 3, 'half': lambda self: 2})",
    "functools": "import functools\n@functools.lru_cache\ndef blocks(n):\n    return (n + 255) // 256",
    "a template of text": "import string\ntext = string.Template('float $x;').substitute(x='y')",
    "the word in a docstring": '"""Annotations are in __annotations__, as typing.get_type_hints knows."""',
}


@pytest.mark.parametrize("top", HONEST.values(), ids=HONEST)
def test_annotations_and_classes_that_nobody_evaluates_are_honest(top):
    assert python(top=top) == {}
