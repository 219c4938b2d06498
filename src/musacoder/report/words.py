"""Numbers and foreign text as they are shown."""

from __future__ import annotations

import re
import unicodedata

from musacoder.evaluate import Estimate

NOTHING = "–"
LONGEST = 64 << 10  # characters of one text in a page; the run folder has the rest
# Invisible: controls but line break and tab, and what turns the direction of text or hides in it.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a number of per cent, without the sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def percent_range(estimate: Estimate | None) -> str:
    """The interval of a share in per cent; empty where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{percent(estimate.low)}–{percent(estimate.high)}"


def decimal(value: float) -> str:
    """A number with two decimals."""
    return f"{value:.2f}".replace("-", "−")


def times(value: float | None) -> str:
    """A speed-up."""
    if value is None:
        return NOTHING
    return f"{value:.2f}×" if value < 10 else f"{value:.0f}×"


def number(value: float | None, digits: int = 0) -> str:
    """A number with thin spaces between thousands."""
    return NOTHING if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def duration(seconds: float | None) -> str:
    """Seconds in the unit that a person would take."""
    if seconds is None:
        return NOTHING
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size(count: int) -> str:
    """Bytes in the unit that a person would take."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def several(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def spoken(identifier: str) -> str:
    """`compile_error` as words."""
    return identifier.replace("_", " ")


def visible(text: str) -> str:
    """Foreign text of which every character can be seen, cut where it is very long."""
    text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")  # lone surrogates do not travel
    more = len(text) - LONGEST
    cut = text if more <= 0 else f"{text[:LONGEST]}\n[{more} more characters are in the run folder]"
    return _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", cut)


def one_line(text: str, limit: int = 200) -> str:
    """Foreign text as a part of one line."""
    line = visible(" ".join(unicodedata.normalize("NFC", text).split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
