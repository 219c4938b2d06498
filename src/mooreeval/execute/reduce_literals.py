"""The integers that a candidate's text carries: sizes that its kernels may have been written for.

An honest kernel may be fixed to the task's shape, so that these sizes are better not changed. Two kinds of numbers say
nothing of that sort: those of a copied `get_inputs`, and, as far as one can tell, sizes of thread blocks and tiles,
which are equal to some dimension by accident.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mooreeval.execute.reduce_sites import folded
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, parse_python
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]{0,3}(?![\w.])"
_CHAIN = re.compile(rf"{_NUMBER}(?:\s*(?:\*|<<)\s*{_NUMBER})*")
_PART = re.compile(rf"(\*|<<)?\s*({_NUMBER})")
# Index arithmetic (`blockIdx.x * 4096`) tells of dimensions; hence not `blockIdx` and its like.
_POWERS = frozenset(1 << power for power in range(2, 11))  # up to the largest block
_BLOCK_WORDS = re.compile(
    r"threads|thread(?!Idx)|block(?!Idx|Dim)|tile|warp|lane|grid(?!Dim)|<<<|dim3|launch_bounds|shared|smem|unroll|tpb",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Literals:
    """Integers of a candidate: `all` of them, and `sizes`, those seen outside of the words of blocks and tiles."""

    all: frozenset[int]
    sizes: frozenset[int]

    @property
    def tiles(self) -> frozenset[int]:
        """Powers of two that may be the size of a tile, a block or a vector."""
        return self.all & _POWERS


def candidate_literals(text: str) -> Literals:
    """The integers in a candidate's Python and in the C++ in its strings; all numbers where it is no Python."""
    tree = parse_python(text) if len(text) <= MAX_CODE_BYTES else SyntaxProblem("too long")
    found = list(_in_cpp(text[:MAX_CODE_BYTES]) if isinstance(tree, SyntaxProblem) else _in_python(tree, text))
    return Literals(
        frozenset(value for value, _line in found),
        frozenset(value for value, line in found if not _BLOCK_WORDS.search(line)),
    )


def _in_python(tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """Values with the line that they stand in."""
    lines = text.split("\n")
    for statement in _own_code(tree):
        docstrings = set(_docstrings(statement))
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield from _in_cpp(node.value)
            elif isinstance(node, ast.expr) and (value := folded(node)) is not None:
                yield value, lines[node.lineno - 1]


def _own_code(tree: ast.Module) -> list[ast.stmt]:
    """Without the copied input functions and the constants that only they use."""
    kept = [node for node in tree.body if getattr(node, "name", None) not in (INPUTS_NAME, INIT_INPUTS_NAME)]
    used = {
        node.id
        for statement in kept
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return [statement for statement in kept if not _is_unused_constant(statement, used)]


def _is_unused_constant(statement: ast.stmt, used: set[str]) -> bool:
    if not isinstance(statement, ast.Assign):
        return False
    names = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    holds_text = any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(statement))
    return not holds_text and not names & used


def _docstrings(statement: ast.stmt) -> Iterator[int]:
    if isinstance(statement, ast.Expr):
        yield id(statement.value)
    for node in ast.walk(statement):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr):
            yield id(node.body[0].value)


def _in_cpp(text: str) -> Iterator[tuple[int, str]]:
    for line in _COMMENT.sub(" ", text).split("\n"):
        for chain in _CHAIN.finditer(line):
            yield from ((value, line) for value in _values_of(chain[0]))


def _values_of(chain: str) -> Iterator[int]:
    """Of `64 * 1024`: 64, 1024 and 65536."""
    total: int | None = None
    for part in _PART.finditer(chain):
        value = int(part[2].rstrip("uUlL"), 0) if not re.match(r"0\d", part[2]) else 0
        if value.bit_length() > 62:
            return
        yield value
        if total is None:
            total = value
        elif part[1] == "<<":
            total = total << value if value < 48 and total.bit_length() + value < 63 else total
        else:
            total = total * value if total.bit_length() + value.bit_length() < 63 else total
    if total is not None:
        yield total
