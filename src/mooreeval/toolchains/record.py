"""The recorder: what a candidate asks to have compiled, as strings.

`load_inline` and `load` of `torch.utils.cpp_extension` are replaced before the candidate's Python runs. Each call
becomes an `Extension`; what the call returns is up to the caller: a stand-in while recording, the built module while
running. Both sides read the call by the same code, so a candidate that asks for something else the second time is seen
by its hash.
"""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mooreeval.toolchains.base import Extension, Source

MAX_SOURCE_BYTES = 4 << 20
MAX_HEADERS = 64
CUDA_SUFFIXES = (".cu", ".cuh")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
IMPLICIT_CPP = "#include <torch/extension.h>"
IMPLICIT_CUDA = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>"


class Refused(Exception):
    """A call that can't be recorded; the text says why, in one line.

    `feature` is set where the call is valid and it is we who don't build such extensions.
    """

    def __init__(self, message: str, feature: str | None = None) -> None:
        super().__init__(message)
        self.feature = feature


def extension_from_load_inline(call: dict[str, Any]) -> Extension:
    """The strings of one `load_inline(**call)`; Refused with a reason."""
    cpp = _strings(call.get("cpp_sources"), "cpp_sources")
    cuda = _strings(call.get("cuda_sources"), "cuda_sources")
    if call.get("sycl_sources"):
        raise Refused("load_inline with sycl_sources is not a CUDA kernel", "SYCL sources")
    if not cpp and not cuda:
        raise Refused("load_inline was called without sources")
    flags, folders = _flags(call)
    sources = [Source(f"cpp_sources[{i}]", "cpp", text) for i, text in enumerate(cpp)]
    sources += [Source(f"cuda_sources[{i}]", "cuda", text) for i, text in enumerate(cuda)]
    return Extension(
        name=_name(call),
        sources=tuple(sources),
        functions=_functions(call.get("functions")),
        with_cuda=bool(cuda) if call.get("with_cuda") is None else bool(call["with_cuda"]),
        headers=_private_headers([(s.text, None) for s in sources], folders),
        implicit_headers=not call.get("no_implicit_headers", False),
        **flags,
    )


def extension_from_load(call: dict[str, Any]) -> Extension:
    """The strings of one `load(**call)`: its files are read now, and only from the candidate's own folders."""
    listed = call.get("sources")
    paths = [listed] if isinstance(listed, str | os.PathLike) else list(listed or ())
    if not paths:
        raise Refused("load was called without sources")
    files = [Path(os.fspath(path)) for path in paths]
    sources = tuple(_read_source(file, file.name) for file in files)
    with_cuda = any(s.language == "cuda" for s in sources)
    flags, folders = _flags(call)
    beside = [(source.text, file.parent) for source, file in zip(sources, files, strict=True)]
    return Extension(
        name=_name(call),
        sources=sources,
        functions=None,
        headers=_private_headers(beside, folders),
        with_cuda=with_cuda if call.get("with_cuda") is None else bool(call["with_cuda"]),
        implicit_headers=False,
        **flags,
    )


def _private_headers(units: Sequence[tuple[str, Path | None]], folders: Sequence[Path]) -> tuple[Source, ...]:
    """Headers that the units, or such headers, include from the candidate's own folders.

    `units`: texts, each with the folder that its quoted includes are looked for in first. `folders`: where all are
    looked for then. A header is named by its path below the one of these that it was found in.
    """
    found: dict[str, Source] = {}
    todo = [(text, folder, PurePosixPath()) for text, folder in units]
    while todo and len(found) < MAX_HEADERS:
        text, folder, below = todo.pop()
        for quoted, angled in _INCLUDE.findall(text):
            path = PurePosixPath(quoted or angled)
            places = [(folder / path, below / path)] if quoted and folder else []
            places += [(other / path, path) for other in folders]
            header, name = next((place for place in places if place[0].is_file()), (None, path))
            if header is None or str(name) in found or ".." in path.parts or path.is_absolute():
                continue
            found[str(name)] = _read_source(header, str(name))
            todo.append((found[str(name)].text, header.parent, name.parent))
    return tuple(found.values())


def _is_the_candidates(full: Path) -> bool:
    allowed = (Path.cwd().resolve(), Path(tempfile.gettempdir()).resolve())
    return any(full.is_relative_to(folder) for folder in allowed)


def _read_source(path: Path, name: str) -> Source:
    full = path.resolve()
    if not _is_the_candidates(full):
        raise Refused(f"load of {path.name}: only files that the candidate wrote itself can be compiled")
    try:
        text = full.read_text("utf-8", "replace")
    except OSError as error:
        raise Refused(f"load of {path.name}: {error.strerror or error}") from error
    _check_size(text, path.name)
    return Source(name, "cuda" if path.suffix in CUDA_SUFFIXES else "cpp", text)


