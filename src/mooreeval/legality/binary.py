"""What a built module takes from elsewhere, who is started when it loads, and whose kernels it holds.

Macros, token pasting and casts leave no trace in a binary: what is called by name is among the undefined symbols, and
what a header brought along is among the kernels. Every check is an allow-list. Nothing here runs a candidate's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mooreeval.errors import NotJudged
from mooreeval.legality.elf import BadElf, SharedObject, read_shared_object
from mooreeval.legality.mangled import qualified_name
from mooreeval.legality.symbols import Fault, fault_of, is_taken
from mooreeval.simulator.rewrite import Tokens, join_lines
from mooreeval.toolchains.base import Artefact, Recording
from mooreeval.toolchains.locate import SourceMap
from mooreeval.verdict import Place, RuleHit

# By the beginning of their file names. CUDA's libraries may be linked, as every load_inline with their headers does;
# a call is a symbol.
_LIBRARIES = re.compile(
    r"lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp|c10|c10_cuda|torch|torch_cpu|torch_cuda|torch_cuda_linalg|torch_python"
    r"|cudart|cuda|cublas|cublasLt|cudnn\w*|cusparse|cusolver|cufft|curand|nvrtc|nvToolsExt|moore_\w+)\.so(?:\.\d+)*"
    r"|ld-linux-\w[\w-]*\.so\.\d+|ld-musl-\w+\.so\.\d+|libpython3[\w.]*\.so[\d.]*"
)
# What compilers put into .init_array: static objects of a unit, sanitizers, CUDA's registration.
_COMPILERS_CONSTRUCTORS = re.compile(
    r"frame_dummy|_GLOBAL__(?:sub_)?I_\w.*|_sub_I_\d+_\d+|_?_?\w*__sti____\w+|_ZL\d+__sti____\w+"
)
_LIBRARY_NAMESPACES = frozenset("cub thrust cutlass cute at c10 torch cooperative_groups".split())
_HARMLESS_KERNELS = frozenset(["EmptyKernel"])  # CUB asks it for its architecture
_MANGLED_TEXT = re.compile(rb"(?<![\x21-\x7e])(_Z[\w.$]+)\x00")


@dataclass(frozen=True)
class Sources:
    """The recorded texts: where a word stands in them, and whether words can be put together there."""

    recording: Recording
    source_map: SourceMap

    def place_of(self, word: str) -> Place | None:
        """The first line with this identifier, in the candidate's file where it can be told."""
        for source, tokens in self._tokens():
            for k in range(len(tokens)):
                if tokens[k] == word:
                    return self.source_map.place(source, tokens.line(k))
        return None

    def words(self) -> set[str]:
        return {tokens[k] for _, tokens in self._tokens() for k in range(len(tokens))}

    def _tokens(self) -> Iterator[tuple[str, Tokens]]:
        for extension in self.recording.extensions:
            for source in (*extension.sources, *extension.headers):
                yield source.name, Tokens(join_lines(source.text))


def binary_hits(
    artefacts: Sequence[Artefact], recording: Recording, source_map: SourceMap, policy: str
) -> list[RuleHit]:
    """Every rule that the built modules break, the gravest first; raises NotJudged where one can't be read."""
    sources = Sources(recording, source_map)
    hits: dict[tuple[str, str], RuleHit] = {}
    for artefact in artefacts:
        try:
            module = read_shared_object(artefact.path)
        except (BadElf, OSError) as error:
            raise NotJudged(f"a built module could not be looked at: {error}") from None
        for hit in _hits(module, sources, policy):
            hits.setdefault((hit.rule, hit.evidence or ""), hit)
    return sorted(hits.values(), key=lambda hit: _GRAVITY.index(hit.rule))


_GRAVITY = (
    "simulator_tampering", "forbidden_symbol", "exported_symbol", "foreign_library", "constructor", "library_call",
    "cpp_torch_compute", "library_kernel", "foreign_kernel", "unlisted_symbol",
)  # fmt: skip


