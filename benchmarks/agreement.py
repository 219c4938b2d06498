"""Does the simulator agree with a GPU? Three phases, because the GPU may be on another machine.

    python benchmarks/agreement.py candidates --out runs/agreement --seed 1 [--data KernelBenchLeaderboard/docs/assets]
    python benchmarks/agreement.py judge --in runs/agreement --backend simulator --workers 2 [--minutes 8]
    python benchmarks/agreement.py judge --in runs/agreement --backend cuda --workers 16 [--minutes 8]
    python benchmarks/agreement.py report --in runs/agreement > runs/agreement/report.md

`candidates` writes tasks, candidates and manifest.jsonl into a folder that is all the other phases need: the gallery;
public answers, drawn by the seed from those to tasks that are cheap to judge; and typed mutants of the gallery's right
candidates and of those answers (musacoder.data.mutations). `judge` appends a line to BACKEND.jsonl as a run starts and
one as it ends; what has a verdict is skipped, so an interrupted phase goes on. Candidates are not timed.

The rule of what counts, decided before anything was judged:

- A candidate is **wrong** if the GPU's verdict is not `correct`.
- It is wrong too, whatever the GPU says, if it holds a defect that a GPU may run without a trace: a race, an access out
  of bounds, a read of what nobody wrote, a barrier that not all threads reach. That it holds one is known from
  the gallery's `expected.toml`, written by reasoning; from a mutation rule whose docstring argues that the defect is
  real wherever the rule applies, in a base that the GPU calls correct; or, for four public answers, from reading them
  (`READ`, told in docs/results/leaderboard.md before this comparison was made).
- Every other candidate that the GPU calls correct is **right**: also a mutant of values that changes nothing at the
  task's sizes, and a public answer that the simulator alone accuses.
- **Sensitivity** is the share of wrong ones that the simulator rejects; **specificity** the share of right ones that it
  calls correct. `unsupported` and what either backend did not judge are in neither; they are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agreement_report import report
from leaderboard import answers

from mooreeval import gallery
from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.errors import MooreError
from mooreeval.task import load_task
from mooreeval.verify import LocalVerifier
from musacoder.data.mutations import NOTHING, SILENT, Mutant, mutants

Row = dict[str, Any]

# Tasks whose reference is small and quick at its own sizes; chosen by their inputs, not by what came of their answers.
CHEAP = {
    "1": (1, 2, 3, 16, 17, *range(19, 33), 38, 39, 41, 47, 48, 49, 51, 52, 53, 88, 89, 91, 93, 95, 96, 97, 98),
    "2": (9, 14, 29, 40, 56, 59, 68, 70, 76, 81, 84, 86, 95, 97, 98, 99),
}
# What these answers hold was found out by reading them; see the table in docs/results/leaderboard.md.
READ = {"4cb6c06f": "race", "8a41bb81": "race", "90e820a7": "race", "fc7b0633": "out_of_bounds"}
NOT_RIGHT = Path(__file__).parent.parent / "docs" / "results" / "leaderboard.md"  # lists them, and why
ANSWERS = 40
ANSWERS_OF_ONE_TASK = 2
MUTANTS_OF_ONE_BASE = 9
# Mutants for each rule, of the gallery's candidates and of public answers.
QUOTA = {"silent": (4, 3), "other": (2, 1), "nothing": (3, 3)}


# ----------------------------------------------------------------------------------------------------------- candidates
def write_candidates(out: Path, seed: int, data: Path | None) -> list[Row]:
    """The manifest, with every file that it names."""
    chance = random.Random(seed)
    originals = [*_gallery_rows(), *(_answer_rows(data, chance) if data else [])]
    rows = originals + _mutant_rows(originals, chance)
    for folder in ("tasks", "candidates"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for row in rows:
        row["task_file"], row["candidate_file"] = f"tasks/{row['task']}.py", f"candidates/{row['id']}.py"
        (out / row["task_file"]).write_text(row.pop("task_code"), encoding="utf-8")
        (out / row["candidate_file"]).write_text(row.pop("code"), encoding="utf-8")
    (out / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


def _gallery_rows() -> list[Row]:
    rows = []
    for entry in gallery.load():
        expected = entry.expected
        planted = [kind.value for kind in expected.kinds] or [expected.status.value]
        rows.append({
            "id": f"{entry.task_name}-{entry.candidate_name}", "task": entry.task_name, "source": "gallery",
            "planted": NOTHING if expected.status == "correct" else planted[0], "shown": planted[0] in SILENT,
            "is_base": expected.status == "correct", "task_code": entry.task_path.read_text(encoding="utf-8"),
            "code": entry.candidate_path.read_text(encoding="utf-8"),
        })  # fmt: skip
    return rows


def _answer_rows(data: Path, chance: random.Random) -> list[Row]:
    """Public answers to cheap tasks, a few of each task, with their CUDA in their own file."""
    pool = [row for row in answers(data) if int(row["name"].split("_")[0]) in CHEAP.get(row["level"], ())]
    chance.shuffle(pool)
    taken: Counter[str] = Counter()
    rows: list[Row] = []
    listed = set(re.findall(r"`([0-9a-f]{8})`", NOT_RIGHT.read_text(encoding="utf-8")))
    for answer in pool:
        code, task = Path(answer["answer"]).read_text(encoding="utf-8"), Path(answer["task"])
        if len(rows) < ANSWERS and taken[task.stem] < ANSWERS_OF_ONE_TASK and "load_inline" in code:
            taken[task.stem] += 1
            name = Path(answer["answer"]).stem[:8]
            rows.append({
                "id": f"{task.stem}-{name}", "task": task.stem, "source": "answer",
                "planted": READ.get(name, "unknown"), "shown": name in READ, "is_base": name not in listed,
                "task_code": task.read_text(encoding="utf-8"), "code": code,
            })  # fmt: skip
    return rows


def _mutant_rows(originals: list[Row], chance: random.Random) -> list[Row]:
    """For each rule its quota, from as many bases as can be."""
    rows: list[Row] = []
    used: Counter[str] = Counter()
    for which, source in enumerate(("gallery", "answer")):
        pool: dict[str, list[tuple[Row, Mutant]]] = {}
        for base in originals:
            for mutant in mutants(base["code"]) if base["is_base"] and base["source"] == source else ():
                pool.setdefault(mutant.rule.name, []).append((base, mutant))
        for name in sorted(pool, key=lambda name: len(pool[name])):  # rare ones first, while their bases are free
            chance.shuffle(pool[name])
            here: Counter[str] = Counter()
            for _ in range(_quota(pool[name][0][1])[which]):
                free = [pair for pair in pool[name] if used[pair[0]["id"]] < MUTANTS_OF_ONE_BASE]
                if not free:
                    break
                base, mutant = min(free, key=lambda pair: (here[pair[0]["id"]], used[pair[0]["id"]]))
                pool[name].remove((base, mutant))
                here[base["id"]] += 1
                used[base["id"]] += 1
                rows.append(_mutant_row(base, mutant))
    return rows


def _quota(mutant: Mutant) -> tuple[int, int]:
    planted = mutant.rule.planted
    return QUOTA["silent" if planted in SILENT else "nothing" if planted == NOTHING else "other"]


def _mutant_row(base: Row, mutant: Mutant) -> Row:
    return {
        "id": f"{base['id']}-{mutant.rule.name}-{mutant.line}-{mutant.code_hash[:4]}", "task": base["task"],
        "source": "mutant", "base": base["id"], "mutation": mutant.rule.name, "planted": mutant.rule.planted,
        "shown": mutant.rule.shown, "is_base": False, "line": mutant.line, "was": mutant.was, "now": mutant.now,
        "task_code": base["task_code"], "code": mutant.code,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- judge
class Log:
    """One line as a run starts and one as it ends, written at once."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()

    def add(self, row: Row) -> None:
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def judged(self, again: Iterable[str] = ()) -> set[str]:
        """Whose last verdict is none of these."""
        last = {row["id"]: row["status"] for row in read_lines(self.path) if "status" in row}
        return {name for name, status in last.items() if status not in {"not_judged", *again}}


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def judge(
    folder: Path,
    rows: list[Row],
    log: Log,
    settings: list[str],
    workers: int,
    minutes: float,
    again: Iterable[str] = (),
) -> None:
    """Verdicts on what has none yet, or one of these; after so many minutes no new one is begun."""
    done, end = log.judged(again), time.monotonic() + 60 * minutes
    todo = [row for row in rows if row["id"] not in done]
    count = iter(range(1, len(todo) + 1))
    with LocalVerifier(load_config(settings=settings)) as verifier:

        def one(row: Row) -> None:
            if time.monotonic() > end:
                return
            log.add({"id": row["id"], "started": round(time.time(), 1)})
            result = _verdict(verifier, folder, row)
            log.add(result)
            head = f"[{next(count)}/{len(todo)}] {result['status']:<13} {result['seconds']:6.1f} s"
            print(f"{head}  {row['id']}: {result['reason'][:120]}", flush=True)

        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(one, todo):
                pass
    left = {row["id"] for row in rows} - log.judged()
    print(f"{len(rows) - len(left)} of {len(rows)} judged", flush=True)


