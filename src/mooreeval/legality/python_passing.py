"""What is called or handed on in a candidate's Python, whoever calls: layers, functions that compute, files."""

from __future__ import annotations

import ast

from mooreeval.legality import python_names as names
from mooreeval.legality.python_attributes import Attributes
from mooreeval.legality.python_names import PLUMBING
from mooreeval.legality.python_state import path_of, text_of, words_of
from mooreeval.legality.python_values import (
    A_TENSOR,
    ANYTHING,
    FILE,
    SOME_DATA,
    TEMP,
    Bound,
    Function,
    Group,
    Layer,
    Partial,
    Path,
    Value,
    data,
    join,
    one,
)  # fmt: skip

_SOURCE_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".c")


class Passing(Attributes):
    """Calls whose meaning does not depend on who calls."""

    def _call_layer(self, atom: Layer, arguments: list[Value], node: ast.AST) -> Value:
        if atom.name in names.NO_COMPUTE_LAYERS:
            return join(arguments[:1]) or ANYTHING
        self.computes(node, f"{words_of(node)} is nn.{atom.name}" if isinstance(node, ast.Call) else atom.name)
        return A_TENSOR

    def _call_group(self, atom: Group, arguments: list[Value], node: ast.AST) -> Value:
        if atom.layer not in ("Sequential", "Branches"):
            return ANYTHING
        return join((self.call(atom.elements.get("", ANYTHING), arguments, {}, node), A_TENSOR))

    def _handed_on(self, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> None:
        """What is given to code that nobody can follow: functions among it will be called."""
        given = [*arguments, *named.values()]
        inside = [a.elements.get("", frozenset()) for value in given for a in value if isinstance(a, Group)]
        for value in (*given, *inside):
            for atom in value:
                if isinstance(atom, Function | Bound | Partial):
                    self.call(one(atom), [ANYTHING] * 8, {}, node)
                elif isinstance(atom, Path) and self._is_computation(atom.name):
                    self.computes(node, atom.name)
                elif isinstance(atom, Path) and _is_module(atom.name):
                    self.accuse("hidden_name", node, atom.name, f"module `{atom.name}` is handed about")

    def _is_computation(self, path: str) -> bool:
        """Whether calling a part of PyTorch computes."""
        area, _, name = path.rpartition(".")
        if path.startswith("torch.ops."):
            return path.count(".") > 2 and path.split(".")[3] not in PLUMBING
        if area == "torch.Tensor":
            return name not in PLUMBING
        if area not in names.FUNCTIONS or path in names.FUNCTIONS or name[:1].isupper():
            return False
        if area == "torch" and (name in names.TORCH_QUESTIONS or name in names.DTYPES):
            return False
        if area == "torch.nn.init":
            return name not in names.INIT_FILLS
        return area == "torch.nn.functional" or name not in PLUMBING

    def _low(self, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> None:
        for value in (*arguments, *named.values()):
            name = path_of(value) or text_of(value) or ""
            if name.removeprefix("torch.").removeprefix("cuda.") in names.LOW_DTYPES and name.startswith("torch."):
                self.low_precision(node, name)

    def _call_about_files(self, path: str, arguments: list[Value], node: ast.AST) -> Value:
        first = join(arguments[:1])
        if path.startswith("os.environ."):
            self._environment(path.rpartition(".")[2], first, node)
        if path in ("tempfile.mkdtemp", "tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile"):
            return one(TEMP)
        if path in ("os.path.join", "pathlib.Path", "os.path.abspath", "os.path.realpath", "os.fspath"):
            return one(TEMP) if self.is_own_file(arguments) else one(FILE)
        if path in ("os.remove", "os.unlink", "shutil.rmtree") and not self.is_own_file(arguments[:1]):
            self.accuse("file_access", node, path, f"`{path}` of a file that the candidate did not make")
        if path in ("os.path.dirname",):
            return first or one(FILE)
        return SOME_DATA

    def _environment(self, name: str, key: Value, node: ast.AST) -> None:
        """`os.environ.setdefault("NAME", ...)` and the like."""
        changes = name in ("update", "setdefault", "pop", "clear", "popitem")
        if changes and text_of(key) not in names.ENVIRONMENT:
            self.accuse("process", node, f"os.environ.{name}", "the environment of the process is changed")

    def is_own_file(self, parts: list[Value]) -> bool:
        """Whether a path made of these lies where the candidate may write: in a folder of its own, or beside it."""
        if not parts:
            return False
        rest = [text_of(v) for v in parts if v != one(TEMP)]
        if any(text is None or text.startswith(("/", "~")) or ".." in text.split("/") for text in rest):
            return False
        return len(rest) < len(parts)

    def _open(self, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        target = join(arguments[:1]) or named.get("file", ANYTHING)
        mode = text_of(arguments[1] if len(arguments) > 1 else named.get("mode", data("r"))) or "?"
        name = text_of(target)
        own = self.is_own_file([target]) or (
            name is not None and name.endswith(_SOURCE_SUFFIXES) and self.is_own_file([one(TEMP), target])
            and mode[0] in "wx"
        )  # fmt: skip
        if not own:
            self.accuse(
                "file_access",
                node,
                f"open({name or '...'}, {mode})",
                "a file is opened that is not the candidate's own",
            )
        return one(TEMP)


def _is_module(path: str) -> bool:
    return (
        path in names.MODULES
        or path in names.FUNCTIONS
        or path in ("torch.cuda", "torch.utils", "torch._C", "torch.ops")
    )
