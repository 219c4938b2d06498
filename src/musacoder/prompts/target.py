"""What answers are written for. The two languages differ in names alone, and all of them stand here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mooreeval.config import Policy

Api = Literal["CUDA", "MUSA"]


@dataclass(frozen=True)
class Target:
    """A language, and how answers in it are judged.

    `device`: the GPU's name where it is known; `emulated`: judged without one.
    """

    api: Api = "CUDA"
    device: str | None = None
    emulated: bool = False
    policy: Policy = "native"

    @property
    def language(self) -> str:
        return f"{self.api} C++"

    @property
    def hardware(self) -> str:
        """What it runs on, in words."""
        return self.device or {"CUDA": "NVIDIA GPUs", "MUSA": "Moore Threads GPUs"}[self.api]

    @property
    def import_line(self) -> str:
        module = {"CUDA": "torch.utils.cpp_extension", "MUSA": "torch_musa.utils.musa_extension"}[self.api]
        return f"from {module} import load_inline"

    @property
    def sources_argument(self) -> str:
        return f"{self.api.lower()}_sources"

    @property
    def flags_argument(self) -> str:
        return f"extra_{self.api.lower()}_cflags"

    @property
    def flags(self) -> str:
        """As Python source. mcc is told the architecture: torch_musa adds none."""
        return {"CUDA": '["-O3"]', "MUSA": '["-O3", "--offload-arch=mp_31"]'}[self.api]

    @property
    def libraries(self) -> str:
        """Which others might compute in a kernel's place."""
        return {
            "CUDA": "cuBLAS, cuDNN, CUB, Thrust or CUTLASS",
            "MUSA": "muBLAS, muDNN, CUB, Thrust or MUTLASS",
        }[self.api]


def target_of(
    backend: str, *, device: str | None = None, policy: Policy = "native", evidence: str | None = None
) -> Target:
    """The target of a backend by its name; `evidence`: as in a verdict, where it is known."""
    emulated = evidence == "emulation" or backend in ("simulator", "musa-shim")
    return Target("MUSA" if backend.startswith("musa") else "CUDA", None if emulated else device, emulated, policy)
