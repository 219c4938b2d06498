"""Which lines the preprocessor drops, as far as that can be told without running it."""

from __future__ import annotations

import ast

from mooreeval.simulator.rewrite.tokens import Kind, Tokens
from mooreeval.source_text import python_tree

# What the simulator defines; any other name makes a condition unknown, and unknown code counts as live.
_DEFINED = {"__CUDA_ARCH__": 800, "__CUDACC__": 1, "__NVCC__": 1, "__cplusplus": 202002, "CUDART_VERSION": 13000}
_PYTHON = {"&&": " and ", "||": " or ", "!": " not ", "true": "1", "false": "0"}
_UNDEFINED = frozenset(
    ("USE_ROCM", "__HIP_PLATFORM_AMD__", "__HIPCC__", "_WIN32", "_MSC_VER", "__HIP_DEVICE_COMPILE__")
)


def dead_tokens(tokens: Tokens) -> bytearray:
    """1 for each token in a branch that an sm_80 build certainly drops."""
    dead = bytearray(len(tokens))
    stack: list[list] = []  # [dropped by an outer branch, a branch was certainly taken, this branch is dropped]
    for i in range(len(tokens)):
        number = tokens.directive[i]
        if number and tokens.directive_first[number] == i:
            _enter_directive(tokens, i, stack)
        dead[i] = bool(stack and (stack[-1][0] or stack[-1][2]))
    return dead


def _enter_directive(tokens: Tokens, first: int, stack: list[list]) -> None:
    name = tokens[first + 1]
    if name in ("if", "ifdef", "ifndef"):
        outer = bool(stack and (stack[-1][0] or stack[-1][2]))
        value = _condition(tokens, first)
        stack.append([outer, value is True, value is False])
    elif name in ("elif", "else") and stack:
        value = True if name == "else" else _condition(tokens, first)
        stack[-1][2] = stack[-1][1] or value is False
        stack[-1][1] = stack[-1][1] or value is True
    elif name == "endif" and stack:
        stack.pop()


def _condition(tokens: Tokens, first: int) -> bool | None:
    """Value of the condition on this line; None where it is unknown."""
    words, i = [], first + 2
    while i < len(tokens) and tokens.same_line_of_code(i, first) and len(words) < 64:
        words.append((tokens.kinds[i], tokens[i]))
        i += 1
    if tokens[first + 1] in ("ifdef", "ifndef"):
        defined = _is_defined(words[0][1]) if words else None
        return defined if defined is None else defined == (tokens[first + 1] == "ifdef")
    return _evaluate(words)


def _is_defined(name: str) -> bool | None:
    if name in _DEFINED:
        return True
    return False if name in _UNDEFINED else None


def _evaluate(words: list[tuple[int, str]]) -> bool | None:
    parts: list[str] = []
    texts = [text for _, text in words]
    i = 0
    while i < len(words):
        kind, text = words[i]
        if text == "defined":
            i += 2 if texts[i + 1 : i + 2] == ["("] else 1
            name = texts[i] if i < len(texts) else ""
            known = _is_defined(name)
            parts.append("unknown" if known is None else str(int(known)))
            i += 1 if texts[i + 1 : i + 2] == [")"] and texts[i - 1] == "(" else 0
        elif kind == Kind.NUMBER:
            parts.append(text.rstrip("uUlL"))
        elif kind == Kind.IDENT and text not in _PYTHON:
            parts.append(str(_DEFINED[text]) if text in _DEFINED else "0" if text in _UNDEFINED else "unknown")
        else:
            parts.append(_PYTHON.get(text, text))
        i += 1
    try:
        value = _value(python_tree(" ".join(parts).strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return None if value is None else bool(value)


def _value(node: ast.expr) -> int | None:
    """Three-valued arithmetic: None is unknown."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _value(node.operand)
        return None if value is None else int(not value)
    if isinstance(node, ast.BoolOp):
        values = [_value(v) for v in node.values]
        decisive = isinstance(node.op, ast.Or)
        if any(v is not None and bool(v) == decisive for v in values):
            return int(decisive)
        return None if None in values else int(not decisive)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compare(node.ops[0], _value(node.left), _value(node.comparators[0]))
    return None


def _compare(operator: ast.cmpop, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    results: dict[type[ast.cmpop], bool] = {
        ast.Lt: left < right, ast.LtE: left <= right, ast.Gt: left > right,
        ast.GtE: left >= right, ast.Eq: left == right, ast.NotEq: left != right,
    }  # fmt: skip
    value = results.get(type(operator))
    return None if value is None else int(value)