def _hits(module: SharedObject, sources: Sources, policy: str) -> Iterator[RuleHit]:
    for symbol in module.imports:
        if fault := fault_of(symbol, policy):
            yield RuleHit(
                rule=fault.rule, message=fault.what, place=_place(fault, sources), evidence=f"symbol {symbol[:300]}"
            )
    yield from _stand_ins(module, sources)
    yield from _libraries(module)
    yield from _constructors(module, sources)
    if policy == "native":
        yield from _kernels(module, sources)


def _place(fault: Fault, sources: Sources) -> Place | None:
    """Where the source has the word, or the operator's name without its overload."""
    parts = fault.word.split("_")
    words = [fault.word, *("_".join(parts[:k]) for k in range(len(parts) - 1, 0, -1))]
    return next((place for word in words if word and (place := sources.place_of(word))), None)


def _stand_ins(module: SharedObject, sources: Sources) -> Iterator[RuleHit]:
    """Functions that carry the name of one of CUDA's or of the C library's."""
    for name in filter(is_taken, module.functions):
        yield RuleHit(
            rule="exported_symbol",
            message=f"the module defines {name[:100]}, which is a function of CUDA's or of the C library's",
            place=sources.place_of(name),
            evidence=f"symbol {name[:200]}",
        )


def _libraries(module: SharedObject) -> Iterator[RuleHit]:
    for name in module.needed:
        if not _LIBRARIES.fullmatch(name):
            yield RuleHit(
                rule="foreign_library",
                message=f"the module is linked to {name[:100]}, which it may not use",
                evidence=f"needed {name[:200]}",
            )


def _constructors(module: SharedObject, sources: Sources) -> Iterator[RuleHit]:
    """Functions that the loader calls, other than those that initialise static objects."""
    for address in module.constructors:
        names = module.functions_at(address)
        if any(_COMPILERS_CONSTRUCTORS.fullmatch(name) for name in names):
            continue
        name = names[0] if names else "a function without a name"
        plain = "::".join(qualified_name(name)) or name
        yield RuleHit(
            rule="constructor",
            message=f"{plain[:200]} runs when the module is loaded",
            place=sources.place_of(plain.rpartition("::")[2]) if names else None,
            evidence=f"constructor {name[:200]}",
        )
    if module.has_other_constructors:
        yield RuleHit(
            rule="constructor", message="code runs before the module's own constructors", evidence=".preinit_array"
        )


def _kernels(module: SharedObject, sources: Sources) -> Iterator[RuleHit]:
    """Kernels of libraries that headers brought along, and such as no recorded source has."""
    words: set[str] | None = None
    for kernel in registered_kernels(module):
        name = qualified_name(kernel)
        if not name or name[-1] in _HARMLESS_KERNELS:
            continue
        if name[0] in _LIBRARY_NAMESPACES:
            yield RuleHit(
                rule="library_kernel",
                message=f"{'::'.join(name)[:200]} is a library's kernel",
                place=sources.place_of(name[0]),
                evidence=f"kernel {kernel[:300]}",
            )
            continue
        words = sources.words() if words is None else words
        if name[-1] not in words and "##" not in words:
            yield RuleHit(
                rule="foreign_kernel",
                message=f"the kernel {'::'.join(name)[:200]} is in none of the recorded sources",
                evidence=f"kernel {kernel[:300]}",
            )


def registered_kernels(module: SharedObject) -> tuple[str, ...]:
    """Mangled names under which a module registers its kernels with CUDA's run time; none on the simulator.

    The names stand as text beside the code that registers them, and each is a function of the module as well: the
    stub that launches it.
    """
    if not any(section.name.startswith(".nv_fatbin") for section in module.sections):
        return ()
    own = {qualified_name(symbol.name) for symbol in module.all_symbols if symbol.defined and symbol.is_function}
    found: Iterable[bytes] = _MANGLED_TEXT.findall(module.section(".rodata"))
    names = {text.decode("ascii", "replace") for text in found}
    return tuple(sorted(name for name in names if qualified_name(name) in own))
