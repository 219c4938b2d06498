"""The integers that a candidate carries: sizes that its kernels may have been written for, and sizes of its tiles.

An honest kernel may be fixed to the task's shape, so that these sizes are better not changed. Two kinds of numbers say
nothing of that sort: those of a copied `get_inputs`, and, as far as one can tell, sizes of thread blocks and tiles,
which are equal to some dimension by accident.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from mooreeval.execute.reduce_numbers import Names, Number, all_numbers, without_comments
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, parse_python
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME

# Index arithmetic (`blockIdx.x * 4096`) tells of dimensions; hence not `blockIdx` and its like.
_BLOCK_WORDS = re.compile(
    r"(?<!sync)thread(?!Idx)|block(?!Idx|Dim)|tile|(?<!sync)warp|lane|grid(?!Dim)|<<<|dim3|launch_bounds|shared|smem|unroll|tpb",
    re.IGNORECASE,
)
_MEMORY_WORDS = re.compile(r"shared|smem", re.IGNORECASE)  # of areas, which are products of tiles
_READ = 1 << 17  # characters of one text; honest ones are far below
_LARGEST_TILE = 1 << 13
_LARGEST_BLOCK = 1024
_LARGEST_ACCIDENT = 32  # smaller sizes are related to anything
_VECTORS = (2, 4, 8, 16)
_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}

_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip

Tie = Literal["written for", "may be written for"]


@dataclass(frozen=True)
class Literals:
    """Integers of a candidate: `all` of them, and `sizes`, those seen outside of the words of blocks and tiles."""

    all: frozenset[int]
    sizes: frozenset[int]
    written: frozenset[int] = frozenset()  # as such, not computed from others
    tiles: frozenset[int] = frozenset()  # something is divided by them, or they stand with the words of blocks
    masks: frozenset[int] = frozenset()
    shifts: frozenset[int] = frozenset()
    threads: frozenset[int] = frozenset()  # of launches whose grid is a constant

    def carry(self, size: int) -> bool:
        """Whether the size is one of the integers, and not as the area of a tile by accident."""
        return size in self.written or (size in self.all and not _could_be_a_block(size))

    def tie(self, size: int, others: frozenset[int] = frozenset()) -> Tie | None:
        """How the candidate seems to carry a number that is derived from the size; equality is not asked here.

        An integer that is one of the other dimensions says nothing of this one.
        """
        if size <= _LARGEST_ACCIDENT:
            return None
        parts = {size // width for width in _VECTORS if size % width == 0 and size // width > _LARGEST_ACCIDENT}
        if any(not _could_be_a_block(part) for part in (parts & self.sizes) - others):
            return "written for"
        shift = size.bit_length() - 1 if _is_power(size) else None
        if size - 1 in self.masks or shift in self.shifts:
            return "written for" if size > _LARGEST_BLOCK else "may be written for"
        multiples = {size * width for width in (1, *_VECTORS)} | {size - 1}
        return "may be written for" if ((parts | multiples) & self.all) - others or size in self.products else None

    @cached_property
    def products(self) -> frozenset[int]:
        """Of two integers: of a block and the elements of a thread, say."""
        factors = sorted(value for value in self.all if 2 <= value <= _LARGEST_TILE)[:200]
        return frozenset(first * second for first in factors for second in factors)


def _is_power(value: int) -> bool:
    return value & (value - 1) == 0


def _could_be_a_block(value: int) -> bool:
    return value <= _LARGEST_BLOCK and _is_power(value)


def candidate_literals(text: str) -> Literals:
    """The integers in a candidate's Python and in the C++ in its strings; all numbers where it is no Python."""
    tree = parse_python(text) if len(text) <= MAX_CODE_BYTES else SyntaxProblem("too long")
    if isinstance(tree, SyntaxProblem):
        found, threads = all_numbers([without_comments(text[:_READ])], {})
    else:
        statements = _own_code(tree)
        names = _python_names(statements)
        in_strings, threads = all_numbers(_sources(statements), names)
        found = [*_in_python(statements, names, text.split("\n")), *in_strings]
    return Literals(
        frozenset(n.value for n in found),
        frozenset(n.value for n in found if not _of_blocks(n.line)),
        frozenset(n.value for n in found if not n.computed),
        frozenset(n.value for n in found if 2 <= n.value <= _LARGEST_TILE and _is_tile(n)),
        frozenset(n.value for n in found if n.masks),
        frozenset(n.value for n in found if n.shifts),
        frozenset(threads),
    )


