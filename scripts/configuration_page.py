"""Writes the tables of fields in docs/ from the configurations themselves; a test compares the two.

python scripts/configuration_page.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo

from mooreeval.config import VerifyConfig
from mooreeval.verdict import Record
from musacoder.config import BenchConfig, GenerateConfig
from musacoder.models.config import ModelConfig
from musacoder.prompts.config import PromptConfig
from musacoder.train.config import SftConfig
from musacoder.train.rl_config import RlConfig

DOCS = Path(__file__).parents[1] / "docs"
# Of each page: what stands before the names of its fields, and the configuration that has them.
PAGES: dict[Path, tuple[str, type[Record]]] = {
    DOCS / "configuration.md": ("", VerifyConfig),
    DOCS / "models.md": ("model.", ModelConfig),
    DOCS / "prompts.md": ("prompt.", PromptConfig),
    DOCS / "bench.md": ("", BenchConfig),
    DOCS / "generate.md": ("", GenerateConfig),
    DOCS / "sft.md": ("", SftConfig),
    DOCS / "rl.md": ("", RlConfig),
}
ON_PAGES_OF_THEIR_OWN = (VerifyConfig, ModelConfig, PromptConfig)  # where they are a part of another
BEGIN, END = "<!-- fields: written by scripts/configuration_page.py -->", "<!-- end of fields -->"


def main() -> int:
    """Bring the pages up to date."""
    for page in PAGES:
        page.write_text(updated(page), encoding="utf-8")
    return 0


def updated(page: Path) -> str:
    """The page with its fields as they are in the code."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{fields(*PAGES[page])}\n{END}{after}"


def fields(prefix: str, model: type[Record]) -> str:
    """The Markdown table of every field."""
    rows = ["| field | default | what it is |", "|---|---|---|"]
    rows += [f"| `{name}` | {default} | {text} |" for name, default, text in _rows(prefix, model)]
    return "\n".join(rows)


def _rows(prefix: str, model: type[Record]) -> Iterator[tuple[str, str, str]]:
    parts = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, ON_PAGES_OF_THEIR_OWN):
            continue
        if isinstance(default, Record):
            parts.append((f"{prefix}{name}.", type(default)))
        else:
            yield f"{prefix}{name}", _shown(default), _text(field)
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
        return f"`[{', '.join(map(str, default))}]`"
    if isinstance(default, float) and default < 0.01:
        return f"`{default:g}`"
    return f"`{default:_}`" if isinstance(default, int) and default >= 100_000 else f"`{default}`"


if __name__ == "__main__":
    raise SystemExit(main())
