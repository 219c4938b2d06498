"""The structure of a candidate: how its kernels are built, whatever things are called and however they are laid out.

    candidate's Python ── structure_text ──> CUDA sources, macros expanded, parsed
        ├─ structure_syntax     identifier-free words
        ├─ structure_kernels    skeletons, memory kinds
        └─ structure_launches   launch geometry, fusion

`cluster_key` is equal where two candidates do the same in the same way: skeletons of the kernels (loops, barriers,
exchanges), launch geometry, memory kinds with the shapes of tiles, number of kernels and launches. `normalised` and
`similarity` are finer: they see every word of the text but names, values of literals, comments and layout.
Any text has a structure; of one that is no Python or no C++ as much as could be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mooreeval.candidate import CANDIDATE_CLASS
from mooreeval.hashing import content_hash
from mooreeval.legality.cpp_grammar import Tree, parse
from mooreeval.legality.cpp_text import Preprocessor, TooMuchText
from mooreeval.simulator.rewrite.tokens import Tokens, join_lines
from mooreeval.source_text import SyntaxProblem, normalise, parse_python
from musacoder.data.structure_constants import constants_of
from musacoder.data.structure_kernels import Kernels, constant_memory
from musacoder.data.structure_launches import FoundLaunch, Host, Launch
from musacoder.data.structure_syntax import cpp_syntax, python_syntax
from musacoder.data.structure_text import cuda_sources

__all__ = ["Launch", "Structure", "similarity", "structure_of"]

_SHINGLE = 5  # words that are compared together
_MOST_DEPTH = 8  # of Python methods that call each other


@dataclass(frozen=True)
class Structure:
    """What a candidate looks like without its names."""

    is_whole: bool  # the grammars took all of it
    syntax: tuple[str, ...]  # words of its C++, then of its Python
    launches: tuple[Launch, ...]  # of one forward pass, in their order
    kernels: int  # different ones among them
    memory: tuple[str, ...]  # kinds that its kernels use, such as "shared 16x17", "vector float4", "shuffle"

    @property
    def launches_per_forward(self) -> int:
        """How many launches stand in one forward pass; one in a loop counts once."""
        return len(self.launches)

    @cached_property
    def normalised(self) -> str:
        """The identifier-free syntax as one text: equal for programs that differ in names, values and layout alone."""
        return " ".join(self.syntax)

    @cached_property
    def shingles(self) -> frozenset[int]:
        """Hashes of every five words in a row, the same in every process."""
        words = self.syntax or ("",)
        last = max(len(words) - _SHINGLE, 0) + 1
        return frozenset(_stable_hash(words[i : i + _SHINGLE]) for i in range(last))

    @cached_property
    def cluster_key(self) -> str:
        """SHA-256 (hex) of what makes a cluster; of a candidate without launches, of its syntax."""
        if not self.launches:
            return content_hash(["no launches", self.normalised])
        launches = [
            [each.kernel, list(each.grid), each.block_dimensions, each.block, each.dynamic_shared, each.repeated]
            for each in self.launches
        ]
        return content_hash([launches, self.kernels, list(self.memory)])


def structure_of(candidate_code: str) -> Structure:
    """The structure of a candidate's file; nothing of it is run, and any text has one."""
    tree = parse_python(normalise(candidate_code))
    if isinstance(tree, SyntaxProblem):
        return Structure(False, _words_of_text(candidate_code), (), 0, ())
    sources = [_parsed(text) for text in cuda_sources(tree)]
    kernels = _kernels_of(sources)
    found = _launches(tree, sources, kernels)
    memory = {kind for each in found for kind in kernels.memory(each.name, each.constants)}
    memory |= {"constant" for source in sources if constant_memory(source.root)}
    syntax = [word for source in sources for word in cpp_syntax(source.root)]
    return Structure(
        is_whole=all(source.is_whole for source in sources),
        syntax=(*syntax, *python_syntax(tree, kernels.functions)),
        launches=tuple(each.launch for each in found),
        kernels=len({(each.name, tuple(sorted(each.constants.items()))) for each in found}),
        memory=tuple(sorted(memory)),
    )


def similarity(a: Structure, b: Structure) -> float:
    """Share of word sequences that two candidates have in common (Jaccard over `shingles`): 0 to 1."""
    return len(a.shingles & b.shingles) / len(a.shingles | b.shingles)


def _stable_hash(words: tuple[str, ...]) -> int:
    return int(content_hash(words)[:16], 16)


def _words_of_text(code: str) -> tuple[str, ...]:
    """What is left of a text that is no Python: numbers, signs and words by their kind."""
    tokens = Tokens(code)
    return tuple("v" if tokens.is_ident(i) else tokens[i] for i in range(len(tokens)))


def _parsed(source: str) -> Tree:
    """A source with its macros expanded, or as it stands where they make too much text."""
    try:
        text = Preprocessor().expand(Tokens(join_lines(source)))
    except TooMuchText:
        text = source
    return parse(source, text)


def _kernels_of(sources: list[Tree]) -> Kernels:
    kernels = Kernels()
    for source in sources:
        kernels.constants.update(constants_of(source.root, kernels.constants))
        for function in source.functions:
            kernels.functions.setdefault(function.name, function)
    return kernels


def _launches(tree: ast.Module, sources: list[Tree], kernels: Kernels) -> list[FoundLaunch]:
    """Launches of one forward pass; where Python calls nothing that can be told, all that there are."""
    host, bound = Host(kernels), _bound(sources, kernels)
    found = [launch for name in _called_in_forward(tree) for launch in host.launches_of(bound.get(name, name))]
    if found:
        return found
    own = [name for name, function in kernels.functions.items() if not function.is_device]
    return [launch for name in own for launch in host.launches_of(name, depth=_MOST_DEPTH)]


def _bound(sources: list[Tree], kernels: Kernels) -> dict[str, str]:
    """Functions by the name that a binding gives them in Python."""
    bound = {}
    for source in sources:
        for name, function in source.bindings:
            named = [word for word in function.words if word in kernels.functions]
            if name and len(named) == 1:
                bound[name] = named[0]
    return bound


def _called_in_forward(tree: ast.Module) -> Iterator[str]:
    """Names that `forward` calls, those of the candidate's own methods and functions replaced by what these call."""
    own: dict[str, Any] = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name != "forward"}
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == CANDIDATE_CLASS]
    forward = [n for c in classes for n in c.body if isinstance(n, ast.FunctionDef) and n.name == "forward"]
    for function in forward:
        yield from _calls(function, own, 0)


def _calls(node: ast.AST, own: dict[str, Any], depth: int) -> Iterator[str]:
    """Names called below a node, inner calls first, as they run."""
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, own, depth)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in own and depth < _MOST_DEPTH:
            yield from _calls(own[name], own, depth + 1)
        elif name:
            yield name
