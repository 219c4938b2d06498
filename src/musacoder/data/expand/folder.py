"""Reads a folder of Python files as text: which module each is, and what its names are bound to. Runs nothing.

A branch that would only be taken where another package is installed is read as if it were not: tasks need torch alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mooreeval.errors import UsageError
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, decode, normalise, parse_python, read_regular_file
from musacoder.data.expand.records import Dropped, Reason

MOST_FILES = 20_000
_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


@dataclass(frozen=True)
class Imported:
    """A name that an import binds: `module` itself, or `name` of it."""

    module: str  # absolute
    name: str | None = None


@dataclass
class SourceFile:
    """One parsed file."""

    module: str  # dotted, as absolute imports spell it
    path: Path
    is_package: bool
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)  # by name, in order
    imports: dict[str, Imported] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of which all names are imported
    simple: dict[str, list[ast.stmt]] = field(
        default_factory=dict
    )  # definitions as `bundle` reads them, once asked for
    effects: list[str] = field(default_factory=list)  # other statements, one line each; they never run

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        """The classes at its top level."""
        for statements in self.definitions.values():
            if isinstance(statements[-1], ast.ClassDef):
                yield statements[-1]


@dataclass(frozen=True)
class SourceFolder:
    """The files of a folder, by module, and what could not be read."""

    files: dict[str, SourceFile]
    dropped: tuple[Dropped, ...]

    def is_inside(self, module: str) -> bool:
        """Whether imports of this module are of the folder's own files."""
        return module in self.files or any(name.startswith(f"{module}.") for name in self.files)


def read_folder(folder: Path) -> SourceFolder:
    """All Python files below a folder. Raises UsageError where it is none, or holds none."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of Python files")
    root = _import_root(folder.resolve())
    paths = list(_python_files(folder.resolve()))
    if not paths:
        raise UsageError(f"there are no Python files in {folder}")
    if len(paths) > MOST_FILES:
        raise UsageError(f"{folder} holds more than {MOST_FILES} Python files; name a folder in it")
    trees: dict[str, tuple[Path, ast.Module]] = {}
    dropped: list[Dropped] = []
    for path in paths:
        parsed = _parsed(path)
        if isinstance(parsed, str):
            dropped.append(Dropped(what=str(path.relative_to(root)), reason=Reason.NOT_PYTHON, message=parsed))
        else:
            trees[_module_name(path.relative_to(root))] = (path, parsed)
    return SourceFolder(_files(trees), tuple(dropped))


def _files(trees: dict[str, tuple[Path, ast.Module]]) -> dict[str, SourceFile]:
    roots = {module.partition(".")[0] for module in trees}

    def is_there(module: str) -> bool:
        root = module.partition(".")[0]
        return root in roots or root == "torch" or root in sys.stdlib_module_names

    files = {}
    for module, (path, tree) in trees.items():
        file = SourceFile(module, path, path.name == "__init__.py")
        for statement in flat_statements(tree.body, lambda name, f=file: is_there(absolute(f, name))):
            _bind(file, statement)
        files[module] = file
    return files


def _import_root(folder: Path) -> Path:
    """The folder from which absolute imports are counted: above the outermost package."""
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _python_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part in _SKIPPED_FOLDERS or part.startswith(".") for part in parts):
            yield path


def _module_name(relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parsed(path: Path) -> ast.Module | str:
    """The tree, or why there is none."""
    try:
        data = read_regular_file(path, MAX_CODE_BYTES)
    except UsageError as error:
        return str(error)
    text = decode(data) if len(data) <= MAX_CODE_BYTES else None
    if text is None:
        return f"it is not text, or larger than {MAX_CODE_BYTES >> 20} MiB"
    tree = parse_python(normalise(text))
    return f"not valid Python, {tree}" if isinstance(tree, SyntaxProblem) else tree


def absolute(file: SourceFile, name: str) -> str:
    """An import's module without leading dots; `name` has as many as the import."""
    stripped = name.lstrip(".")
    level = len(name) - len(stripped)
    if not level:
        return stripped
    parts = file.module.split(".")
    base = parts[: len(parts) - level + file.is_package]
    return ".".join([*base, *([stripped] if stripped else [])])


def flat_statements(body: Iterable[ast.stmt], is_there: Callable[[str], bool]) -> Iterator[ast.stmt]:
    """Statements with `try` around imports and tests for type checkers resolved."""
    for statement in body:
        match statement:
            case ast.Try(body=tried, handlers=handlers, orelse=after) if _imports(tried):
                whole = all(is_there(name) for name in _imports(tried))
                chosen = [*tried, *after] if whole else handlers[0].body if handlers else []
                yield from flat_statements(chosen, is_there)
            case ast.If(test=test, orelse=other) if "TYPE_CHECKING" in ast.unparse(test):
                yield from flat_statements(other, is_there)
            case _:
                yield statement


def _imports(body: Iterable[ast.stmt]) -> list[str]:
    """Modules that these statements import, with the dots of relative imports."""
    found = []
    for statement in body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            found.append("." * statement.level + (statement.module or ""))
    return found


def _bind(file: SourceFile, statement: ast.stmt) -> None:
    match statement:
        case ast.Import(names=aliases):
            for alias in aliases:
                name = alias.asname or alias.name.partition(".")[0]
                file.imports[name] = Imported(alias.name if alias.asname else name)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            source = absolute(file, "." * level + (module or ""))
            for alias in aliases:
                if alias.name == "*":
                    file.stars.append(source)
                elif source != "__future__":
                    file.imports[alias.asname or alias.name] = Imported(source, alias.name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            file.definitions[name] = [statement]
        case ast.Expr(value=ast.Constant()):
            pass  # a docstring
        case ast.If() if _is_main(statement.test):
            pass
        case _:
            _bind_values(file, statement)


def _bind_values(file: SourceFile, statement: ast.stmt) -> None:
    """Assignments, and compound statements that make some; what binds nothing is an effect."""
    names = (
        _stored_names(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If)) else []
    )
    for name in names:
        file.definitions.setdefault(name, []).append(statement)
    if not names:
        first = ast.unparse(statement).partition("\n")[0]
        file.effects.append(f"line {statement.lineno}: {first[:100]}")


def _stored_names(statement: ast.stmt) -> list[str]:
    return list(
        dict.fromkeys(
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
    ) + [node.name for node in ast.walk(statement) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and ast.unparse(test.left) == "__name__"
