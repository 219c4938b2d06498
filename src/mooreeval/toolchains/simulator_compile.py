"""One extension through g++: compile, link, and tell what went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from mooreeval.errors import NotJudged
from mooreeval.toolchains.base import BuildFailure, Extension
from mooreeval.toolchains.build_pool import BuildClock, BuildPool
from mooreeval.toolchains.cuda_names import exists
from mooreeval.toolchains.simulator_errors import blame, failure, is_of_a_merge
from mooreeval.toolchains.simulator_messages import Message, diagnostics, parse
from mooreeval.toolchains.simulator_parts import NO_HALF_FLAGS, Parts, Prepared, candidate_flags
from mooreeval.toolchains.simulator_process import Ran
from mooreeval.toolchains.simulator_units import (
    BINDINGS,
    Headers,
    Unit,
    bindings,
    compose,
    headers_of,
    is_mergeable,
    rewritten,
)
from mooreeval.verdict import Diagnostic

_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>.+)'$", re.MULTILINE)
_PYTHON_SYMBOL = re.compile(r"_?Py[A-Z_]\w*")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_ASSEMBLER = re.compile(r"^\{standard input\}:\d+: Error: ", re.MULTILINE)
_TWICE = re.compile(r"multiple definition of [`'](?P<name>[^'\n]+)'")
# Of errors: a line of a megabyte is not shown again with each.
_BOUNDED = ("-fmax-errors=200", "-fno-diagnostics-show-caret")
# libmoore_sim.so watches these three while a kernel runs.
WRAPPED = "-Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove"


def lifts_half_flags(defines: list[str]) -> bool:
    """Whether the candidate takes back one of PyTorch's flags against half operators: then it gets them all."""
    against = {flag.removeprefix("-D") for flag in NO_HALF_FLAGS}
    return any(line.startswith("#undef ") and line.split()[1] in against for line in defines)


def with_run_path(library: Path) -> list[str]:
    """A library for the linker, which the module finds where it is now."""
    return [str(library), "-Xlinker", "-rpath", "-Xlinker", str(library.parent)]  # -Wl would split a path at its commas


