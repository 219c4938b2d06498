"""Methods of what is not the candidate's own: tensors, modules, containers, text, paths."""

from __future__ import annotations

import ast
from typing import Any

from mooreeval.legality import python_names as names
from mooreeval.legality.operators import QUESTIONS
from mooreeval.legality.python_names import PLUMBING
from mooreeval.legality.python_passing import Passing
from mooreeval.legality.python_state import text_of, words_of
from mooreeval.legality.python_values import (
    A_TENSOR,
    ANYTHING,
    ARRAY,
    DATA,
    FILE,
    SOME_DATA,
    TEMP,
    TENSOR,
    UNKNOWN,
    Class,
    Const,
    Group,
    Instance,
    Layer,
    Method,
    Super,
    Value,
    constant,
    data,
    is_data,
    join,
    one,
)  # fmt: skip

_OF_PLAIN = (
    frozenset(dir(str)) | frozenset(dir(list)) | frozenset(dir(dict)) | frozenset(dir(int)) | frozenset(dir(set))
)
_SEQUENCES = frozenset(
    "split chunk unbind tensor_split split_with_sizes unsafe_chunk unsafe_split broadcast_tensors".split()
)
_ANSWERS = QUESTIONS | frozenset(("item", "tolist", "equal", "allclose", "is_nonzero", "_local_scalar_dense"))
_OF_CONSTANT_TEXT = frozenset(
    "format replace strip lower upper lstrip rstrip removeprefix removesuffix title swapcase capitalize".split()
)
_HOOKS = frozenset(
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_backward_hook "
    "register_state_dict_pre_hook register_load_state_dict_post_hook register_full_backward_pre_hook".split()
)


