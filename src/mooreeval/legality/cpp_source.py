"""A candidate's C++ and CUDA sources, read: every recorded string, as the compiler will see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mooreeval.legality.cpp_calls import HostCode, Program
from mooreeval.legality.cpp_fallback import by_words
from mooreeval.legality.cpp_grammar import Tree, called, descend, parse
from mooreeval.legality.cpp_pointers import Pointers
from mooreeval.legality.cpp_text import Preprocessor, TooMuchText
from mooreeval.legality.cpp_words import Words
from mooreeval.legality.rules import Accusation
from mooreeval.simulator.rewrite.features import tampering
from mooreeval.simulator.rewrite.tokens import Tokens, join_lines
from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.compiler_flags import compiler_flags

MOST_CHARACTERS = 1 << 20  # of all sources of a candidate; the toolchains build no more than that either


@dataclass
class CppReading:
    """All sources of a candidate, before it is known which of their functions the forward path calls."""

    program: Program
    accusations: list[Accusation] = field(default_factory=list)

    def computing(self, kernels: frozenset[str]) -> list[Accusation]:
        """What the host code behind these functions computes with that is not the candidate's own."""
        reached = self.program.reached(kernels)
        found = [a for tree, function in reached for a in HostCode(self.program, tree, function).read()]
        found += [a for tree in self.program.trees if not tree.is_whole for a in by_words(tree)]
        return found


def read_cpp(extensions: Sequence[Extension], single: bool) -> CppReading:
    """Read all sources; `single`: the task is one of single precision."""
    sources = [s for e in extensions for s in (*e.headers, *e.sources)]
    if sum(len(source.text) for source in sources) > MOST_CHARACTERS:
        return CppReading(Program(()), [_unreadable(sources[0].name, "more than a million characters of source")])
    accusations: list[Accusation] = []
    trees: list[Tree] = []
    for extension in extensions:
        try:
            for source, text in _expanded(extension, accusations):
                trees.append(parse(source.name, text))
        except TooMuchText:
            accusations.append(_unreadable(extension.sources[0].name, "its macros make more text than anyone reads"))
    program = Program(trees)
    own, overloads = program.host_names(), program.overloads()
    for tree in trees:
        words = Words(tree.source, tree.text, single, own, overloads)
        accusations += words.read()
        accusations += Pointers(tree.source, words.tokens, own).read()
        accusations += _initialisers(program, tree)
    return CppReading(program, accusations)


def _unreadable(source: str, why: str) -> Accusation:
    return Accusation("unreadable_source", 1, "", why, None, source)


def _expanded(extension: Extension, accusations: list[Accusation]) -> Iterator[tuple[Source, str]]:
    """Each source with the text that the compiler makes of it; sources of one language are one text to it."""
    shared = _preprocessor(())
    for header in extension.headers:
        yield header, shared.expand(_tokens(header, accusations))
    flags = {"cpp": extension.cflags, "cuda": extension.cuda_cflags}
    units = {language: _preprocessor(given, shared) for language, given in flags.items()}
    for source in extension.sources:
        yield source, units[source.language].expand(_tokens(source, accusations))


def _tokens(source: Source, accusations: list[Accusation]) -> Tokens:
    tokens = Tokens(join_lines(source.text))
    for hit in tampering(tokens, source.name):
        line = hit.place.line if hit.place and hit.place.line else 1
        accusations.append(Accusation(hit.rule, line, hit.evidence or "", hit.message, None, source.name))
    return tokens


def _preprocessor(flags: Sequence[str], shared: Preprocessor | None = None) -> Preprocessor:
    made = Preprocessor(shared.macros if shared else None)
    for flag in compiler_flags(flags):
        if flag.kind == "define":
            made.define(f"#define {flag.name}{flag.parameters} {flag.value}")
    return made


def _initialisers(program: Program, tree: Tree) -> Iterator[Accusation]:
    """Variables at file scope whose value code of the candidate's own makes: it runs when the library is loaded."""
    for node in tree.outside:
        if any(
            word in ("__device__", "__constant__", "__shared__")
            for word in (node.text or b"").decode("utf-8", "replace").split()
        ):
            continue
        for each in descend(node, lambda n: n.type not in ("lambda_expression", "function_definition")):
            if each.type != "call_expression":
                continue
            function = each.child_by_field_name("function")
            name = called(function) if function is not None else ""
            is_lambda = function is not None and any(n.type == "lambda_expression" for n in descend(function))
            own = [f for _t, f in program.functions.get(name, ()) if not f.is_constexpr and not f.is_device]
            if is_lambda or own:
                line = each.start_point[0] + 1
                words = f"{name}(" if own else "a lambda"
                message = f"`{words}`: code runs because the library is loaded"
                yield Accusation("static_initialiser", line, words, message, None, tree.source)
