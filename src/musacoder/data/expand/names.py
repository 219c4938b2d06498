"""What a name of a file means: a definition of the folder, something of torch or Python's, or nothing to be had.

Names are followed through imports of the folder's own files. Text only: nothing is imported.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from musacoder.data.expand.folder import Imported, SourceFile, SourceFolder
from musacoder.data.expand.records import Reason

_HARMLESS = frozenset(
    "abc collections contextlib copy dataclasses enum functools inspect itertools logging math numbers operator re "
    "string types typing typing_extensions warnings __future__".split()
)
_RANDOM = frozenset(("random", "secrets", "uuid"))
_REACHING_BUILTINS = frozenset(("open", "exec", "eval", "compile", "input", "__import__", "breakpoint", "globals"))
MOST_HOPS = 20  # from a name to its definition, through imports


class NotBundled(Exception):
    """Why a class cannot be made self-contained."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class External:
    """A name of torch or of Python's library: `module`, or `name` of it."""

    module: str
    name: str | None

    def statement(self, alias: str) -> str:
        """The import that binds it."""
        if self.name is not None:
            return f"from {self.module} import {self.name}" + (f" as {alias}" if alias != self.name else "")
        return f"import {self.module}" + (f" as {alias}" if alias != self.module else "")


Place = tuple[str, str]  # module, name
Target = Place | External | str  # a definition, an import, or a module of the folder by its name


@dataclass(frozen=True)
class Names:
    """Resolves names of a folder's files."""

    folder: SourceFolder

    def resolved(self, file: SourceFile, name: str) -> Target | None:
        """What a name of a file is; None where it is Python's own."""
        found = self._bound(file, name, MOST_HOPS)
        if found is None and not hasattr(builtins, name):
            raise NotBundled(Reason.NOT_SELF_CONTAINED, f"{name} is defined nowhere in {file.module}")
        if found is None and name in _REACHING_BUILTINS:
            raise NotBundled(Reason.EXTERNAL_STATE, f"it calls {name}")
        return found

    def _bound(self, file: SourceFile, name: str, hops: int) -> Target | None:
        if hops == 0:
            raise NotBundled(Reason.NOT_SELF_CONTAINED, f"{name} is imported in a circle")
        if name in file.definitions:
            return (file.module, name)
        if name in file.imports:
            return self._imported(file.imports[name], hops - 1)
        for module in file.stars:
            if module in self.folder.files and (found := self._bound(self.folder.files[module], name, hops - 1)):
                return found
        return None

    def _imported(self, imported: Imported, hops: int) -> Target | None:
        if self.folder.is_inside(imported.module):
            return imported.module if imported.name is None else self.of_module(imported.module, imported.name, hops)
        refuse_package(imported)
        return External(imported.module, imported.name)

    def of_module(self, module: str, name: str, hops: int = MOST_HOPS) -> Target | None:
        below = f"{module}.{name}"
        file = self.folder.files.get(module)
        if file is not None and (found := self._bound(file, name, hops)) is not None:
            return found
        if self.folder.is_inside(below):
            return below
        raise NotBundled(Reason.NOT_SELF_CONTAINED, f"{below} can't be found")

    def modules(self, file: SourceFile) -> Iterator[ast.ClassDef]:
        """The public `nn.Module` classes that a file defines."""
        for node in file.classes:
            if not node.name.startswith("_") and self._is_module(file, node, MOST_HOPS):
                yield node

    def _is_module(self, file: SourceFile, node: ast.ClassDef, hops: int) -> bool:
        return hops > 0 and any(self._is_module_base(file, base, hops - 1) for base in node.bases)

    def _is_module_base(self, file: SourceFile, base: ast.expr, hops: int) -> bool:
        name, _, rest = ast.unparse(base).partition(".")
        try:
            target = self._bound(file, name, MOST_HOPS)
            if isinstance(target, str) and rest and "." not in rest:
                target = self.of_module(target, rest)
        except NotBundled:
            return False
        if isinstance(target, External):
            return f"{target.module}.{target.name or ''}.{rest}".replace("..", ".").startswith("torch.nn.")
        if not isinstance(target, tuple):
            return False
        there = self.folder.files[target[0]]
        found = there.definitions[target[1]][-1]
        return isinstance(found, ast.ClassDef) and self._is_module(there, found, hops)


def refuse_package(imported: Imported) -> None:
    """Raises NotBundled where a module may not be imported by a task."""
    root = imported.module.partition(".")[0]
    if root == "torch":
        if imported.module.startswith(("torch.hub", "torch.distributed", "torch.multiprocessing", "torch.utils.data")):
            raise NotBundled(Reason.EXTERNAL_STATE, f"it needs {imported.module}")
        return
    if root in _HARMLESS:
        return
    if root in _RANDOM:
        raise NotBundled(Reason.RANDOMNESS, f"it needs Python's {root}")
    if root in sys.stdlib_module_names:
        raise NotBundled(Reason.EXTERNAL_STATE, f"it needs Python's {root}")
    raise NotBundled(Reason.NOT_SELF_CONTAINED, f"it needs the package {root or '(relative)'}")
