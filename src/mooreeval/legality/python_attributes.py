"""Attributes, elements and arithmetic of what a candidate's Python holds."""

from __future__ import annotations

import ast
from typing import Any

from mooreeval.legality import python_names as names
from mooreeval.legality.python_constants import folded
from mooreeval.legality.python_state import State, words_of
from mooreeval.legality.python_values import (
    A_TENSOR,
    ANYTHING,
    ARRAY,
    DATA,
    FILE,
    INPUT_DEVICE,
    INPUT_DTYPE,
    NOTHING,
    SOME_DATA,
    TEMP,
    TENSOR,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Extension,
    Function,
    Group,
    Instance,
    Kernel,
    Layer,
    Method,
    Path,
    Super,
    Value,
    constant,
    data,
    is_data,
    join,
    one,
    only,
)  # fmt: skip

_TENSOR_DATA = frozenset(
    "shape ndim itemsize nbytes layout requires_grad is_leaf _version names is_sparse grad_fn".split()
)
_TENSOR_VIEWS = frozenset("data T mT H mH grad real imag".split())
_HELD_TENSORS = ("weight", "bias", "running_", "num_batches", "in_proj_", "bias_k", "bias_v", "alpha")
_MODULE_METHODS = frozenset(
    "to cuda cpu half float double bfloat16 eval train parameters named_parameters children modules named_modules "
    "named_children state_dict load_state_dict apply requires_grad_ zero_grad extra_repr buffers named_buffers "
    "get_parameter get_buffer get_submodule add_module register_module register_buffer register_parameter forward "
    "flatten_parameters reset_parameters type share_memory compile register_forward_hook register_forward_pre_hook "
    "register_full_backward_hook register_backward_hook register_full_backward_pre_hook set_extra_state".split()
)
_PLAIN_PARTS = frozenset("pi e inf nan tau version_info platform maxsize version".split())
_OF_OPERATORS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "@": "__matmul__", "/": "__truediv__", "//": "__floordiv__",
    "%": "__mod__", "**": "__pow__", "<": "__lt__", ">": "__gt__", "==": "__eq__",
}  # fmt: skip


