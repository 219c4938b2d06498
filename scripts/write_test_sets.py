"""Writes the hashes of the fixed test sets. Figures from before a change of that file compare with none after it."""

from __future__ import annotations

import json
from pathlib import Path

import musacoder.data
from musacoder.data import author
from musacoder.data.records import Split

TARGET = Path(musacoder.data.__file__).parent / "test_sets.json"


def main() -> None:
    """Draws the sets anew and writes the file."""
    splits = [split for split in Split if split is not Split.TRAIN]
    found = {split.value: [program.task_hash for program in author.test_set(split)] for split in splits}
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
