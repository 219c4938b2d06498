"""From recorded sources to what g++ reads: rewritten text behind a prelude, bindings, one unit or several."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mooreeval.simulator.rewrite import Tokens, rewrite_tokens
from mooreeval.toolchains.base import Extension, Source

BINDINGS = "bindings"
# Uses of parts of PyTorch's headers that the prelude leaves out, for they double the cost of every build.
_NEEDS_ALL_OF_TORCH = re.compile(
    r"\btorch::(?:nn|optim|data|jit|serialize|save|load|python|fft|linalg|special|autograd)\b"
)


@dataclass(frozen=True)
class Unit:
    """One translation unit."""

    text: str
    all_of_torch: bool = False


def module_name(extension: Extension) -> str:
    """The extension's own name where it can be one; PyTorch would fail to import any other."""
    name = re.sub(r"\W", "_", extension.name, flags=re.ASCII) or "extension"
    return f"_{name}" if name[0].isdigit() else name


def compose(extension: Extension, defines: list[str], *, merged: bool, all_of_torch: bool = False) -> list[Unit]:
    """The units of an extension. Merged, one unit costs half of two; apart is what PyTorch itself does.

    Bindings see the C++ sources only, as with PyTorch: they come before the CUDA sources.
    """
    groups = _groups(extension)
    rewritten = [(_rewritten_group(group, k), group) for k, group in enumerate(groups)]
    everything = all_of_torch or any(_NEEDS_ALL_OF_TORCH.search(s.text) for s in extension.sources)
    head = f'#line 1 "flags"\n#define TORCH_EXTENSION_NAME {module_name(extension)}\n' + "".join(
        f"{line}\n" for line in defines
    )
    parts = [text for text, _ in rewritten]
    if extension.functions is not None:
        parts[0] += bindings(extension.functions)
    if merged:
        return [Unit(head + "".join(parts), everything)]
    return [Unit(head + part, everything) for part in parts]


def _groups(extension: Extension) -> list[list[Source]]:
    """Sources that PyTorch joins into one file: all C++ strings, all CUDA strings; files stay apart."""
    cpp = [s for s in extension.sources if s.name.startswith("cpp_sources[")]
    cuda = [s for s in extension.sources if s.name.startswith("cuda_sources[")]
    files = [[s] for s in extension.sources if s not in cpp and s not in cuda]
    groups = [cpp] if cpp or extension.functions is not None or not extension.sources else []
    return groups + ([cuda] if cuda else []) + files


def _rewritten_group(group: list[Source], number: int) -> str:
    parts = []
    for k, source in enumerate(group):
        text = source.text.replace("\0", " ").replace("\r\n", "\n")
        if source.language == "cuda":  # g++ compiles C++ sources in PyTorch too, and takes no launches
            text = rewrite_tokens(Tokens(text), prefix=f"moore_shared_{number}_{k}_")
        parts.append(f"#line 1 {_quoted(source.name)}\n{text}\n")
    return "".join(parts)


def bindings(functions: tuple[tuple[str, str], ...]) -> str:
    """What `load_inline` writes for `functions`."""
    lines = [f'#line 1 "{BINDINGS}"', "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    lines += [
        f"m.def({_quoted(name)}, torch::wrap_pybind_function({name}), {_quoted(doc)});" for name, doc in functions
    ]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    """A C++ string literal."""
    escaped = re.sub(r'[^ -~]|["\\]', lambda m: "".join(f"\\{b:03o}" for b in m[0].encode("utf-8", "replace")), text)
    return f'"{escaped}"'
