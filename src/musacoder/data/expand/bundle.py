"""Makes one class self-contained: its definition with all that it needs of its folder, and imports of torch alone.

    bundle(folder, "timm.layers.se", "SEModule", most_characters=...) -> Bundle(code, name) | Dropped

Names are followed through imports to where they are defined; two of one name are told apart; what is not needed is left
out, and so is whatever a file does when it is imported. Text only: nothing runs.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

from musacoder.data.expand.folder import Imported, SourceFile, SourceFolder
from musacoder.data.expand.names import External, Names, NotBundled, Place, Target, refuse_package
from musacoder.data.expand.records import Dropped, Reason
from musacoder.data.expand.scopes import module_names, needed_at_definition
from musacoder.data.expand.simplify import simplified

_TORCH = External("torch", None)
_RESERVED = frozenset(("Model", "get_inputs", "get_init_inputs", "torch"))
MOST_DEFINITIONS = 200


@dataclass(frozen=True)
class Bundle:
    """Self-contained code, the class's name in it, and of how many files it is."""

    code: str
    name: str
    files: tuple[str, ...]


def bundle(folder: SourceFolder, module: str, name: str, *, most_characters: int) -> Bundle | Dropped:
    """One class with all that it needs, or why that is not possible."""
    what = f"{module}:{name}"
    try:
        made = _Bundler(folder).bundle((module, name))
    except NotBundled as error:
        return Dropped(what=what, reason=error.reason, message=str(error))
    except RecursionError:
        return Dropped(what=what, reason=Reason.TOO_LARGE, message="it is nested too deeply")
    if len(made.code) > most_characters:
        message = f"it needs {len(made.code)} characters of {len(made.files)} files; {most_characters} are allowed"
        return Dropped(what=what, reason=Reason.TOO_LARGE, message=message)
    return made


@dataclass
class _Bundler:
    folder: SourceFolder
    order: list[Place] = field(default_factory=list)  # a definition after what it needs, but for cycles
    statements: dict[Place, list[ast.stmt]] = field(default_factory=dict)
    targets: dict[Place, dict[str, Target]] = field(default_factory=dict)  # by definition, of each name that it reads
    names: dict[Target, str] = field(default_factory=dict)  # how each is called in the bundle
    taken: set[str] = field(default_factory=lambda: set(_RESERVED))

    def __post_init__(self) -> None:
        self.names[_TORCH] = "torch"  # what is written around a bundle needs it
        self._meaning = Names(self.folder)

    def bundle(self, place: Place) -> Bundle:
        self._visit(place)
        bodies = {where: self._renamed(where) for where in self.order}
        imports = sorted(
            {t.statement(self.names[t]) for w in self.order for t in (_TORCH, *self._externals(w))}, key=_import_order
        )
        parts = [ast.unparse(ast.Module(bodies[where], [])) for where in self._emitted()]
        code = (
            "\n".join(["from __future__ import annotations", "", *imports, ""]) + "\n\n" + "\n\n\n".join(parts) + "\n"
        )
        return Bundle(code, self.names[place], tuple(sorted({module for module, _ in self.order})))

    def _visit(self, place: Place) -> None:
        if place in self.statements:
            return
        if len(self.statements) >= MOST_DEFINITIONS:
            raise NotBundled(Reason.TOO_LARGE, f"it needs more than {MOST_DEFINITIONS} definitions")
        file = self.folder.files[place[0]]
        statements = self.statements[place] = self._simplified(file, place[1])
        self.targets[place] = {}
        self.names[place] = self._free(place[1])
        for statement in statements:
            _refuse_reaching(statement, self.folder)
            for name in module_names(statement):
                self._note(file, place, name.id)
        self.order.append(place)

    def _simplified(self, file: SourceFile, name: str) -> list[ast.stmt]:
        if name not in file.simple:
            flags = dict(_flags(file))
            file.simple[name] = [part for s in _unique(file.definitions[name]) for part in simplified(s, flags)]
        return file.simple[name]

    def _note(self, file: SourceFile, place: Place, name: str) -> None:
        """What a name is, and that too is visited."""
        if name in self.targets[place] or name == place[1] or name == "__name__":
            return
        target = self._meaning.resolved(file, name)
        if target is None:
            return
        if isinstance(target, str):
            self._note_attributes(place, name, target)
            return
        self.targets[place][name] = target
        if isinstance(target, External):
            self._name_external(target, name)
        elif target == place:
            self.targets[place].pop(name)
        else:
            self._visit(target)

    def _note_attributes(self, place: Place, name: str, module: str) -> None:
        """Reads of `module.something`, a module of the folder: they become the name of that definition."""
        for statement in self.statements[place]:
            for node in ast.walk(statement):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                    target = self._meaning.of_module(module, node.attr)
                    if target is None or isinstance(target, str):
                        raise NotBundled(Reason.NOT_SELF_CONTAINED, f"{module}.{node.attr} can't be found")
                    self.targets[place][f"{name}.{node.attr}"] = target
                    if isinstance(target, External):
                        self._name_external(target, node.attr)
                    else:
                        self._visit(target)

    def _name_external(self, target: External, name: str) -> None:
        if target in self.names:
            return
        self.names[target] = self._free(name)

    def _free(self, name: str) -> str:
        """This name, or one like it that nothing else in the bundle has."""
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def _externals(self, place: Place) -> Iterator[External]:
        yield from (target for target in self.targets[place].values() if isinstance(target, External))

    def _renamed(self, place: Place) -> list[ast.stmt]:
        names = {name: self.names[target] for name, target in self.targets[place].items()}
        names[place[1]] = self.names[place]
        renamed = []
        for statement in ast.parse(ast.unparse(ast.Module(self.statements[place], []))).body:  # a copy
            free = {id(node) for node in module_names(statement)}
            changed = _Rename(names, free, place[1]).visit(statement)
            renamed.append(ast.fix_missing_locations(_Annotations(set(self.names.values())).visit(changed)))
        return renamed

    def _emitted(self) -> list[Place]:
        """The order of the text: what must be there when a definition is executed comes first."""
        done: list[Place] = []
        entered: set[Place] = set()

        def emit(place: Place) -> None:
            if place in entered:
                return
            entered.add(place)
            for statement in self.statements[place]:
                for name in needed_at_definition(statement):
                    target = next((p for p in self.order if self.names[p] == name.id), None)
                    if target is not None:
                        emit(target)
            done.append(place)

        for place in self.order:
            emit(place)
        return done