def _strings(value: Any, what: str) -> list[str]:
    if value is None:
        return []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
        raise Refused(f"{what} must be a string or a list of strings")
    for item in items:
        _check_size(item, what)
    return [str(item) for item in items if item.strip()]


def _check_size(text: str, what: str) -> None:
    if len(text) > MAX_SOURCE_BYTES:
        raise Refused(f"{what} holds {len(text)} characters; at most {MAX_SOURCE_BYTES} are compiled")


def _name(call: dict[str, Any]) -> str:
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise Refused("an extension needs a name")
    return name


def _functions(value: Any) -> tuple[tuple[str, str], ...] | None:
    """(name, docstring) pairs; torch accepts a string, a list and a dict."""
    if value is None:
        return None
    if isinstance(value, str):
        return ((value, value),)
    if isinstance(value, dict):
        return tuple((str(k), str(v)) for k, v in value.items())
    if isinstance(value, Sequence) and all(isinstance(f, str) for f in value):
        return tuple((f, f) for f in value)
    raise Refused("functions must be a string, a list of strings or a dict")


def _flags(call: dict[str, Any]) -> tuple[dict[str, Any], list[Path]]:
    """Flags, and the candidate's own include folders: these are known by what is found in them, as their paths change
    from one process to the next."""
    names = {"cflags": "extra_cflags", "cuda_cflags": "extra_cuda_cflags", "ldflags": "extra_ldflags"}
    flags = {ours: _strings(call.get(theirs), theirs) for ours, theirs in names.items()}
    flags["cflags"] += [f"-I{folder}" for folder in _paths(call.get("extra_include_paths"))]
    folders: list[Path] = []
    for group in ("cflags", "cuda_cflags"):
        own = [flag for flag in flags[group] if _is_own_folder(flag)]
        folders += [Path(flag[2:]) for flag in own]
        flags[group] = [flag for flag in flags[group] if flag not in own]
    return {name: tuple(group) for name, group in flags.items()}, list(dict.fromkeys(folders))


def _paths(value: Any) -> list[str]:
    items = [value] if isinstance(value, str | os.PathLike) else value
    if isinstance(items, Iterable):
        items = [os.fspath(item) if isinstance(item, os.PathLike) else item for item in items]
    return _strings(items, "extra_include_paths")


def _is_own_folder(flag: str) -> bool:
    if not re.fullmatch(r"-I[^\s\"']+", flag):
        return False
    folder = Path(flag[2:])
    return _is_the_candidates(folder.resolve()) and folder.is_dir()


class Interceptor:
    """Replaces torch's build entry points; `answer(extension)` gives what the candidate's call returns."""

    def __init__(self, answer: Callable[[Extension], Any]) -> None:
        self._answer = answer
        self.extensions: list[Extension] = []
        self.refusals: list[Refused] = []

    def install(self) -> None:
        """Patch `torch.utils.cpp_extension` in this process, for good: a child serves one candidate."""
        import torch.utils.cpp_extension as cpp_extension

        for name, read in (("load_inline", extension_from_load_inline), ("load", extension_from_load)):
            setattr(cpp_extension, name, self._replacement(name, getattr(cpp_extension, name), read))
        for name in ("CUDA_HOME", "CUDNN_HOME"):
            if getattr(cpp_extension, name, None) is None:
                setattr(cpp_extension, name, "/usr/local/cuda")
        for name, answer in (("verify_ninja_availability", None), ("is_ninja_available", True)):
            setattr(cpp_extension, name, lambda answer=answer: answer)
        for name in ("CUDAExtension", "CppExtension", "BuildExtension"):
            setattr(cpp_extension, name, _refuse_setup(name, self.refusals))

    def _replacement(
        self, name: str, original: Callable[..., Any], read: Callable[[dict[str, Any]], Extension]
    ) -> Callable[..., Any]:
        signature = inspect.signature(original)

        def intercepted(*args: Any, **kwargs: Any) -> Any:
            call = dict(signature.bind(*args, **kwargs).arguments)
            try:
                if call.get("is_python_module") is False:
                    raise Refused("only extensions that are Python modules are built", "is_python_module=False")
                extension = read(call)
            except Refused as refusal:
                self.refusals.append(refusal)
                raise
            if extension.content_hash() not in {e.content_hash() for e in self.extensions}:
                self.extensions.append(extension)
            return self._answer(extension)

        intercepted.__name__ = name
        return intercepted


def _refuse_setup(name: str, refusals: list[Refused]) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        refusals.append(Refused(f"{name} builds through setuptools; use load_inline or load", "setuptools extensions"))
        raise refusals[-1]

    return refuse


class StandIn:
    """What `load_inline` returns while recording: any attribute is a function that computes nothing."""

    def __init__(self, extension: Extension, result: Callable[[tuple[Any, ...]], Any]) -> None:
        self.__dict__["_extension"] = extension
        self.__dict__["_result"] = result

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        result = self.__dict__["_result"]

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return result((*args, *kwargs.values()))

        return stand_in
