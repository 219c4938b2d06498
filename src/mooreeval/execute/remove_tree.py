"""Removing what hostile code could write to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder that a child could write to: of any depth, with any rights."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        script = 'chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"'
        subprocess.run(["/bin/sh", "-c", script, "sh", str(folder)], check=False, capture_output=True, timeout=120)