class Attributes(State):
    """Reads and writes of what has parts."""

    # --------------------------------------------------------------------------------------------------------- reading
    def attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        """What `.name` of any of these gives."""
        return join([self._attribute(atom, name, node) for atom in value]) or ANYTHING

    def _attribute(self, atom: Any, name: str, node: ast.AST) -> Value:
        self.step()
        if isinstance(atom, Path):
            return self.part(atom.name, name, node)
        if atom is TENSOR:
            return _of_tensor(name)
        if isinstance(atom, Extension):
            return one(Kernel(name))
        if isinstance(atom, Instance):
            return self._of_instance(atom, name, node)
        if isinstance(atom, Class):
            return self._of_class(atom, name)
        if isinstance(atom, Super):
            return self._of_super(atom, name, node)
        if isinstance(atom, Layer):
            return _of_layer(atom, name)
        if atom is INPUT_DEVICE and name == "type":
            return data("cuda")
        if atom in (TEMP, FILE) and name in ("parent", "name", "parents", "stem"):
            return one(atom)
        if atom is ARRAY and name in ("shape", "dtype", "size", "ndim"):
            return SOME_DATA
        if isinstance(atom, Bound | Function) and name.startswith("__"):
            return SOME_DATA
        return one(Method(atom, name) if not isinstance(atom, Method) else Method(UNKNOWN, name))

    def part(self, path: str, name: str, node: ast.AST) -> Value:
        """A name of something imported; an offence where it is not on the lists."""
        full = f"{path}.{name}"
        root = path.split(".")[0]
        if name == "__version__" or name in ("__name__", "__doc__", "__init__", "__class__"):
            return SOME_DATA
        if root == "torch":
            full = names.torch_path(full)
            self.part_of_torch(full, full, node)
            return one(Path(full))
        if root == "numpy":
            if not names.numpy_name(full):
                self.accuse("import", node, full, f"`{full}` is not on the list")
            return one(Path(full))
        return self._part_of_module(path, name, full, node)

    def part_of_torch(self, path: str, evidence: str, node: ast.AST) -> None:
        """Accuse a part of PyTorch that is not on the lists; precision matters in a task of single precision alone."""
        rule = names.torch_rule(path)
        if rule == "low_precision":
            if path not in ("torch.amp", "torch.cuda.amp"):
                self.low_precision(node, evidence)
        elif rule:
            why = names.TORCH_REASONS.get(rule, "not for candidates")
            self.accuse(rule, node, evidence, f"`{evidence}`: {why}")

    def _part_of_module(self, path: str, name: str, full: str, node: ast.AST) -> Value:
        if not names.is_part_of_module(path, name):
            self.accuse(names.rule_of_module(full), node, full, f"`{full}` is not on the list of what may be used")
        if path in ("math", "cmath", "sys") and name in _PLAIN_PARTS:
            return SOME_DATA
        return one(Path(full))

    def _of_instance(self, atom: Instance, name: str, node: ast.AST) -> Value:
        found: list[Value] = []
        for held in (atom.of.attributes.get(name, NOTHING), atom.of.attributes.get("*", NOTHING)):
            found += [self._bound(each, atom, node) for each in held]
        if not any(found):
            found += [self._bound(each, atom, node) for each in self.lookup(atom.of, name)]
        getters = list(self.lookup(atom.of, "__getattribute__"))
        getters += [] if any(found) else self.lookup(atom.of, "__getattr__")
        for getter in getters:
            if isinstance(getter, Function):
                found.append(self.run(getter, atom, [data(name)], {}, node))
        if any(found):
            return join(found)
        if name in ("_modules", "_parameters", "_buffers"):
            return one(Group({"": self.submodules(atom) if name == "_modules" else A_TENSOR}))
        if layer := self.layer_base(atom.of):
            found.append(_of_layer(Layer(layer), name))
        elif name in _MODULE_METHODS:
            found.append(one(Method(atom, name)))
        return join(found) or (
            SOME_DATA if name in ("training", "__class__", "__name__") else one(Method(UNKNOWN, name))
        )

    def _bound(self, each: Any, receiver: Any, node: ast.AST) -> Value:
        if isinstance(each, Instance) and (getters := self.lookup(each.of, "__get__")):
            functions = [getter for getter in getters if isinstance(getter, Function)]
            return join([self.run(getter, each, [one(receiver), ANYTHING], {}, node) for getter in functions])
        if not isinstance(each, Function) or each.is_static or not (each.owner or each.scope.is_class):
            return one(each)
        if each.is_property:
            return self.run(each, receiver, [], {}, node)
        return one(Bound(each, receiver))

    def _of_class(self, atom: Class, name: str) -> Value:
        found = [
            one(Bound(e, atom)) if isinstance(e, Function) and e.is_class_method else one(e)
            for e in self.lookup(atom, name)
        ]
        return join(found) or one(Method(atom, name))

    def _of_super(self, atom: Super, name: str, node: ast.AST) -> Value:
        found: list[Value] = []
        for base in atom.of.bases:
            if isinstance(base, Class):
                found += [self._bound(each, atom.receiver, node) for each in self.lookup(base, name)]
                if not found and (layer := self.layer_base(base)) and name in ("forward", "__call__"):
                    found.append(one(Layer(layer)))
            elif isinstance(base, Path) and name in ("forward", "__call__") and (layer := _layer_of(base)):
                found.append(one(Layer(layer)))
        return join(found) or one(Method(atom.receiver if name in _MODULE_METHODS else UNKNOWN, name))

    def lookup(self, of: Class, name: str) -> Value:
        """A name of a class or of what it inherits from."""
        seen: list[Class] = []
        todo: list[Any] = [of]
        while todo and len(seen) < 50:
            each = todo.pop(0)
            if isinstance(each, Class) and each not in seen:
                seen.append(each)
                if held := each.attributes.get(name):
                    return held
                todo.extend(each.bases)
        return NOTHING

    def layer_base(self, of: Class) -> str | None:
        """The module of PyTorch that a class inherits its forward from."""
        seen: list[Class] = []
        todo: list[Any] = [of]
        while todo and len(seen) < 50:
            each = todo.pop(0)
            if isinstance(each, Path) and (layer := _layer_of(each)):
                return layer
            if isinstance(each, Class) and each not in seen:
                seen.append(each)
                todo.extend(each.bases)
        return None

    def super_value(self, arguments: list[Value]) -> Value:
        frame = self.frames[-1] if self.frames else None
        named = [a for v in arguments[:1] for a in v if isinstance(a, Class)]
        owner = named[0] if named else frame.function.owner if frame and frame.function else None
        return one(Super(owner, frame.receiver)) if owner and frame else ANYTHING

    def submodules(self, receiver: Any) -> Value:
        """What a module holds of modules."""
        if not isinstance(receiver, Instance):
            return one(receiver)
        held = [a for v in receiver.of.attributes.values() for a in v if isinstance(a, Layer | Instance | Group)]
        return frozenset(held) or ANYTHING

    # --------------------------------------------------------------------------------------------------------- writing
    def set_attribute(self, value: Value, name: str, new: Value, node: ast.AST) -> None:
        """`.name = new` for any of these."""
        for atom in value:
            if isinstance(atom, Instance | Class) and not self.dead:
                held = (atom.of if isinstance(atom, Instance) else atom).attributes
                held[name] = join((held.get(name, NOTHING), new))
            elif isinstance(atom, Path | Extension):
                words = f"{atom.name}.{name}" if isinstance(atom, Path) else f".{name} of an extension"
                rule = "backend_flags" if words.startswith("torch.backends") else "patching"
                self.accuse(rule, node, words, f"`{words}` is replaced")
            elif atom is TENSOR and name not in ("data", "grad", "requires_grad") and not name.startswith("_"):
                self.step()

    # --------------------------------------------------------------------------------------------------------- elements
    def element(self, value: Value, index: Value, node: ast.AST) -> Value:
        """`value[index]`."""
        return join([self._element(atom, index, node) for atom in value]) or ANYTHING

    def _element(self, atom: Any, index: Value, node: ast.AST) -> Value:
        if atom is TENSOR:
            parts = [v for a in index if isinstance(a, Group) for v in a.elements.values()]
            if any(only(v, TENSOR) for v in (index, *parts)):
                self.computes(node, "indexing by a tensor")
            return A_TENSOR
        if isinstance(atom, Group):
            key = constant(index)
            inside = atom.elements.get("", ANYTHING)
            layers = atom.layer if atom.layer == "Sequential" and key is ... and DATA not in index else ""
            found = atom.elements.get(str(key), inside) if key is not ... else inside
            return join((found, one(Group({"": inside}, layers)))) if layers else found
        if isinstance(atom, Const) or atom in (DATA, ARRAY):
            return one(DATA if isinstance(atom, Const) else atom)
        if isinstance(atom, Path):
            return SOME_DATA if atom.name.startswith("os.") else one(atom)
        if isinstance(atom, Layer | Class):
            return one(atom)
        if isinstance(atom, Instance):
            own = [e for e in self.lookup(atom.of, "__getitem__") if isinstance(e, Function)]
            return join([self.run(e, atom, [index], {}, node) for e in own]) or ANYTHING
        return ANYTHING

    def elements(self, value: Value) -> Value:
        """What a loop over any of these meets."""
        found: list[Value] = []
        for atom in value:
            if isinstance(atom, Group):
                found.append(atom.elements.get("", NOTHING) or ANYTHING)
            elif atom in (TENSOR, ARRAY, DATA, INPUT_DTYPE):
                found.append(one(atom))
            elif isinstance(atom, Const):
                found.append(SOME_DATA)
            else:
                found.append(one(atom) if isinstance(atom, Layer) else ANYTHING)
        return join(found) or ANYTHING

    # ------------------------------------------------------------------------------------------------------- arithmetic
    def arithmetic(self, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
        """`left operator right`; of tensors it is computation."""
        self.step()
        if (known := folded(operator, left, right)) is not None:
            return known
        if only(left, TENSOR) or only(right, TENSOR):
            self.computes(node, f"{_side(node, 'left')} {operator} {_side(node, 'right')}".strip())
            return A_TENSOR
        if only(left, TENSOR, ARRAY) or only(right, TENSOR, ARRAY):
            self.computes(node, f"{operator} of arrays", rule="host_compute", who="NumPy")
            return one(ARRAY)
        own = self._own_operator(operator, left, right, node)
        if own:
            return own
        if is_data(left) and is_data(right):
            return SOME_DATA
        if operator == "@" and self.forward and not any(isinstance(a, Instance) for a in left | right):
            self.computes(node, f"{_side(node, 'left')} @ {_side(node, 'right')}")
            return A_TENSOR
        if operator in ("+", "/") and TEMP in left and is_data(right):
            return one(TEMP) if self._stays(right) else one(FILE)
        if operator == "/" and FILE in left | right:
            return one(FILE)
        groups = [a for a in left | right if isinstance(a, Group)]
        if operator in ("+", "*") and groups and TENSOR not in left | right:
            return one(Group({"": join([a.elements.get("", NOTHING) for a in groups])}))
        return ANYTHING

    def _stays(self, part: Value) -> bool:
        text = constant(part)
        return isinstance(text, str) and ".." not in text.split("/")

    def _own_operator(self, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
        found: list[Value] = []
        for side, other, prefix in ((left, right, "__"), (right, left, "__r")):
            name = _OF_OPERATORS.get(operator, "").replace("__", prefix, 1)
            for atom in side:
                if isinstance(atom, Instance) and name:
                    functions = [e for e in self.lookup(atom.of, name) if isinstance(e, Function)]
                    found += [self.run(e, atom, [other], {}, node) for e in functions]
        return join(found)


def _side(node: ast.AST, which: str) -> str:
    part = getattr(node, which, None)
    return words_of(part) if part is not None else ""


def _of_tensor(name: str) -> Value:
    if name in _TENSOR_DATA:
        return SOME_DATA
    if name in _TENSOR_VIEWS:
        return A_TENSOR
    fixed = {"dtype": one(INPUT_DTYPE), "device": one(INPUT_DEVICE), "is_cuda": data(True), "is_cpu": data(False)}
    if name == "__class__":
        return one(Path("torch.Tensor"))
    return fixed.get(name) or one(Method(TENSOR, name))


def _of_layer(layer: Layer, name: str) -> Value:
    if name in ("forward", "__call__") or (name.startswith("_") and ("forward" in name or "call" in name)):
        return one(layer)
    if name.startswith(_HELD_TENSORS):
        return A_TENSOR
    if name in _MODULE_METHODS:
        return one(Method(layer, name))
    return one(Layer("Linear")) if name in ("out_proj", "linear1", "linear2") else SOME_DATA


def _layer_of(base: Path) -> str | None:
    """The class of a module of PyTorch whose forward computes."""
    area, _, name = base.name.rpartition(".")
    is_layer = area == "torch.nn" or area.startswith("torch.nn.modules")
    return name if is_layer and name[:1].isupper() and name not in names.NO_COMPUTE_LAYERS else None
