"""Sources that the grammar does not take whole, looked at by their words alone: broken text is no way round a rule."""

from __future__ import annotations

from collections.abc import Iterator

from mooreeval.legality import cpp_names as names
from mooreeval.legality.cpp_calls import area_rule, is_plumbing
from mooreeval.legality.cpp_grammar import Tree
from mooreeval.legality.cpp_words import qualified
from mooreeval.legality.rules import Accusation, shown
from mooreeval.legality.tensor_methods import TENSOR_METHODS
from mooreeval.simulator.rewrite.tokens import Tokens


def by_words(tree: Tree) -> Iterator[Accusation]:
    """For a source that the grammar does not take: what its words say alone."""
    tokens = Tokens(tree.text)
    for at in range(len(tokens)):
        if not tokens.is_ident(at) or tokens[at - 1] == "::":
            continue
        name, end = qualified(tokens, at)
        if tokens[_behind_arguments(tokens, end)] != "(":
            continue
        first, _, rest = name.partition("::")
        name = f"{tree.aliases.get(first, first)}::{rest}" if rest else tree.aliases.get(first, first)
        rule = _rule_of_words(name, is_member=tokens[at - 1] in (".", "->"))
        if rule == "library_call":
            yield Accusation(
                rule, tokens.line(at), shown(name, 80), f"`{name}` is a library's kernel", None, tree.source
            )
        elif rule:
            message = f"`{name}` is computation by PyTorch in the host code"
            yield Accusation(rule, tokens.line(at), shown(name, 80), message, None, tree.source)


def _rule_of_words(name: str, *, is_member: bool) -> str:
    parts = name.split("::")
    if is_member:
        own = name in TENSOR_METHODS and name not in names.COLLIDING_METHODS and not is_plumbing(name)
        return "cpp_torch_compute" if own else ""
    if len(parts) > 1 and parts[0] in ("at", "torch") and parts[-1][:1].islower() and not is_plumbing(parts[-1]):
        area = area_rule(name)
        return "cpp_torch_compute" if area == "compute" or (area is None and len(parts) == 2) else ""
    return "library_call" if names.LIBRARIES.fullmatch(parts[-1]) or names.DEVICE_WIDE.match(name) else ""


def _behind_arguments(tokens: Tokens, at: int) -> int:
    """The index behind template arguments that begin here, where they are short."""
    if tokens[at] != "<":
        return at
    depth = 0
    for end in range(at, min(at + 40, len(tokens))):
        depth += (tokens[end] == "<") - (tokens[end] == ">")
        if depth == 0:
            return end + 1
    return at