class _Rename(ast.NodeTransformer):
    """Names of the module become those of the bundle."""

    def __init__(self, names: dict[str, str], free: set[int], own: str) -> None:
        self.names, self.free, self.own = names, free, own

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if id(node) in self.free and node.id in self.names:
            node.id = self.names[node.id]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and (name := self.names.get(f"{node.value.id}.{node.attr}")):
            return ast.Name(name, node.ctx)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names[self.own] if node.name == self.own else node.name
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == self.own and not (node.args.args and node.args.args[0].arg == "self"):
            node.name = self.names[self.own]
        self.generic_visit(node)
        return node


class _Annotations(ast.NodeTransformer):
    """Leaves out annotations that name what the bundle does not have: nobody evaluates them."""

    def __init__(self, known: set[str]) -> None:
        self.known = known

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = self._kept(node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = self._kept(node.returns)
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if self._kept(node.annotation) is None:
            node.annotation = ast.Name("object", ast.Load())
        return node

    def _kept(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None:
            return None
        names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
        return annotation if all(n in self.known or hasattr(builtins, n) for n in names) else None


def _flags(file: SourceFile) -> Iterator[tuple[str, bool]]:
    """Names bound once, to True or False."""
    for name, statements in file.definitions.items():
        match statements:
            case [ast.Assign(targets=[ast.Name()], value=ast.Constant(value=bool(value)))]:
                yield name, value


def _unique(statements: list[ast.stmt]) -> list[ast.stmt]:
    return list({id(statement): statement for statement in statements}.values())


def _refuse_reaching(statement: ast.stmt, folder: SourceFolder) -> None:
    """Imports within functions, and writes to the state of a module."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            raise NotBundled(Reason.EXTERNAL_STATE, f"it changes the module's own {', '.join(node.names)}")
        if isinstance(node, ast.Import):
            for alias in node.names:
                refuse_package(Imported(alias.name))
        if isinstance(node, ast.ImportFrom):
            if node.level or folder.is_inside(node.module or ""):
                raise NotBundled(Reason.NOT_SELF_CONTAINED, f"it imports {node.module} while it runs")
            refuse_package(Imported(node.module or ""))


def _import_order(statement: str) -> tuple[bool, str]:
    return "torch" in statement, statement
