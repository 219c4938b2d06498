"""What differs between the configuration a run was begun with and the one it should go on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_SHOWN = 6
_CHARACTERS = 40
_NOTHING: Any = object()


def changed_keys(before: Mapping[str, Any], now: Mapping[str, Any], free: Iterable[str] = ()) -> list[str]:
    """`key: old -> new` for every leaf that differs, in alphabetical order.

    `free`: dotted keys, whole branches too, that may change because they change no result.
    """
    old, new, may_change = dict(_leaves("", before)), dict(_leaves("", now)), tuple(free)
    told = []
    for key in sorted({*old, *new}):
        if old.get(key, _NOTHING) != new.get(key, _NOTHING) and not _is_free(key, may_change):
            told.append(f"{key}: {_short(old.get(key, _NOTHING))} -> {_short(new.get(key, _NOTHING))}")
    return told


def shortened(changes: list[str]) -> str:
    """The first changes, in one line, and how many more there are."""
    more = len(changes) - _SHOWN
    return "; ".join(changes[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _is_free(key: str, free: tuple[str, ...]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in free)


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield prefix, list(value) if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    text = "not set" if value is _NOTHING or value is None else " ".join(str(value).split())
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 3]}..."
