"""The texts of prompts: Jinja2 templates of this package, each of which a user's folder may replace.

Beside the bundled ones there is a built-in set for models of a few million parameters, `compact`.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jinja2

from mooreeval.errors import UsageError
from mooreeval.feedback import fenced
from mooreeval.hashing import content_hash
from musacoder.prompts.config import COMPACT
from musacoder.prompts.cutting import brief
from musacoder.prompts.target import Target

FOLDER = Path(__file__).parent / "templates"
BUILT_IN = {COMPACT: Path(__file__).parent / "compact"}


class Templates:
    """Renders by name. A folder of one's own may hold some of the names; anything else in it is an error."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` may be the name of a built-in set. UsageError where it is none, or a file in it is no template."""
        folder = BUILT_IN.get(folder, folder) if folder else None
        if folder is not None:
            _require_known(folder)
        self._folders = tuple(f for f in (folder, FOLDER) if f is not None)
        self._environment = _environment(self._folders)

    def render(self, name: str, **values: Any) -> str:
        """The text, without empty lines at its ends. Raises UsageError, one line that names file and line."""
        try:
            return self._environment.get_template(name).render(values).strip("\n")
        except jinja2.TemplateSyntaxError as error:
            raise UsageError(f"{self._path(error.name or name)}, line {error.lineno}: {error.message}") from None
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise UsageError(f"{self._path(name)}: {' '.join(str(error).split())}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self._path(name)} can't be read: {error}") from None

    def _path(self, name: str) -> Path:
        return next((folder / name for folder in self._folders if (folder / name).exists()), FOLDER / name)

    def example(self, target: Target) -> dict[str, str]:
        """The worked example: a task, and a right answer to it as a model should write one."""
        thought = self.render("example/reasoning.md.j2", target=target)
        code = self.render("example/candidate.py.j2", target=target)
        return {
            "task": self.render("example/task.py", target=target),
            "answer": f"<think>\n{thought}\n</think>\n\n{fence(code, 'python')}",
        }

    def content_hash(self) -> str:
        """Identity of all texts: what a run that is resumed compares."""
        return content_hash({name: self._path(name).read_text(encoding="utf-8", errors="replace") for name in _names()})


@functools.lru_cache(maxsize=8)
def _environment(folders: tuple[Path, ...]) -> jinja2.Environment:
    """Kept, because templates are compiled at their first use; a file that changes is read again."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # a prompt is no HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["fence"] = fence
    environment.filters["brief"] = brief
    return environment


@functools.cache
def _names() -> tuple[str, ...]:
    """All files that make prompts, relative to their folder."""
    return tuple(sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*") if p.suffix in (".j2", ".py")))


def _require_known(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"prompt.templates: {folder} is no folder")
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name[0] != "."}
    if unknown := sorted(found - set(_names())):
        raise UsageError(f"{folder / unknown[0]} is no template of a prompt; there are {', '.join(_names())}")


def fence(text: str, language: str = "") -> str:
    """Text in a fence that nothing in it can close."""
    marks, rest = fenced(text.strip("\n")).split("\n", 1)
    return f"{marks}{language}\n{rest}"
