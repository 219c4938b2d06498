"""The benchmarks are scripts beside one another and no package: their folder is where they are imported from."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
