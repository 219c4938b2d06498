"""The table of benchmarks/build.py: what each way costs, which tier built how much, where the ways differ."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

PLAIN = "load_inline"
Row = dict[str, Any]


def print_table(runs: list[Row]) -> None:
    for kind in ("answer", "spoilt"):
        own = [run for run in runs if run.get("kind", "answer") == kind]
        if own:
            told = len({run["hash"] for run in own})
            print(f"\n{told} different extensions, {'as they were written' if kind == 'answer' else 'spoilt'}")
            _print_costs(own)
    for way in _ways(runs):
        for line in false_failures(runs, way):
            print(line)
    for line in differences(runs):
        print(line)
    ended = Counter(f"{run['way']} {run['result']}" for run in runs if "cpu_seconds" not in run)
    for what, number in sorted(ended.items()):
        print(f"without a result: {what}: {number}")


def _ways(runs: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(run["way"] for run in sorted(runs, key=lambda run: run["way"] != PLAIN)))


def _print_costs(runs: list[Row]) -> None:
    plain = {run["hash"]: run for run in runs if run["way"] == PLAIN and "cpu_seconds" in run}
    head = f"{'way':16}{'result':15}{'number':>7}{'median':>8}{'mean':>8}{'largest':>9} CPU-s"
    print(f"{head}  plain / this, medians: of ratios, of both (number)")
    for way in _ways(runs):
        own = [run for run in runs if run["way"] == way and "cpu_seconds" in run]
        for result, number in Counter(run["result"] for run in own).most_common():
            rows = [run for run in own if run["result"] == result]
            costs = [run["cpu_seconds"] for run in rows]
            line = f"{way:16}{result:15}{number:7}{statistics.median(costs):8.1f}{statistics.mean(costs):8.1f}"
            print(f"{line}{max(costs):9.1f}        {_ratio(rows, plain) if way != PLAIN else ''}")
        tiers = Counter(run["tier"] for run in own if run.get("tier") and run["result"] == "built")
        for tier, number in tiers.most_common():
            costs = [run["cpu_seconds"] for run in own if run["tier"] == tier and run["result"] == "built"]
            share = 100 * number / sum(tiers.values())
            print(f"{way:16}  by {tier}: {number} ({share:.0f} %), median {statistics.median(costs):.1f} CPU-s")


def _ratio(rows: list[Row], plain: dict[str, Row]) -> str:
    pairs = [(plain[r["hash"]], r) for r in rows if r["hash"] in plain]
    pairs = [(p["cpu_seconds"], r["cpu_seconds"]) for p, r in pairs if p["result"] == r["result"]]
    if not pairs:
        return "-"
    of_ratios = statistics.median(theirs / max(ours, 0.01) for theirs, ours in pairs)
    theirs, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    return f"{of_ratios:.1f}, {theirs:.1f} / {ours:.1f} = {theirs / max(ours, 0.01):.1f} ({len(pairs)})"


def false_failures(runs: Iterable[Row], way: str) -> list[str]:
    """By tier: how often it was tried, and how often it failed where a fuller one built, with each such case."""
    own = [run for run in runs if run["way"] == way and run.get("attempts")]
    lines = []
    for tier in dict.fromkeys(attempt[0] for run in own for attempt in run["attempts"]):
        tried = [(run, outcome) for run in own for name, outcome, _ in run["attempts"] if name == tier]
        failed = [(run, outcome) for run, outcome in tried if outcome.startswith(("failed", "crashed"))]
        wrongly = [(run, outcome) for run, outcome in failed if run["result"] == "built"]
        head = f"{way}: {tier} was tried on {len(tried)}, failed on {len(failed)}"
        lines.append(f"{head}, on {len(wrongly)} of them although a fuller tier builds")
        lines += [f"  {run['candidate']}: {outcome}" for run, outcome in wrongly]
    return lines


def differences(runs: list[Row]) -> list[str]:
    """Where a way's word is not that of load_inline, or of another set of tiers."""
    lines = []
    judged = [run for run in runs if "cpu_seconds" in run]
    for run in judged:
        for other in judged:
            if other["hash"] == run["hash"] and other["result"] != run["result"] and _first(other, run):
                words = str((other if other["result"] != "built" else run).get("error", "")).strip()[-300:]
                what = f"{other['way']} {other['result']}, {run['way']} {run['result']}"
                lines.append(f"differs: {run['kind']} {run['candidate']}: {what}: {words}")
    return lines


def _first(other: Row, run: Row) -> bool:
    """Each pair once, load_inline first."""
    return (other["way"] != PLAIN, other["way"]) < (run["way"] != PLAIN, run["way"])