class Compiler:
    """Builds one extension in a scratch folder of its own, within a deadline."""

    def __init__(self, parts: Parts, prepared: Prepared, scratch: Path, pool: BuildPool, clock: BuildClock):
        self._parts, self._prepared, self._scratch = parts, prepared, scratch
        self._pool, self._clock = pool, clock
        self.library = scratch / "module.so"
        self.cpu_seconds = 0.0
        self.warnings: tuple[Diagnostic, ...] = ()

    def build(self, extension: Extension, defines: list[str]) -> BuildFailure | None:
        """Make `library`; None when it is there.

        Sources that mean the same in one unit are tried so first. Where that fails in a way that joining them can
        cause they are compiled as PyTorch would, and with the rest of its headers where these are wanted.
        """
        self._begin(extension)
        self._half_operators = lifts_half_flags(defines)
        headers, merged = headers_of(extension), is_mergeable(extension)
        failed = self._composed(extension, merged, headers)
        more = self._more_headers(failed, headers) if isinstance(failed, list) else headers
        if more > headers:
            headers, failed = more, self._composed(extension, merged, more)
        failed = self._apart_if_need_be(extension, merged, headers, failed)
        return failure(failed, self._log, self._includes) if isinstance(failed, list) else failed

    def _begin(self, extension: Extension) -> None:
        self._texts = {s.name: s.text for s in (*extension.sources, *extension.headers)}
        self._includes = {path for text in self._texts.values() for path in _INCLUDE.findall(text)}
        self._own_folder = ["-idirafter", "."] if extension.headers else []
        self._write_headers(extension)

    def _apart_if_need_be(
        self, extension: Extension, merged: bool, headers: Headers, failed: BuildFailure | list[Message] | None
    ) -> BuildFailure | list[Message] | None:
        """The sources one by one, where they failed in a way that joining them can cause."""
        if merged and isinstance(failed, list) and is_of_a_merge(failed):
            apart = compose(extension, merged=False, headers=headers)
            if len(apart) > 1:
                return self._attempt(apart)
        return failed

    def _write_headers(self, extension: Extension) -> None:
        """The candidate's own headers, rewritten like its sources, where a quoted include finds them."""
        for number, header in enumerate(extension.headers):
            path = self._scratch / header.name
            if not path.resolve().is_relative_to(self._scratch.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(rewritten(header, f"moore_shared_header_{number}_"), encoding="utf-8", errors="replace")

    def _composed(self, extension: Extension, merged: bool, headers: Headers) -> BuildFailure | list[Message] | None:
        self._headers = headers
        if extension.functions is not None:
            self._texts[BINDINGS] = bindings(extension, headers).partition("\n")[2]
        return self._attempt(compose(extension, merged=merged, headers=headers))

    def _more_headers(self, messages: list[Message], headers: Headers) -> Headers:
        """The headers with which a failed compilation is worth another try."""
        name = blame(messages, self._includes).torch_name
        if name and self._parts.frontend_knows(name):
            return Headers.ALL_OF_TORCH
        errors = [m for m in messages if m.severity == "error"]
        binding = any("MOORE_SIM_REBIND" in m.text or "moore_sim::binding" in m.text for m in errors) or (
            errors and errors[0].place and errors[0].place.file == BINDINGS and "not declared" not in errors[0].text
        )
        return Headers.PYTHON if binding and headers is Headers.LIGHT else headers

    def _attempt(self, units: list[Unit]) -> BuildFailure | list[Message] | None:
        """None: `library` is there. Messages: g++ refused the sources."""
        objects = []
        for k, unit in enumerate(units):
            source = self._scratch / f"unit{k}.cpp"
            source.write_text(unit.text, encoding="utf-8", errors="replace")
            ran = self._run([*self._compile_flags(), *_BOUNDED, "-c", source.name, "-o", f"unit{k}.o"])
            if ran.returncode is None:
                return self._too_slow()
            if ran.returncode != 0:
                return self._refused(ran)
            objects.append(f"unit{k}.o")
        return self._link(objects)

    def _refused(self, ran: Ran) -> list[Message]:
        """What g++ has against the sources. Where it names nothing the failure may be of any kind."""
        messages = parse(ran.log, self._texts)
        if not any(m.severity == "error" for m in messages) and not _ASSEMBLER.search(ran.log):
            raise NotJudged(f"g++ failed without an error message: {ran.log.strip()[-200:]!r}")
        return messages

    def _compile_flags(self) -> list[str]:
        with_python = self._headers >= Headers.PYTHON
        special = self._half_operators or with_python
        with self._clock.stopped():
            prelude = self._parts.prelude(self._half_operators, with_python) if special else self._prepared.prelude
        return [
            *candidate_flags(self._half_operators), f"-fdebug-prefix-map={self._scratch}=.", "-include", str(prelude),
            *self._parts.include_flags, *self._own_folder,
        ]  # fmt: skip

    def _link(self, objects: list[str]) -> BuildFailure | list[Message] | None:
        ran = self._run(
            [
                "-shared", *objects, "-o", self.library.name, WRAPPED, "-Wl,-z,defs", "-Wl,--warn-unresolved-symbols",
                *self._parts.linker_flags, *self._libraries(),
            ]
        )  # fmt: skip
        if ran.returncode is None:
            return self._too_slow()
        if ran.returncode != 0:
            return _link_failure(ran)
        return self._undefined(ran)

    def _libraries(self) -> list[str]:
        runtime, binding = self._prepared.runtime_lib, self._prepared.binding_lib
        return [*self._parts.library_flags, str(runtime), *with_run_path(binding)]

    def _undefined(self, ran: Ran) -> BuildFailure | None:
        """Declared, used and never defined: PyTorch would fail to import the module."""
        missing = [name for name in _UNDEFINED.findall(ran.log) if not _PYTHON_SYMBOL.fullmatch(name)]
        if not missing:
            return None
        name = missing[0]
        reason = f"undefined symbol: {name[:300]} is declared and used, but defined nowhere"
        if exists(name.split("(")[0].split("::")[-1]) or re.match(r"(?:at|c10|torch|moore_sim)::", name):
            return BuildFailure("unsupported", reason, feature=name.split("(")[0][-100:], log_tail=ran.log[-4000:])
        return BuildFailure("compile_error", reason, log_tail=ran.log[-4000:])

    def _run(self, arguments: list[str]) -> Ran:
        ran = self._pool.run([self._parts.compiler, *arguments], self._scratch, self._clock)
        self.cpu_seconds += ran.cpu_seconds
        self._log = ran.log
        if "-Winvalid-pch" in ran.log:
            raise NotJudged("the precompiled header does not fit this compiler any more: remove it from the cache")
        if ran.returncode == 0 and "-c" in arguments:
            self.warnings += diagnostics(parse(ran.log, self._texts))[:5]
        return ran

    def _too_slow(self) -> BuildFailure:
        return BuildFailure("timeout", f"the build took longer than {self._clock.seconds:.0f} s")


def _link_failure(ran: Ran) -> BuildFailure | list[Message]:
    if not ran.log.strip():
        raise NotJudged("the linker failed without a word")
    if found := _TWICE.search(ran.log):
        reason = f"multiple definition of {found['name'][:300]}"
        return BuildFailure("compile_error", reason, log_tail=ran.log[-4000:])
    return BuildFailure("unsupported", "the linker failed", feature="linking", log_tail=ran.log[-4000:])
