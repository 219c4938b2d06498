"""Texts that are too long: what is left of them says that something is missing, and where."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


def cut_in_the_middle(text: str, characters: int, *, mark: str = "[... {} characters left out ...]") -> str:
    """At most so many characters, not counting the mark and fences that are closed around it, of whole lines if it can.

    Beginning and end of what a judge or a model says matter most; both are kept, the beginning a little longer.
    """
    if len(text) <= characters:
        return text
    head, tail = text[: characters * 3 // 5], text[len(text) - (characters - characters * 3 // 5) :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    missing = mark.format(len(text) - len(head) - len(tail))
    opened = _open_fence(head)
    end = f"{opened}\n" if opened else ""
    again = "```\n" if _open_fence(tail) else ""
    line = "" if head.endswith("\n") else "\n"
    return f"{head}{line}{end}{missing}\n{again}{tail}"


def brief(text: str, lines: int = 4, width: int = 160) -> str:
    """The first lines of a judge's feedback, for a model that can't read more.

    Of a quotation one line is left, without its fence: the one that a mark points out, else the last.
    """
    kept: list[str] = []
    marks, quoted = "", list[str]()
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not marks and found:
            marks, quoted = found[1], []
        elif marks and found and found[1].startswith(marks):
            kept += _pointed_out(quoted)
            marks = ""
        elif marks:
            quoted.append(line)
        elif line.strip():
            kept.append(line.strip())
    return "\n".join(line[:width] for line in kept[:lines])


def _pointed_out(quoted: list[str]) -> list[str]:
    marked = [line for line in quoted if line.startswith(">")] or [line for line in quoted if line.strip()][-1:]
    return [line.lstrip("> ").strip() for line in marked[:1]]


def _open_fence(text: str) -> str:
    """The marks that would close a fence which is open at the end of the text; empty where none is."""
    marks = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if found and not marks:
            marks = found[1]
        elif found and found[1].startswith(marks):
            marks = ""
    return marks
