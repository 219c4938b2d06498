"""What legality costs a verdict on the simulator, in CPU seconds: with all its layers, and with one or all left out.

    python benchmarks/legality_cost.py [--rounds 6] [--only TASK/CANDIDATE ...] [--out FILE.json]

Right candidates of the gallery, whose verdict is the same with and without; builds are cached. Each round judges every
candidate once in each way, and the order of the ways alternates from round to round, so that what else the machine does
falls on all of them. Told are the median of each way, and the median difference from `none` within a round. Operators
are watched in every way: that is in the candidate's process and was measured apart.

    all       as it is
    source    without reading the source (a child that parses it)
    module    without looking at the built modules
    held      without the pass in which the candidate's kernels are held
    none      without any of them
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from simulator_rate import Named, chosen, seconds_of
from verdict_cost import descendants

from mooreeval import gallery
from mooreeval.config import load_config
from mooreeval.execute import judge
from mooreeval.execute.lawful import Legality
from mooreeval.execute.running import Run
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier

LAYERS = ("source", "module", "held")
WAYS = ("all", *LAYERS, "none")


def main() -> None:
    args = _arguments()
    right = {f"{e.task_name}/{e.candidate_name}" for e in gallery.load() if e.expected.status is Status.CORRECT}
    args.data = None
    pairs = [pair for pair in chosen(args) if pair[0] in right][: args.candidates]
    rows = list(_rounds(pairs, args.rounds))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))
    print(_table(rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--candidates", type=int, default=8, help="so many of the gallery's right ones")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _rounds(pairs: list[Named], rounds: int) -> Iterator[dict[str, Any]]:
    """One row for each round and candidate: CPU seconds by way."""
    with LocalVerifier(load_config(settings=["backend=simulator", "simulator.audit_share=0"])) as verifier:
        for _name, task, candidate in pairs:
            verifier.verify(task, candidate)
        time.sleep(6)  # the launcher imports more when it has nothing to do
        for number in range(rounds):
            ways = WAYS if number % 2 else tuple(reversed(WAYS))
            for pair in pairs:
                spent = {way: _seconds(verifier, pair, way) for way in ways}
                print(pair[0], spent, file=sys.stderr, flush=True)
                yield {"round": number, "name": pair[0], **spent}


def _spent(verifier: LocalVerifier) -> float:
    """CPU seconds of the judge, the launcher and everything below them until now."""
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    launcher = verifier._launcher._process.pid
    below = sum(sum(seconds_of(pid)) for pid in descendants(launcher))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime + below


def _seconds(verifier: LocalVerifier, pair: Named, way: str) -> float:
    """CPU seconds of one verdict."""
    with _without(LAYERS if way == "none" else () if way == "all" else (way,)):
        before = _spent(verifier)
        verdict = verifier.verify(pair[1], pair[2])
        assert verdict.status is Status.CORRECT, verdict.reason
        return round(_spent(verifier) - before, 3)


@contextlib.contextmanager
def _without(layers: tuple[str, ...]) -> Iterator[None]:
    """Leave layers out of the verdicts within."""
    nothing: Callable[..., None] = lambda *_args, **_named: None  # noqa: E731
    replaced = {
        "source": (judge, "read_source", lambda *_args: []),
        "module": (Legality, "of_modules", nothing),
        "held": (Run, "_held", nothing),
    }
    with contextlib.ExitStack() as stack:
        for layer in layers:
            if layer in replaced:
                where, name, instead = replaced[layer]
                stack.enter_context(mock.patch.object(where, name, instead))
        yield


def _table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'way':<10}{'median CPU-s':>14}{'more than none':>16}"]
    for way in WAYS:
        more = statistics.median(row[way] - row["none"] for row in rows)
        lines.append(f"{way:<10}{statistics.median(row[way] for row in rows):>14.3f}{more:>16.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
