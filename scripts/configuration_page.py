"""Writes the table of fields in docs/configuration.md from the models themselves; a test compares the two.

python scripts/configuration_page.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo

from mooreeval.config import VerifyConfig
from mooreeval.verdict import Record

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "configuration.md"
BEGIN, END = "<!-- fields: written by scripts/configuration_page.py -->", "<!-- end of fields -->"


def main() -> int:
    """Bring the page up to date."""
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def updated(page: str) -> str:
    """The page with its fields as they are in the code."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{fields()}\n{END}{after}"


def fields() -> str:
    """The Markdown table of every field."""
    rows = ["| field | default | what it is |", "|---|---|---|"]
    rows += [f"| `{name}` | {default} | {text} |" for name, default, text in _rows("", VerifyConfig)]
    return "\n".join(rows)


def _rows(prefix: str, model: type[Record]) -> Iterator[tuple[str, str, str]]:
    parts = []
    for name, field in model.model_fields.items():
        if isinstance(field.default, Record):
            parts.append((f"{prefix}{name}.", type(field.default)))
        else:
            yield f"{prefix}{name}", _shown(field.default), _text(field)
    for inner, part in parts:
        yield from _rows(inner, part)


def _text(field: FieldInfo) -> str:
    values = [v for v in get_args(field.annotation) if isinstance(v, str)]
    text = (field.description or "").replace("|", "\\|")
    if values and not any(f"`{v}`" in text for v in values):
        text = f"{text} One of {', '.join(f'`{v}`' for v in values)}."
    return text


def _shown(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return f"`[{', '.join(default)}]`"
    if isinstance(default, float) and default < 0.01:
        return f"`{default:g}`"
    return f"`{default:_}`" if isinstance(default, int) and default >= 100_000 else f"`{default}`"


if __name__ == "__main__":
    raise SystemExit(main())
