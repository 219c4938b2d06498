"""The tier `mini` of the simulator: the small tensor header of cuda_include/moore_mini in place of PyTorch's own.

Most of a build behind PyTorch's precompiled headers is spent on templates of theirs that no candidate names. Here the
precompiled header holds none of them, and the module links to one library that is built once. Sources are taken by the
rules of `cuda_mini`; where one of them does not compile so, nothing is said of it and PyTorch's headers decide.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains.base import BuildFailure, Extension
from mooreeval.toolchains.build_pool import BuildClock, BuildPool, CompilerCrashed
from mooreeval.toolchains.cuda_mini import INCLUDES, reason_against
from mooreeval.toolchains.cuda_slim import Index, function_names
from mooreeval.toolchains.cuda_slim_rules import plain, reason_for_full
from mooreeval.toolchains.simulator_compile import Compiler, lifts_half_flags, with_run_path
from mooreeval.toolchains.simulator_flags import Flags
from mooreeval.toolchains.simulator_parts import (
    PRELUDE_NAME,
    SIMULATOR,
    Parts,
    Prepared,
    candidate_flags,
    first_error,
    folder_hash,
)
from mooreeval.toolchains.simulator_units import Headers, headers_of, is_mergeable

LIBRARY_NAME = "libmoore_mini.so"
_NAMES = "functions.json"
_PREPARE_SECONDS = 900.0
_PRELUDES = {"mini-lean": "mini_lean.h", "mini-prelude": "mini_prelude.h"}
# What the lean one of them leaves out. A word that is missing here costs a build behind PyTorch's own headers.
_BEYOND_LEAN = re.compile(
    r"\b(?:[Hh]alf\w*|\w*half2?|BFloat16|\w*bfloat16\w*|nv_bf\w+|float16|cuda_(?:fp|bf)\w+|\w+_AND_HALF\w*|__h\w+"
    r"|string|wstring|to_string|sto[ifdlu]\w*|str|[io]?stringstream|[io]?fstream|[io]stream|iomanip|cout|cerr|clog|cin"
    r"|endl|setprecision|setw|complex|atomic|atomic_\w+|memory|(?:unique|shared|weak)_ptr|make_(?:unique|shared)"
    r"|mutex|\w+_lock|lock_guard|condition_variable|thread|chrono|locale|bitset|stdexcept|random|regex|future"
    r"|runtime_error|logic_error|invalid_argument|out_of_range|domain_error|length_error|overflow_error|system_error"
    r"|back_inserter|inserter|\w+stream_iterator|cyl_\w+|expint|riemann_zeta|sph_\w+|legendre|hermite|laguerre)\b"
)
# Before them all come the headers by PyTorch's names.
_FOLDERS = (SIMULATOR / "mini", SIMULATOR / "binding", INCLUDES, SIMULATOR / "include")


class MiniTier:
    """What the builds of this tier share, each part a folder in the cache; and which sources it takes."""

    def __init__(self, parts: Parts, cache: FileCache, pool: BuildPool) -> None:
        self._parts, self._cache, self._pool = parts, cache, pool

    def prepare(self, runtime: Path) -> dict[str, float]:
        """Make what the cache lacks; CPU seconds spent on each part (0.0: it was there)."""
        spent = dict.fromkeys(("mini-library", *_PRELUDES), 0.0)
        self.library = self._part("mini-library", LIBRARY_NAME, lambda f: self._make_library(f, runtime), spent)
        self._preludes = [
            self._part(n, PRELUDE_NAME, partial(self._make_prelude, f), spent) for n, f in _PRELUDES.items()
        ]
        self._part("mini-names", _NAMES, self._make_names, spent)
        return spent

    def is_prepared(self) -> bool:
        """Is all of it in the cache? It counts as used."""
        return all(self._cache.get(self._key(name)) for name in ("mini-library", *_PRELUDES, "mini-names"))

    def key(self) -> str:
        """What a build of this tier depends on beside its sources and flags."""
        return self._key("mini-prelude")

    def takes(self, extension: Extension, flags: Flags) -> bool:
        """Would a module that is built so mean the same as behind PyTorch's own headers?"""
        if lifts_half_flags(flags.defines) or headers_of(extension) is not Headers.LIGHT:
            return False
        defined = {line.split()[1].partition("(")[0] for line in flags.defines}
        return (
            reason_for_full(extension, defined, self._index) is None and reason_against(extension, self._index) is None
        )

    def prelude(self, texts: Iterable[str], flags: tuple[str, ...] | None = None) -> Path:
        """The precompiled header that these sources need: the lean one where they name nothing beyond it.

        One for other flags than every candidate's is made when somebody asks for it.
        """
        needs_more = any(_BEYOND_LEAN.search(plain(text)) for text in texts)
        if flags is None:
            return self._preludes[needs_more]
        name, header = list(_PRELUDES.items())[needs_more]
        key = f"{self._key(name)}-{content_hash(list(flags))[:8]}"
        return self._part(name, PRELUDE_NAME, partial(self._make_prelude, header, flags=flags), {}, key)

    @functools.cached_property
    def _index(self) -> Index:
        path = self._part("mini-names", _NAMES, self._make_names, {})
        return Index(functions={name: [] for name in json.loads(path.read_text(encoding="utf-8"))})

    @functools.cached_property
    def include_flags(self) -> list[str]:
        """Folders in which a candidate's includes are looked for; PyTorch's own are not among them."""
        return [f"-isystem{folder}" for folder in _FOLDERS]

    def _part(
        self, name: str, file: str, make: Callable[[Path], float], spent: dict[str, float], key: str | None = None
    ) -> Path:
        def write(folder: Path) -> None:
            spent[name] = make(folder)

        return self._cache.get_or_make(key or self._key(name), write) / file

    @functools.cache  # noqa: B019  one toolchain a process
    def _key(self, name: str) -> str:
        code = [Path(__file__).read_text(encoding="utf-8"), *(folder_hash(folder) for folder in _FOLDERS)]
        return f"{name}-{content_hash([name, candidate_flags(False), code, self._parts.versions])[:40]}"

    def _make_library(self, folder: Path, runtime: Path) -> float:
        ours = [f"-I{each}" for each in _FOLDERS[1:]]
        return self._run(
            [
                "-std=c++20", "-O1", "-g0", "-fPIC", "-fvisibility=hidden", "-shared", "-w",
                str(SIMULATOR / "mini" / "library.cpp"), *ours, *self._parts.torch_flags, *self._parts.library_flags,
                str(runtime), f"-Wl,-soname,{LIBRARY_NAME}", "-o", LIBRARY_NAME,
            ],
            folder,
        )  # fmt: skip

    def _make_prelude(self, header: str, folder: Path, flags: Iterable[str] | None = None) -> float:
        text = (SIMULATOR / "mini" / header).read_text(encoding="utf-8")
        (folder / PRELUDE_NAME).write_text(text, encoding="utf-8")
        torch = f"-isystem{self._parts.torch / 'include'}"  # for its number formats
        own = candidate_flags(False) if flags is None else flags
        arguments = [*own, *self.include_flags, torch, "-x", "c++-header", PRELUDE_NAME]
        return self._run([*arguments, "-o", f"{PRELUDE_NAME}.gch"], folder)

    def _make_names(self, folder: Path) -> float:
        names = sorted(function_names(self._parts.torch / "include"))
        (folder / _NAMES).write_text(json.dumps(names), encoding="utf-8")
        return 0.0

    def _run(self, arguments: list[str], folder: Path) -> float:
        ran = self._pool.run([self._parts.compiler, *arguments], folder, BuildClock(_PREPARE_SECONDS))
        if ran.returncode != 0:
            raise NotJudged(f"the simulator's tier mini did not build: {first_error(ran.log)}")
        return ran.cpu_seconds