class Methods(Passing):
    """Looks methods up by what they are called on."""

    def _call_method(self, method: Method, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        receiver, name = method.receiver, method.name
        if name in names.LOW_METHODS and (
            receiver in (TENSOR, UNKNOWN) or isinstance(receiver, Layer | Group | Instance)
        ):
            self.low_precision(node, f".{name}()")
        if receiver is TENSOR:
            return self._call_tensor_method(name, arguments, named, node)
        if receiver is ARRAY:
            if name not in ("copy", "reshape", "astype", "item", "tolist", "tobytes", "transpose", "ravel", "squeeze"):
                self.computes(node, f".{name}()", rule="host_compute", who="NumPy")
            return one(ARRAY)
        if isinstance(receiver, Group):
            return self._call_group_method(receiver, name, arguments, node)
        if isinstance(receiver, Instance | Layer):
            return self._call_module_method(receiver, name, arguments, named, node)
        if isinstance(receiver, Class) and name == "apply":
            return self.call(self.lookup(receiver, "forward"), [ANYTHING, *arguments], named, node)
        if receiver in (TEMP, FILE):
            return self._call_path_method(receiver, name, arguments, node)
        if receiver is UNKNOWN and name not in _OF_PLAIN and self.is_tensor_method(name):
            self.computes(node, f"{words_of(node)}" if isinstance(node, ast.Call) else name)
            return A_TENSOR
        if isinstance(receiver, Const) and isinstance(receiver.value, str):
            return self._call_text_method(receiver.value, name, arguments)
        if isinstance(receiver, Super) or receiver is UNKNOWN:
            self._low(arguments, named, node)
        self._handed_on(arguments, named, node)
        return SOME_DATA if isinstance(receiver, Const) or receiver is DATA else ANYTHING

    def _call_tensor_method(self, name: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        self._low(arguments, named, node)
        if name == "numpy":
            return one(ARRAY)
        if name in _ANSWERS:
            return SOME_DATA
        if name in ("apply_", "map_", "map2_", "register_hook", "as_subclass"):
            self._handed_on(arguments, named, node)
        if name not in PLUMBING:
            self.computes(node, f"{words_of(node)}" if isinstance(node, ast.Call) else f".{name}")
        return one(Group({"": A_TENSOR})) if name in _SEQUENCES else A_TENSOR

    def _call_group_method(self, group: Group, name: str, arguments: list[Value], node: ast.AST) -> Value:
        inside = group.elements.get("", frozenset())
        if name in (
            "append",
            "add",
            "insert",
            "extend",
            "update",
            "appendleft",
            "setdefault",
            "add_module",
            "register_module",
        ):
            new = [self.elements(v) for v in arguments] if name in ("extend", "update") else arguments
            if not self.dead:
                group.elements[""] = join((inside, *new))
            return inside or SOME_DATA
        if name in ("items", "named_children", "named_modules", "named_parameters"):
            pair = one(Group({"0": SOME_DATA, "1": inside, "": join((SOME_DATA, inside))}))
            return one(Group({"": pair}))
        if name == "get" and arguments and (key := text_of(arguments[0])) is not None:
            return join((group.elements.get(key, inside), *arguments[1:]))
        if name in ("pop", "get", "popitem", "popleft"):
            return join((inside, *arguments[1:]))
        if name == "forward":
            return self._call_group(group, arguments, node)
        if name in ("to", "cuda", "eval", "train", "float", "half", "double", "values", "copy", "children", "modules",
                    "parameters", "requires_grad_"):  # fmt: skip
            return one(group)
        return SOME_DATA if not inside or is_data(inside) else ANYTHING

    def _call_module_method(
        self, receiver: Any, name: str, arguments: list[Value], named: dict[str, Value], node: ast.AST
    ) -> Value:
        if name in (
            "to",
            "cuda",
            "cpu",
            "eval",
            "train",
            "float",
            "double",
            "half",
            "bfloat16",
            "requires_grad_",
            "type",
        ):
            self._low(arguments, named, node)
            return one(receiver)
        if name == "forward":
            return self._call_layer(receiver, arguments, node) if isinstance(receiver, Layer) else ANYTHING
        if name == "get_submodule":
            key = text_of(join(arguments[:1]))
            return self.attribute(one(receiver), key, node) if key else self.submodules(receiver)
        if name in ("parameters", "buffers"):
            return one(Group({"": A_TENSOR}))
        if name in ("named_parameters", "named_buffers"):
            return one(Group({"": one(Group({"0": SOME_DATA, "1": A_TENSOR, "": ANYTHING}))}))
        if name in ("children", "modules"):
            return one(Group({"": self.submodules(receiver)}))
        if name in ("named_children", "named_modules"):
            inside = self.submodules(receiver)
            return one(Group({"": one(Group({"0": SOME_DATA, "1": inside, "": inside}))}))
        if isinstance(receiver, Instance) and name in (
            "register_buffer",
            "register_parameter",
            "add_module",
            "register_module",
        ):
            new = named.get("tensor", named.get("param", named.get("module", join(arguments[1:2]))))
            key = text_of(join(arguments[:1]) or named.get("name", ANYTHING))
            self.set_attribute(one(receiver), key or "*", new or ANYTHING, node)
            return SOME_DATA
        if name in _HOOKS:
            self.hooks.extend(arguments)
            return SOME_DATA
        self._handed_on(arguments, named, node)
        return ANYTHING

    def _call_path_method(self, receiver: Any, name: str, arguments: list[Value], node: ast.AST) -> Value:
        if name in ("joinpath", "with_suffix", "with_name", "resolve", "absolute", "__enter__", "as_posix"):
            return one(TEMP) if receiver is TEMP and self.is_own_file([one(TEMP), *arguments]) else one(FILE)
        if receiver is FILE and name in (
            "open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "symlink_to", "rename", "touch",
            "replace", "rmdir", "chmod", "hardlink_to", "iterdir", "glob", "rglob", "read", "write",
        ):  # fmt: skip
            self.accuse("file_access", node, f".{name}()", "a file is used that is not the candidate's own")
        return SOME_DATA

    def _call_text_method(self, text: str, name: str, arguments: list[Value]) -> Value:
        """Text made of constants is constant; what is put into a template is not looked at, only its own words are."""
        known = [constant(v) for v in arguments]
        if name == "join" and arguments:
            parts = [a.elements for a in arguments[0] if isinstance(a, Group)]
            keyed = [
                [constant(p[str(k)]) for k in range(len(p) - 1)]
                for p in parts
                if all(str(k) in p for k in range(len(p) - 1))
            ]
            if len(keyed) == 1 and all(isinstance(k, str) for k in keyed[0]):
                return data(text.join(keyed[0]))
        if ... not in known and name in _OF_CONSTANT_TEXT:
            try:
                if len(text) < 300 and all(len(str(k)) < 100 for k in known) and "{" not in text.replace("{}", ""):
                    return data(getattr(text, name)(*known))
            except (ValueError, TypeError, IndexError, KeyError, AttributeError):
                pass
        return SOME_DATA if name != "split" else one(Group({"": SOME_DATA}))

    def is_tensor_method(self, name: str) -> bool:
        return name in names.TENSOR_METHODS and name not in PLUMBING
