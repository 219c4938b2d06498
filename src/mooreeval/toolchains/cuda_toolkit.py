"""Where nvcc, CUDA's headers, g++ and a CUDA build of PyTorch are, and with which flags PyTorch calls them.

Nothing here imports torch: its folder is found by name, its version and its flags are read from its sources, so that
the flags are those of the release that is installed.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from mooreeval.backends import find_nvcc, is_build_with_cuda
from mooreeval.errors import NotJudged
from mooreeval.toolchains.simulator_parts import compiler_version, find_compiler, find_torch, torch_version_file

_NEEDED_HEADERS = ("cuda_runtime.h", "cusparse.h", "cublas_v2.h")  # ATen/cuda/CUDAContext.h includes the last two


class Toolkit:
    """The programs and folders of one installation.

    `torch_dir`: PyTorch's folder (default: the one this Python would import). `arch`: compute capability, such as
    "9.0" or "9.0a". Raises NotJudged with one line where something is missing.
    """

    def __init__(self, torch_dir: Path | None = None, arch: str = "9.0"):
        if not re.fullmatch(r"\d+\.\d[af]?", arch):
            raise NotJudged(f"not a compute capability: {arch!r} (such as 9.0)")
        self.arch = arch
        self.torch = (torch_dir or find_torch()).absolute()
        self.torch_version = _torch_version(self.torch)
        self.nvcc = _find_nvcc()
        self.compiler = find_compiler()
        self.root = _root(self.nvcc)
        self.cuda_includes = _cuda_includes(self.root, self.torch)
        self.python_include = Path(sysconfig.get_paths()["include"])
        if not (self.python_include / "Python.h").is_file():
            raise NotJudged(f"no Python.h in {self.python_include}: install Python's development files (python3-dev)")

    @functools.cached_property
    def versions(self) -> dict[str, str]:
        """What every key depends on beside sources and flags."""
        return {
            "nvcc": _first_line_with(_said([self.nvcc, "--version"]), "release"),
            "compiler": compiler_version(self.compiler),
            "torch": self.torch_version,
            "python": sys.version.split()[0],
            "arch": self.arch,
            "folders": " ".join(map(str, (self.torch, self.root, *self.cuda_includes, self.python_include))),
        }

    @property
    def folders(self) -> list[Path]:
        """All that a compiler reads beside its sources and the system's own."""
        programs = [Path(program).resolve().parent for program in (self.nvcc, self.compiler)]
        return [*programs, self.root, self.torch, *self.cuda_includes, self.python_include]

    @property
    def torch_includes(self) -> list[Path]:
        return [self.torch / "include", self.torch / "include/torch/csrc/api/include"]

    @functools.cached_property
    def standard(self) -> str:
        """The C++ standard that this PyTorch asks for, such as "c++20"."""
        found = re.search(r"'-std=(c\+\+\d+)'", self._extension_builder)
        return found[1] if found else "c++20"

    @functools.cached_property
    def common_flags(self) -> list[str]:
        """Definitions that PyTorch gives to both compilers, and one that leaves out NVTX, with which CUB's headers load
        libraries."""
        flags = ["-DTORCH_API_INCLUDE_EXTENSION_H", "-DNVTX_DISABLE"]
        if "_GLIBCXX_USE_CXX11_ABI=" in self._extension_builder:
            flags.append("-D_GLIBCXX_USE_CXX11_ABI=1")  # every wheel since 2.7 has the new ABI
        return flags

    @functools.cached_property
    def nvcc_flags(self) -> list[str]:
        """PyTorch's own list for nvcc."""
        found = re.search(r"^COMMON_NVCC_FLAGS = (\[.*?\])", self._extension_builder, re.MULTILINE | re.DOTALL)
        if not found:
            raise NotJudged(f"this PyTorch ({self.torch_version}) builds extensions in a way that we do not know")
        return ast.literal_eval(found[1])

    def target_flag(self, specific: bool) -> str:
        """The architecture as PyTorch writes it. `specific`: with what this very architecture has and its successors
        have not (sm_90a)."""
        number = self.arch.replace(".", "") + ("a" if specific and self.arch[-1].isdigit() else "")
        return f"-gencode=arch=compute_{number},code=sm_{number}"

    @functools.cached_property
    def _extension_builder(self) -> str:
        try:
            return (self.torch / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
        except OSError as error:
            raise NotJudged(f"no torch/utils/cpp_extension.py in {self.torch}") from error

    @functools.cached_property
    def library_folders(self) -> list[Path]:
        """Where libraries are looked for: the toolkit's, and what came with PyTorch's wheels."""
        own = [self.root / "lib64", self.root / "lib", self.root / "lib64/stubs", self.root / "lib/stubs"]
        return [folder for folder in (*own, *self.torch.parent.glob("nvidia/*/lib")) if folder.is_dir()]

    @functools.cached_property
    def link_flags(self) -> list[str]:
        """As PyTorch links an extension that uses CUDA."""
        folder = "lib" if not (self.root / "lib64").is_dir() and (self.root / "lib").is_dir() else "lib64"
        names = ("c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch", "torch_python")
        runtime = self.library("cudart") or ["-lcudart"]
        return [f"-L{self.torch / 'lib'}", *(f"-l{n}" for n in names), f"-L{self.root / folder}", *runtime]

    def library(self, name: str) -> list[str] | None:
        """Flags that link `-lNAME`; None where no such library is installed. Wheels hold libx.so.13, but no libx.so."""
        for folder in self.library_folders:
            if (folder / f"lib{name}.so").exists():
                return [f"-L{folder}", f"-l{name}"]
            if versioned := sorted(folder.glob(f"lib{name}.so.*")):
                return [f"-L{folder}", f"-l:{versioned[0].name}"]
        return None


def _find_nvcc() -> str:
    if found := find_nvcc():
        return found
    raise NotJudged("no nvcc on PATH, in $CUDA_HOME or in /usr/local/cuda: install CUDA's toolkit")


def _root(nvcc: str) -> Path:
    """The toolkit's folder; nvcc itself is asked, for what is on PATH may be a script."""
    found = re.search(r"^#\$ TOP=(.+)$", _said([nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null"]), re.MULTILINE)
    root = Path(found[1].strip()).resolve() if found else Path(nvcc).resolve().parent.parent
    if not root.is_dir():
        raise NotJudged(f"{nvcc} does not say where its toolkit is")
    return root


def _cuda_includes(root: Path, torch: Path) -> list[Path]:
    """The toolkit's headers, and those of PyTorch's wheels for what a bare toolkit lacks."""
    folders = [root / "include", *sorted(torch.parent.glob("nvidia/*/include"))]
    chosen: list[Path] = []
    for header in _NEEDED_HEADERS:
        folder = next((f for f in folders if (f / header).is_file()), None)
        if folder is None:
            raise NotJudged(f"no {header} in {folders[0]} or in PyTorch's wheels: install CUDA's headers")
        if folder not in chosen:
            chosen.append(folder)
    return chosen


def _torch_version(torch: Path) -> str:
    text = torch_version_file(torch)
    version = re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)
    if not version:
        raise NotJudged(f"{torch / 'version.py'} does not tell PyTorch's version")
    if not is_build_with_cuda(text):
        raise NotJudged(f"PyTorch {version[1]} is a build without CUDA: install one with it")
    return version[1]


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotJudged(f"{command[0]} cannot be run: {error}") from error
    return done.stdout + done.stderr


def _first_line_with(text: str, word: str) -> str:
    return next((line for line in text.splitlines() if word in line), text.strip())[:200]
