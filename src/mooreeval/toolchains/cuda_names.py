"""The names and headers that CUDA and PyTorch really have, from `data/`, which `scripts/list_cuda_names.py` writes.

A name of this list that g++ does not know is a gap of the simulator's; a name that only looks like one is misspelt, and
nvcc would refuse it too. The lists are the union of several releases, so that every machine says the same.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files


@cache
def _functions() -> dict[str, frozenset[int]]:
    rows = (line.split() for line in _lines("cuda_names.txt"))
    return {name: frozenset(map(int, numbers)) for name, *numbers in rows}


@cache
def _headers() -> frozenset[str]:
    return frozenset(_lines("cuda_headers.txt"))


def _lines(file: str) -> list[str]:
    return (files("mooreeval.toolchains") / "data" / file).read_text(encoding="utf-8").split("\n")[:-1]


def exists(name: str) -> bool:
    """Do CUDA's headers, or the macros of PyTorch's, hold this name?"""
    return name in _functions()


def numbers_of_arguments(name: str) -> frozenset[int]:
    """How many arguments the overloads of a function of CUDA's take; empty where that is not known."""
    return _functions().get(name, frozenset())


def header_exists(path: str) -> bool:
    """Is there a header of CUDA's or PyTorch's by this path?"""
    return path in _headers()


def nearest(name: str) -> str | None:
    """The name of CUDA's that a misspelt one was probably meant to be."""
    return next(iter(difflib.get_close_matches(name, _functions(), n=1, cutoff=0.8)), None)


def nearest_header(path: str) -> str | None:
    return next(iter(difflib.get_close_matches(path, _headers(), n=1, cutoff=0.8)), None)
