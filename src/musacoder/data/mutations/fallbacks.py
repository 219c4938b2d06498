"""Mutations that let PyTorch compute: right values, and against the rules.

They change Python or host code and may change the number of lines, so they are no `Finder`s of one text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from musacoder.data.mutations.places import Place, Rule
from musacoder.data.mutations.text import CudaText, cuda_texts, edited

FALLBACK = "fallback"


def _rule(name: str, argument: str) -> Rule:
    return Rule(name, FALLBACK, "fallback", False, argument, _nowhere)


def _nowhere(_text: CudaText, /) -> Iterator[Place]:
    return iter(())


FORWARD = _rule("forward_by_pytorch", "`ModelNew` is the task's own module under another name.")
RESULT = _rule(
    "result_by_operator", "What the kernel gives goes through one of PyTorch's operators before it is returned."
)
HOST = _rule("operator_in_cpp", "The host code returns what a method of the tensor computes.")
RULES = {rule.name: rule for rule in (FORWARD, RESULT, HOST)}


def fallbacks(task_code: str, code: str) -> Iterator[tuple[Rule, str]]:
    """(rule, changed file) of each fallback that the candidate's text has a place for."""
    tree = ast.parse(code)
    model = _class(tree, "ModelNew")
    original = _class(ast.parse(task_code), "Model")
    if model is None or original is None:
        return
    yield FORWARD, _with_class_of_task(code, model, task_code, original)
    if (result := _last_return(model)) is not None:
        lines = code.splitlines(keepends=True)
        start, end = _offsets(lines, result)
        yield RESULT, f"{code[:start]}torch.add({code[start:end]}, 0){code[end:]}"
    for text in cuda_texts(code):
        host = set(text.host)
        for at in text.find("return ID ;"):
            if at in host:
                end = text.tokens[at + 1].end
                yield HOST, edited(code, ((end, end, ".add(0)"),))


def _with_class_of_task(code: str, model: ast.ClassDef, task_code: str, original: ast.ClassDef) -> str:
    """The file with the task's class in place of the candidate's, and the imports that it needs."""
    lines, of_task = code.splitlines(), task_code.splitlines()
    body = [
        line.replace("super(Model,", "super(ModelNew,") for line in of_task[original.lineno - 1 : original.end_lineno]
    ]
    body[0] = body[0].replace("class Model", "class ModelNew", 1)
    imports = [line for line in of_task if line.startswith(("import ", "from ")) and line not in lines]
    return "\n".join([*imports, *lines[: model.lineno - 1], *body, *lines[model.end_lineno :]]) + "\n"


def _class(tree: ast.Module, name: str) -> ast.ClassDef | None:
    return next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name), None)


def _last_return(model: ast.ClassDef) -> ast.expr | None:
    """What `forward` returns at its end, where that is one value."""
    for method in model.body:
        if isinstance(method, ast.FunctionDef) and method.name == "forward" and isinstance(method.body[-1], ast.Return):
            value = method.body[-1].value
            return value if isinstance(value, ast.Call | ast.Name) else None
    return None


def _offsets(lines: list[str], node: ast.expr) -> tuple[int, int]:
    """Characters at which a node begins and ends; `ast` counts bytes of a line."""

    def offset(line: int, column: int) -> int:
        before = lines[line - 1].encode()[:column].decode()
        return sum(map(len, lines[: line - 1])) + len(before)

    assert node.end_lineno is not None and node.end_col_offset is not None
    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
