"""How many admitted tasks the modules of folders of Python files give, and why the others give none.

    python benchmarks/expansion.py OUT FOLDER... [--graphs N] [--variants] [--licence timm=Apache-2.0]
        [--configurations N] [--no-unit-tests]

Resumable: the same call goes on where an earlier one stopped. `--table` only prints what OUT holds so far.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from musacoder.data.expand.records import MEANINGS, ExpandConfig
from musacoder.data.expand.run import ExpansionSummary, expand_tasks, summary


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--licence", action="append", default=[])
    parser.add_argument("--configurations", type=int, default=4, help="tasks of one class at most")
    parser.add_argument("--no-unit-tests", action="store_true", help="derive no sets of inputs")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if not arguments.table:
        config = ExpandConfig(
            folders=tuple(arguments.folders),
            licences=dict(pair.split("=", 1) for pair in arguments.licence),
            graphs=arguments.graphs,
            variants=arguments.variants,
            configurations=arguments.configurations,
            unit_tests=not arguments.no_unit_tests,
        )
        start = time.monotonic()
        expand_tasks(
            config, arguments.out, lambda line: print(f"{time.monotonic() - start:6.0f} s  {line}", flush=True)
        )
    print_table(summary(arguments.out))


def print_table(found: ExpansionSummary) -> None:
    """As docs/results/expand.md has it."""
    origins = ", ".join(f"{count} {origin}" for origin, count in sorted(found.by_origin.items()))
    print(f"\n{found.jobs} classes, graphs and rows looked at; {found.tasks} tasks written", file=sys.stdout)
    print(f"{found.admitted} admitted ({origins}) of {found.classes} classes, graphs and rows; ", end="")
    print(f"{found.weak} weak, {found.refused} refused, {found.not_judged} not judged\n")
    print("| reason | how many | meaning | example |\n|---|---|---|---|")
    for row in found.dropped:
        print(
            f"| `{row.reason.value}` | {row.count} | {MEANINGS[row.reason]} | {row.example.replace('|', '/')[:110]} |"
        )


if __name__ == "__main__":
    main()
