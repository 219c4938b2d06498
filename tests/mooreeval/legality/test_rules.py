"""Every rule that a verdict can name is explained to who reads it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_NAMED = re.compile(r"(?:rule=|\billegal\(\s*|\bFault\(\s*|return )\"([a-z]+(?:_[a-z]+)+)\"")


def test_every_rule_of_the_code_stands_in_the_pages_on_verdicts_and_legality():
    files = [*(ROOT / "src/mooreeval/legality").glob("*.py"), ROOT / "src/mooreeval/execute/conclude.py"]
    rules = {rule for path in files for rule in _NAMED.findall(path.read_text(encoding="utf-8"))}
    assert {"torch_compute", "cpp_torch_compute", "forbidden_symbol", "decoy_kernel", "no_kernel_launched"} <= rules
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("verdict.md", "legality.md"))
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in pages] == []
