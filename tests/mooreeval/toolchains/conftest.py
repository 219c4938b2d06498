"""What tests of real CUDA builds share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cuda_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: the shared parts of the toolchain `cuda` take a minute."""
    return tmp_path_factory.mktemp("cuda-cache")