def _verdict(verifier: LocalVerifier, folder: Path, row: Row) -> Row:
    start = time.monotonic()
    try:
        task, candidate = load_task(folder / row["task_file"]), load_candidate(folder / row["candidate_file"])
        verdict = verifier.verify(task, candidate)
    except MooreError as error:
        reason = f"{type(error).__name__}: {error}"
        return {"id": row["id"], "status": "not_judged", "reason": reason, "seconds": time.monotonic() - start}
    return {
        "id": row["id"], "status": verdict.status.value, "reason": verdict.reason, "q": verdict.q,
        "findings": sorted({finding.kind.value for finding in verdict.findings if finding.severity == "error"}),
        "unsupported_feature": verdict.unsupported_feature, "seconds": round(time.monotonic() - start, 2),
        "candidate_hash": verdict.candidate_hash, "config_hash": verdict.config_hash, "seed": verdict.seed,
        "device": verdict.device, "versions": verdict.versions,
        "warnings": list(verdict.warnings), "reduced": len(verdict.reductions),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    phases = parser.add_subparsers(dest="phase", required=True)
    making = phases.add_parser("candidates")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--data", type=Path, help="a leaderboard's docs/assets; without it the gallery alone")
    judging = phases.add_parser("judge")
    judging.add_argument("--in", dest="folder", type=Path, required=True)
    judging.add_argument("--backend", choices=("simulator", "cuda"), required=True)
    judging.add_argument("--out", type=Path, help="default: BACKEND.jsonl in that folder")
    judging.add_argument("--workers", type=int, default=2)
    judging.add_argument("--minutes", type=float, default=1e6, help="begin no verdict after so many minutes")
    judging.add_argument("--only", default="", help="only ids that contain this")
    judging.add_argument("--again", action="append", default=[], metavar="STATUS", help="judge those once more")
    judging.add_argument("--set", action="append", default=[], metavar="a.b=c")
    reporting = phases.add_parser("report")
    reporting.add_argument("--in", dest="folder", type=Path, required=True)
    args = parser.parse_args()
    if args.phase == "candidates":
        rows = write_candidates(args.out, args.seed, args.data)
        print(f"{len(rows)} candidates:", dict(Counter(row["source"] for row in rows)))
        print("planted:", dict(Counter(row["planted"] for row in rows)))
        return
    manifest = read_lines(args.folder / "manifest.jsonl")
    if args.phase == "judge":
        chosen = [row for row in manifest if args.only in row["id"]]
        settings = [f"backend={args.backend}", "timing.enabled=false", *args.set]
        log = Log(args.out or args.folder / f"{args.backend}.jsonl")
        judge(args.folder, chosen, log, settings, args.workers, args.minutes, args.again)
    else:
        print(report(manifest, *(read_lines(args.folder / f"{name}.jsonl") for name in ("simulator", "cuda"))))


if __name__ == "__main__":
    main()