class MiniCompiler(Compiler):
    """Builds one extension against the small tensor header."""

    def __init__(
        self, tier: MiniTier, parts: Parts, prepared: Prepared, scratch: Path, pool: BuildPool, clock: BuildClock
    ) -> None:
        super().__init__(parts, prepared, scratch, pool, clock)
        self._tier = tier

    def build(self, extension: Extension, defines: list[str]) -> BuildFailure | None:
        """Make `library`; None when it is there. A failure that is no timeout says nothing of the sources."""
        del defines
        self._begin(extension)
        self._prelude = self._tier.prelude(self._texts.values())
        try:
            merged = is_mergeable(extension)
            failed = self._composed(extension, merged, Headers.LIGHT)
            failed = self._apart_if_need_be(extension, merged, Headers.LIGHT, failed)
        except CompilerCrashed:  # another way to build may not lead it there
            return _NOT_SO
        if isinstance(failed, BuildFailure) and failed.kind == "timeout":
            return failed
        return None if failed is None else _NOT_SO

    def _compile_flags(self) -> list[str]:
        return [
            *candidate_flags(False), f"-fdebug-prefix-map={self._scratch}=.", "-include", str(self._prelude),
            *self._tier.include_flags, *self._own_folder,
        ]  # fmt: skip

    def _libraries(self) -> list[str]:
        return [str(self._prepared.runtime_lib), *with_run_path(self._tier.library)]


_NOT_SO = BuildFailure("unsupported", "the small tensor header does not hold what the sources ask for")
