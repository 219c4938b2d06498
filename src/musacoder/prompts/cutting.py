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
