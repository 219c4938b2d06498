"""The toolchain seam: `build(recording, target) -> Artefact | BuildFailure`. No device is needed to build."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from mooreeval.hashing import content_hash
from mooreeval.verdict import Diagnostic, Finding


@dataclass(frozen=True)
class Source:
    """One recorded source string. `name` is what diagnostics call it: "cpp_sources[0]", "cuda_sources[1]", "k.cu"."""

    name: str
    language: Literal["cpp", "cuda"]
    text: str


@dataclass(frozen=True)
class Extension:
    """One `load_inline` or `load` call of a candidate, as strings."""

    name: str
    sources: tuple[Source, ...]
    functions: tuple[tuple[str, str], ...] | None  # (name, docstring); None: the sources bind themselves
    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    with_cuda: bool = True
    headers: tuple[Source, ...] = ()  # of a `load`: files that its sources include by "name", by that name
    implicit_headers: bool = True  # load_inline puts torch's and CUDA's headers first unless told not to

    def to_json(self) -> dict[str, Any]:
        """All of it, as `answers.ExtensionClaim` reads it."""
        return {
            "name": self.name,
            "sources": [[s.name, s.language, s.text] for s in self.sources],
            "headers": [[s.name, s.language, s.text] for s in self.headers],
            "functions": None if self.functions is None else [list(f) for f in self.functions],
            "cflags": list(self.cflags),
            "cuda_cflags": list(self.cuda_cflags),
            "ldflags": list(self.ldflags),
            "with_cuda": self.with_cuda,
            "implicit_headers": self.implicit_headers,
        }

    def content_hash(self) -> str:
        """What the run child must ask for again; equal calls share an artefact."""
        return content_hash(
            {
                "name": self.name,
                "sources": [[s.name, s.language, s.text] for s in (*self.sources, *self.headers)],
                "headers": len(self.headers),
                "functions": None if self.functions is None else [list(f) for f in self.functions],
                "flags": [list(self.cflags), list(self.cuda_cflags), list(self.ldflags), self.with_cuda],
                "implicit_headers": self.implicit_headers,
            }
        )


@dataclass(frozen=True)
class Recording:
    """Everything a candidate asked to have compiled, in the order of the calls; duplicates dropped."""

    extensions: tuple[Extension, ...] = ()


@dataclass(frozen=True)
class Artefact:
    """One built extension, addressed by content."""

    extension_hash: str
    module_name: str  # name of the Python extension module inside `path`
    path: Path  # the shared object
    seconds: float = 0.0  # CPU seconds the build took; 0.0 when it came from the cache
    warnings: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()  # the compiler's warnings
    tier: str = ""  # which of a toolchain's ways to build made it; "" where there is one way alone
    waited_seconds: float = field(default=0.0, compare=False)  # wall seconds that it waited for others to build


@dataclass(frozen=True)
class BuildFailure:
    """Why an extension has no artefact. `compile_error` is the candidate's, `unsupported` is ours."""

    kind: Literal["compile_error", "unsupported", "illegal", "timeout"]
    reason: str  # one line; begins with the place of the first diagnostic where it has one
    feature: str | None = None  # for `unsupported`
    rule: str | None = None  # for `illegal`
    diagnostics: tuple[Diagnostic, ...] = field(default=())
    log_tail: str = ""  # end of the compiler's output, bounded
    tier: str = ""  # which of a toolchain's ways to build said so
    seconds: float = field(default=0.0, compare=False)  # CPU seconds until it was known; 0.0: it was in the cache
    waited_seconds: float = field(default=0.0, compare=False)  # wall seconds that it waited for others to build


class Toolchain(Protocol):
    """From recorded strings to artefacts, and from addresses in them back to lines."""

    facts: Any  # of a real device: `toolchains.cuda_probe.DeviceFacts`

    def build(self, extension: Extension, deadline_seconds: float) -> Artefact | BuildFailure: ...

    def still_has(self, artefacts: Sequence[Artefact]) -> bool:
        """Are they, and what they load, as they were built? Others share the cache, and may clear it."""
        ...

    def close(self) -> None:
        """End every compiler that runs, and all waiting for one."""
        ...

    def device_options(self) -> dict[str, Any]:
        """What a child needs to open this backend's device."""
        ...

    def recorder_options(self) -> dict[str, Any]:
        """What the recorder needs to open the simulated device, which stands in for any other."""
        ...

    def shown_to_children(self) -> list[str]:
        """Files and folders that a child reads when it opens the device or loads an artefact."""
        ...

    def device_turn(self, *, shared: bool) -> AbstractContextManager[None]:
        """Held while the device is used, alone or beside a few others; whoever else wants it waits."""
        ...

    def findings(
        self, report: dict[str, Any], artefacts: list[Artefact], candidate_text: str, recording: Recording
    ) -> list[Finding]: ...
