"""Unpack what extensions are built against from another release of PyTorch, beside the one that is installed.

    python scripts/unpack_torch.py 2.11.0 .venv-cuda/other/2.11.0

VERSION is a release that pip finds, built with CUDA, or the path of a wheel. FOLDER receives `torch` with headers,
libraries and the module that builds extensions (1 GB); it cannot be imported. CUDA's headers that a bare toolkit lacks
are linked from the environment of `--like`, a Python with a CUDA build of PyTorch.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_KEPT = re.compile(r"torch/(?:include/.*|lib/[^/]*\.so[^/]*|version\.py|__init__\.py|utils/cpp_extension\.py)")
_FIND = "import importlib.util as u; print(next(iter(u.find_spec('torch').submodule_search_locations)))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--like", help="a Python with a CUDA build of PyTorch")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
        wheel = Path(args.version) if args.version.endswith(".whl") else download(args.version, Path(scratch))
        unpack(wheel, args.folder)
    if args.like:
        found = subprocess.run([args.like, "-c", _FIND], capture_output=True, text=True, check=True).stdout.strip()
        link = args.folder / "nvidia"
        link.unlink(missing_ok=True)
        link.symlink_to(Path(found).parent / "nvidia", target_is_directory=True)


def download(version: str, folder: Path) -> Path:
    """The wheel of exactly this version: `==` would take a build for the CPU alone, 2.13.0+cpu, for 2.13.0."""
    options = ["--disable-pip-version-check", "--no-input", "--quiet", "--no-deps", "--dest", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options, f"torch==={version}"], check=False)
    if done.returncode:
        sys.exit(f"pip does not find torch {version}")
    return next(folder.glob("torch-*.whl"))


def unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if _KEPT.fullmatch(name)])


if __name__ == "__main__":
    main()
