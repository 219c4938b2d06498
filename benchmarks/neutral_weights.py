"""Which tasks have weights that begin as ones or zeros, and whether a trial can give them other values.

    python benchmarks/neutral_weights.py KernelBench/level1 KernelBench/level2 ... [--set a.b=c]

Runs each task's model as a verdict's extra trial does, at the simulator's sizes, in a sandboxed process. A line for
each task that has such weights, the counts at the end. Nothing is admitted and no candidate runs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from mooreeval.admit import Admitter
from mooreeval.config import load_config
from mooreeval.execute.admission_task import Refused, TaskProcess
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.task import Task, load_task


class _Asking(Admitter):
    """Admits nothing: asks for the one trial."""

    def ask(self, task: Task) -> tuple[list[str], str]:
        """The weights, and why they can't be varied, "" where they can."""
        processes = Processes(self.config, self._launcher, self._toolchain, Evidence())
        fields = {
            "name": task.task_id,
            "code": task.code,
            "candidate_text": "",
            "budget": self.config.simulator.budget(),
            "careful": False,
            "weight_seed": 1,
            "example_seed": 2,
        }
        with TaskProcess(task, self.config, processes, fields) as process:
            names = process.prepare()["neutral"]
            return names, process.ask("other", {"seed": 3, "weights": 4}).fields["silent"] if names else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", type=Path, help="files, or folders of them")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    args = parser.parse_args()
    files = [file for path in args.tasks for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    counts: Counter[str] = Counter()
    with _Asking(load_config(settings=["backend=simulator", *args.set])) as asking:
        for file in files:
            try:
                names, why_not = asking.ask(load_task(file))
            except Refused as why:
                names, why_not = ["?"], f"{why}"
            counts["with such weights" if names else "without"] += 1
            if names:
                counts["not varied" if why_not else "varied"] += 1
                print(f"{file.parent.name}/{file.stem}: {len(names)} weights; {why_not or 'varied'}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    main()
