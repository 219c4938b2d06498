"""Extensions with one thing broken, as models break them: for what a rejection costs, and whether all ways agree."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.cuda_slim_rules import plain


def spoilt(extension: Extension, seed: int) -> Extension | None:
    """The extension with a mistake in its last CUDA source, of a kind and at a place drawn by `seed` and its content.

    None where there is nothing to break. It need not fail: a name may be one that nobody misses.
    """
    sources = [s for s in extension.sources if s.language == "cuda"]
    if not sources:
        return None
    draw = random.Random(f"{seed} {extension.content_hash()}")
    kinds = [_without_a_semicolon, _with_a_wrong_name, _with_another_function]
    draw.shuffle(kinds)
    for kind in kinds:
        text = kind(sources[-1].text, draw)
        if text is not None:
            broken = replace(sources[-1], text=text)
            return replace(extension, sources=_replaced(extension.sources, sources[-1], broken))
    return None


def _replaced(sources: tuple[Source, ...], old: Source, new: Source) -> tuple[Source, ...]:
    return tuple(new if source is old else source for source in sources)


def _without_a_semicolon(text: str, draw: random.Random) -> str | None:
    rows, code = text.split("\n"), plain(text).split("\n")
    ends = [n for n, row in enumerate(code[: len(rows)]) if row.rstrip().endswith(";") and rows[n].endswith(";")]
    if not ends:
        return None
    chosen = draw.choice(ends)
    rows[chosen] = rows[chosen][:-1]
    return "\n".join(rows)


def _with_a_wrong_name(text: str, draw: random.Random) -> str | None:
    """One use of a name of the source's own is misspelt."""
    code = plain(text)
    words = re.findall(r"\b[a-z_]\w{2,}\b", code)
    names = sorted({w for w in words if words.count(w) > 2 and re.search(rf"\b(?:int|float|auto)\s+{w}\b", code)})
    if not names:
        return None
    places = list(re.finditer(rf"\b{draw.choice(names)}\b", text))
    end = places[-1].end()
    return f"{text[:end]}_x{text[end:]}"


def _with_another_function(text: str, draw: random.Random) -> str | None:
    """What is declared for Python is defined by another name."""
    places = list(re.finditer(r"\b(?:torch|at)::Tensor\s+(\w+)\s*\(", text))
    if not places:
        return None
    end = draw.choice(places).end(1)
    return f"{text[:end]}_x{text[end:]}"
