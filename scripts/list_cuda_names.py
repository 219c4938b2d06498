"""Lists the names and headers of CUDA and PyTorch for `mooreeval.toolchains.cuda_names`.

    python scripts/list_cuda_names.py --cuda DIR [DIR...] --torch DIR [DIR...]

DIR are include folders of CUDA toolkits and of installed PyTorch builds; the lists are their union. The simulator needs
them to tell a misspelt name, which no compiler knows, from one of CUDA's that it does not model. Functions carry the
numbers of arguments that their declarations take.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

OUT = Path(__file__).parents[1] / "src" / "mooreeval" / "toolchains" / "data"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_DECLARED = re.compile(r"[\w*&>]\s+\**&?\s*([A-Za-z_]\w*)\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_NOT_A_TYPE = frozenset("return else case throw new delete goto typedef using sizeof defined elif if".split())
_TORCH_FOLDERS = ("ATen", "c10", "torch", "caffe2", "pybind11", "THC")
# What belongs to the toolkits' own tools, and folders of which no candidate includes a single file.
_LEFT_OUT = re.compile(
    r"^(?:cccl|cub|thrust|nv|cuda)/|^(?:Openacc|Openmp|cupti|nvml|nvperf|generated_|sanitizer)|GL|VDPAU|EGL"
    r"|torch/csrc/(?:jit|distributed|lazy|profiler|onnx|api/include)/|torch/csrc/api/src|ATen/(?:hip|mps|xpu|vulkan|metal)/"
)


def headers(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".hpp", ".cuh") and p.is_file())


def matching_parenthesis(text: str, start: int) -> int | None:
    """The place of the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, min(len(text), start + 4000)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def arguments(text: str) -> tuple[int, int] | None:
    """Fewest and most arguments of a parameter list; None where it is none."""
    depth, parts = 0, [""]
    for sign in text:
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    parts = [p.strip() for p in parts]
    if parts in ([""], ["void"]):
        return 0, 0
    if "..." in text or not all(parts):
        return None
    return sum("=" not in p and "__dv" not in p and "DEFAULT" not in p for p in parts), len(parts)


def cuda_names(folders: list[Path]) -> dict[str, set[int]]:
    """Every name in the headers, with the numbers of arguments where it is declared as a function."""
    found: dict[str, set[int]] = defaultdict(set)
    for folder in folders:
        for header in headers(folder):
            if _LEFT_OUT.search(header.relative_to(folder).as_posix()):
                continue
            text = _COMMENT.sub(" ", header.read_text(encoding="utf-8", errors="replace"))
            for name in _NAME.findall(text):
                found[name].update()
            for match in _DECLARED.finditer(text):
                before = text[: match.start(1)].rstrip("*& \n\t")[-40:]
                word = re.search(r"[A-Za-z_]\w*$|[>)]$", before)
                end = matching_parenthesis(text, match.end() - 1)
                if not word or word[0] in _NOT_A_TYPE or end is None:
                    continue
                if taken := arguments(text[match.end() : end]):
                    found[match[1]].update(range(taken[0], taken[1] + 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", nargs="+", type=Path, required=True)
    parser.add_argument("--torch", nargs="+", type=Path, required=True)
    given = parser.parse_args()
    from mooreeval.toolchains.simulator_names import (
        is_cuda_function,
        is_library_header,
        is_library_name,
        is_torch_macro,
    )

    OUT.mkdir(exist_ok=True)
    names = {n: a for n, a in cuda_names(given.cuda).items() if is_cuda_function(n) and not is_library_name(n)}
    for header in (h for root in given.torch for h in headers(root) if "ATen/ops" not in h.as_posix()):
        for name in _MACRO.findall(header.read_text(encoding="utf-8", errors="replace")):
            if is_torch_macro(name) and not name.endswith(("_H", "_H_", "_HPP")):
                names.setdefault(name, set())
    rows = [" ".join([name, *map(str, sorted(names[name]))]) for name in sorted(names)]
    (OUT / "cuda_names.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = {p.relative_to(root).as_posix() for root in given.cuda for p in headers(root)}
    roots = [root / inner for root in given.torch for inner in (".", "torch/csrc/api/include")]
    found |= {p.relative_to(r).as_posix() for r in roots for folder in _TORCH_FOLDERS for p in headers(r / folder)}
    kept = sorted(path for path in found if not is_library_header(path) and not _LEFT_OUT.search(path))
    (OUT / "cuda_headers.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    print(f"{len(rows)} names, {len(kept)} headers")


if __name__ == "__main__":
    main()