def _is_tile(number: Number) -> bool:
    if number.divides:
        return True
    beside = number.value <= _LARGEST_BLOCK and _of_blocks(number.line)
    return beside and not (number.computed and _of_memory(number.line))


@lru_cache(maxsize=4096)  # a line may be as long as the text and hold as many numbers
def _of_blocks(line: str) -> bool:
    return bool(_BLOCK_WORDS.search(line))


@lru_cache(maxsize=4096)
def _of_memory(line: str) -> bool:
    return bool(_MEMORY_WORDS.search(line))


# --------------------------------------------------------------------------------------------------------------- Python
def _own_code(tree: ast.Module) -> list[ast.stmt]:
    """Without the copied input functions and the constants that only they use."""
    kept = [node for node in tree.body if getattr(node, "name", None) not in (INPUTS_NAME, INIT_INPUTS_NAME)]
    used = {name for statement in kept for name in _read_from_module(statement)}
    return [statement for statement in kept if not _is_unused_constant(statement, used)]


def _read_from_module(statement: ast.stmt) -> Iterator[str]:
    """Names that are read and may be the module's; `M, K = x.shape` makes a function's M its own."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(statement, frozenset())]
    while waiting:
        node, own = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield node.id
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):  # its defaults are read outside of it
            waiting += [(part, own) for part in (*node.decorator_list, node.args)]
            inside = _own_names(node, own)
            waiting += [(part, inside) for part in node.body]
        else:
            waiting += [(part, own) for part in ast.iter_child_nodes(node)]


def _own_names(function: ast.FunctionDef | ast.AsyncFunctionDef, outer: frozenset[str]) -> frozenset[str]:
    """A function's arguments and what it assigns, with those around it; what is assigned in a scope within is not."""
    arguments = function.args
    own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    told, waiting = set(), list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Global):
            told |= set(node.names)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return (outer | own) - told


def _is_unused_constant(statement: ast.stmt, used: set[str]) -> bool:
    if not isinstance(statement, ast.Assign):
        return False
    names = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    holds_text = any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(statement))
    return not holds_text and not names & used


def _sources(statements: list[ast.stmt]) -> Iterator[str]:
    """The strings, which may be C++; of an f-string the whole, with the expressions in it in parentheses."""
    for statement in statements:
        left_out = set(_docstrings(statement))
        for node in ast.walk(statement):
            if isinstance(node, ast.JoinedStr):
                left_out |= {id(part) for part in node.values}
                yield without_comments("".join(map(_part, node.values))[:_READ])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
                yield without_comments(node.value[:_READ])


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return f"({ast.unparse(node.value)})" if isinstance(node, ast.FormattedValue) else ""


def _docstrings(statement: ast.stmt) -> Iterator[int]:
    if isinstance(statement, ast.Expr):
        yield id(statement.value)
    for node in ast.walk(statement):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr):
            yield id(node.body[0].value)


def _python_names(statements: list[ast.stmt]) -> Names:
    """Names that are given one integer, in order; a name that is given several has the last."""
    names = Names()
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=value)
                ) if value is not None and (result := _value(value, names)) is not None:
                    names[name] = frozenset([result])
    return names


def _in_python(statements: list[ast.stmt], names: Names, lines: list[str]) -> Iterator[Number]:
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, (ast.Constant, ast.BinOp)) and (value := _value(node, names)) is not None:
            yield Number(value, lines[node.lineno - 1], computed=isinstance(node, ast.BinOp))
        if isinstance(node, ast.BinOp) and (right := _value(node.right, names)) is not None:
            yield Number(
                right,
                lines[node.lineno - 1],
                computed=True,
                divides=isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Div)),
                masks=isinstance(node.op, ast.BitAnd),
                shifts=isinstance(node.op, (ast.LShift, ast.RShift)),
            )


def _value(node: ast.AST, names: Names) -> int | None:
    """The value of a constant integer expression, None for anything else (or absurd results)."""
    value: int | None = None
    match node:
        case ast.Constant(value=int()) if type(node.value) is int:
            value = node.value
        case ast.Name(id=name):
            value = max(names.get(name, ()), default=None)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            first, second = _value(left, names), _value(right, names)
            powers = isinstance(op, (ast.Pow, ast.LShift, ast.RShift))
            if first is None or second is None or (powers and not 0 <= second < 63):
                return None
            try:
                value = _FOLDED[type(op)](first, second)
            except (ArithmeticError, ValueError):
                return None
    return value if value is not None and value.bit_length() < 63 else None
