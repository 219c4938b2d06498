"""Rule ids are stable names: the page lists them all, and a verdict tells the gravest first."""

import re
from pathlib import Path

from mooreeval.legality.rules import EVERYWHERE, MAX_HITS, NATIVE_ONLY, RULES, ordered
from mooreeval.verdict import Place, RuleHit

PAGE = Path(__file__).parents[3] / "docs" / "legality.md"


def hit(rule: str, line: int) -> RuleHit:
    return RuleHit(rule=rule, message="m", place=Place(file="candidate", line=line))


def test_the_page_lists_every_rule_of_the_source_layer_with_its_meaning():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {rule: rows.get(rule) for rule in RULES} == RULES


def test_the_gravest_rule_is_first_and_what_computes_last():
    hits = [hit("torch_compute", 1), hit("file_access", 9), hit("low_precision", 2), hit("file_access", 3)]
    found = [(h.rule, h.place.line if h.place else None) for h in ordered(hits)]
    assert found == [("file_access", 3), ("file_access", 9), ("low_precision", 2), ("torch_compute", 1)]


def test_a_line_is_accused_once_by_each_rule_and_of_every_rule_some_are_kept():
    hits = [hit("torch_compute", line % 90) for line in range(300)] + [hit("library_call", 1)]
    found = ordered(hits)
    assert len(found) == MAX_HITS
    assert {h.rule for h in found} == {"torch_compute", "library_call"}


def test_no_rule_is_both_free_and_refused_under_policy_mixed():
    assert not set(EVERYWHERE) & set(NATIVE_ONLY)
