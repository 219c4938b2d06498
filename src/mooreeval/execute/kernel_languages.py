"""Kernels in other languages than CUDA C++: which one a candidate's exception speaks of."""

from __future__ import annotations

import re

# Python packages in which kernels are written, or that compile them.
PACKAGES = {
    "triton": "Triton",
    "cupy": "CuPy",
    "numba": "Numba",
    "pycuda": "PyCUDA",
    "cutlass": "CUTLASS",
    "tilelang": "TileLang",
    "tvm": "TVM",
    "taichi": "Taichi",
    "warp": "Warp",
    "helion": "Helion",
    "mojo": "Mojo",
    "pyopencl": "OpenCL",
    "cuda": "CUDA Python",
}
_NO_MODULE = re.compile(r"No module named '(\w+)(?:\.[\w.]+)?'")


def other_language(error_type: str, message: str, raised_in: str) -> str | None:
    """The language, where it isn't installed here or where its own package raised.

    Args:
        error_type: the exception's class.
        message: its text.
        raised_in: the top-level package whose code raised it; empty where that is the candidate's own.
    """
    if found := _NO_MODULE.fullmatch(message):
        return PACKAGES.get(found[1]) if error_type == "ModuleNotFoundError" else None
    return PACKAGES.get(raised_in)
