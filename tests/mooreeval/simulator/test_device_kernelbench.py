"""KernelBench's references on the simulated device; needs its files under .data/kernelbench."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import simulated_device

HERE = Path(__file__).parent
KERNELBENCH = HERE.parents[2] / ".data" / "kernelbench" / "KernelBench"


@pytest.mark.slow
@pytest.mark.skipif(not KERNELBENCH.is_dir(), reason="KernelBench's files are not here")
def test_references_have_the_bits_of_the_cpu(runtime_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELBENCH", str(KERNELBENCH))
    monkeypatch.setenv("KERNELBENCH_STEP", os.environ.get("KERNELBENCH_STEP", "7"))
    outcomes = simulated_device.run_cases(HERE / "device_kernelbench.py", runtime_library)
    assert len(outcomes) > 10
    assert {name: error for name, error in outcomes.items() if error} == {}
