"""What it means to call something in a candidate's Python."""

from __future__ import annotations

import ast
from typing import Any

from mooreeval.legality import python_names as names
from mooreeval.legality.operators import QUESTIONS
from mooreeval.legality.python_builtins import Builtins
from mooreeval.legality.python_state import path_of
from mooreeval.legality.python_values import (
    A_TENSOR,
    ANYTHING,
    ARRAY,
    SOME_DATA,
    TENSOR,
    UNKNOWN,
    Bound,
    Builtin,
    Class,
    Extension,
    Function,
    Group,
    Instance,
    Kernel,
    Layer,
    Method,
    Partial,
    Path,
    Value,
    constant,
    data,
    join,
    one,
)  # fmt: skip

_SEQUENCES = frozenset(
    "split chunk unbind tensor_split split_with_sizes unsafe_chunk unsafe_split broadcast_tensors".split()
)
_ANSWERS = QUESTIONS | frozenset(("item", "tolist", "equal", "allclose", "is_nonzero", "_local_scalar_dense"))


class Calls(Builtins):
    """Calls of what is the candidate's own are followed; calls of anything else are looked up."""

    def call(self, value: Value, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        """What calling any of these gives."""
        return join([self._call(atom, arguments, named, node) for atom in value]) or ANYTHING

    def _call(self, atom: Any, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        self.step()
        if isinstance(atom, Function):
            return self.run(atom, None, arguments, named, node)
        if isinstance(atom, Bound):
            return self.run(atom.function, atom.receiver, arguments, named, node)
        if isinstance(atom, Partial):
            return self.call(atom.function, [*atom.arguments, *arguments], named, node)
        if isinstance(atom, Class):
            return self._instance(atom, arguments, named, node)
        if isinstance(atom, Instance):
            return self._call_instance(atom, arguments, named, node)
        if isinstance(atom, Kernel):
            return self._launch(atom)
        if isinstance(atom, Layer):
            return self._call_layer(atom, arguments, node)
        if isinstance(atom, Group):
            return self._call_group(atom, arguments, node)
        if isinstance(atom, Path):
            return self._call_path(atom.name, arguments, named, node)
        if isinstance(atom, Method):
            return self._call_method(atom, arguments, named, node)
        if isinstance(atom, Builtin):
            return self._call_builtin(atom.name, arguments, named, node)
        self._handed_on(arguments, named, node)
        return ANYTHING

    def _instance(self, made: Class, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        instance = Instance(made)
        result = one(instance)
        for name in ("__new__", "__init__", "__post_init__"):
            for atom in self.lookup(made, name):
                if isinstance(atom, Function):
                    takes = (arguments, named) if name != "__post_init__" else ([], {})
                    receiver = made if name == "__new__" else instance
                    made_by = self.run(atom, receiver, *takes, node)
                    result = join((result, made_by - {UNKNOWN})) if name == "__new__" else result
        return result

    def _call_instance(self, atom: Instance, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        own_call = self.lookup(atom.of, "__call__")
        called = own_call or self.attribute(one(atom), "forward", node)
        return self.call(called, arguments, named, node) if called else ANYTHING

    def _launch(self, atom: Kernel) -> Value:
        if self.forward:
            self.kernels.add(atom.name)
        kind = self.setting.returns.get(atom.name)
        return A_TENSOR if kind == "tensor" else SOME_DATA if kind == "data" else ANYTHING

    def _call_path(self, path: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        root = path.split(".")[0]
        if path in names.BUILDS:
            return one(Extension())
        if root == "torch":
            return self._call_torch(path, arguments, named, node)
        if root == "numpy":
            if any(TENSOR in v or ARRAY in v for v in (*arguments, *named.values())):
                self.computes(node, path, rule="host_compute", who="NumPy")
                return one(ARRAY)
            return SOME_DATA
        if root == "operator":
            return self._call_operator(path.split(".")[1], arguments, node)
        if root == "functools":
            return self._call_functools(path, arguments, named, node)
        if root in ("tempfile", "shutil", "os", "pathlib"):
            return self._call_about_files(path, arguments, node)
        if root in ("copy", "itertools", "collections"):
            self._handed_on(arguments, named, node)
            return join((*arguments, one(Group({"": join([self.elements(v) for v in arguments])}))))
        if path == "logging.basicConfig" and ("filename" in named or "handlers" in named):
            self.accuse("file_access", node, path, "a file is written that is not the candidate's own")
        if root == "typing":
            return arguments[-1] if arguments else ANYTHING
        self._handed_on(arguments, named, node)
        return SOME_DATA if root in ("math", "cmath", "time", "random", "re", "hashlib") else ANYTHING

    def _call_torch(self, path: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        area, _, name = path.rpartition(".")
        self._low(arguments, named, node)
        if area in ("torch.nn", "torch.nn.modules") or (area.startswith("torch.nn.modules.") and name[:1].isupper()):
            return self._make_layer(name, arguments, named)
        if path == "torch.cuda.is_available":
            return data(True)
        if name in ("forward", "__call__", "_call_impl") and area.startswith("torch.nn."):
            return self._call_unbound(area, arguments, named, node)
        if area == "torch.Tensor" and arguments:
            return self._call_method(Method(TENSOR, name), arguments[1:], named, node)
        if area == "torch.nn.init" and "calculate" in name:
            return one(Group({"": SOME_DATA})) if name.startswith("_") else SOME_DATA
        if self._is_computation(path):
            self.computes(node, path)
            return A_TENSOR
        if (area == "torch.cuda" and name.endswith("Tensor")) or name.endswith("Tensor"):
            return A_TENSOR
        if area == "torch" and (name in names.TORCH_QUESTIONS or name in names.DTYPES):
            return SOME_DATA
        if area == "torch" and name in _ANSWERS:
            return SOME_DATA
        self._handed_on([v for v in arguments if not path_of(v)], {}, node)
        if area in names.FUNCTIONS:
            return one(Group({"": A_TENSOR})) if name in _SEQUENCES else A_TENSOR
        return SOME_DATA if area.startswith("torch.cuda") else ANYTHING

    def _call_unbound(self, area: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        """`nn.Conv2d.forward(self.conv, x)`, `nn.Module.__call__(self.conv, x)`."""
        if area == "torch.nn.Module":
            return self.call(join(arguments[:1]) or ANYTHING, arguments[1:], named, node)
        return self.call(one(Layer(area.rpartition(".")[2])), arguments[1:], named, node)

    def _make_layer(self, name: str, arguments: list[Value], named: dict[str, Value]) -> Value:
        if name in ("Parameter", "Buffer", "UninitializedParameter"):
            return A_TENSOR
        if name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
            inside = join([self._content(v) for v in (*arguments, *named.values())])
            keyed = {str(k): v for k, v in enumerate(arguments)} if name == "Sequential" else {}
            return one(Group({**keyed, "": inside}, name))
        if name.startswith("Dropout") and constant((arguments or [named.get("p", ANYTHING)])[0]) in (0, 0.0):
            return one(Layer("Identity"))
        return one(Layer(name))

    def _content(self, value: Value) -> Value:
        """Modules of an argument: itself, or what is in a list or dict of them."""
        inside = [self.elements(one(a)) for a in value if isinstance(a, Group) and a.layer != "Sequential"]
        return join((*inside, frozenset(a for a in value if not isinstance(a, Group) or a.layer == "Sequential")))

    def _call_operator(self, name: str, arguments: list[Value], node: ast.AST) -> Value:
        if name in ("attrgetter", "methodcaller"):
            self.accuse("hidden_name", node, f"operator.{name}", f"`operator.{name}` hides what is used")
            return ANYTHING
        if name in ("getitem", "itemgetter", "setitem", "index", "is_", "is_not", "contains"):
            return self.element(arguments[0], join(arguments[1:2]), node) if name == "getitem" else ANYTHING
        return self.arithmetic(name, join(arguments[:1]), join(arguments[1:2]) or SOME_DATA, node)

    def _call_functools(self, path: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        if path == "functools.partial" and arguments:
            return one(Partial(arguments[0], (*arguments[1:], *named.values())))
        if path == "functools.reduce" and len(arguments) > 1:
            inside = self.elements(arguments[1])
            return self.call(arguments[0], [inside, inside], {}, node)
        if path in ("functools.wraps", "functools.lru_cache", "functools.cache", "functools.update_wrapper"):
            functions = [v for v in arguments if any(isinstance(a, Function | Bound | Class) for a in v)]
            return functions[0] if functions and path != "functools.wraps" else one(Builtin("identity"))
        self._handed_on(arguments, named, node)
        return ANYTHING
