"""Judge the public KernelBench leaderboard's answers on the simulator and tell what happened to each.

    python benchmarks/leaderboard.py --data KernelBenchLeaderboard/docs/assets --out runs/leaderboard [--limit N]

The answers are not part of this repository. One JSON line an answer is appended to OUT/verdicts.jsonl at once, so an
interrupted run goes on where it stopped; `--again STATUS` judges those of one status again. The table at the end
counts status, unsupported features, wall and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.errors import MooreError
from mooreeval.task import load_task
from mooreeval.verify import LocalVerifier


def answers(data: Path) -> list[dict[str, str]]:
    """Every answer with the task it belongs to: name, model, task file, answer file."""
    rows = []
    for title, entries in json.loads((data / "data.json").read_text()).items():
        level, number = re.match(r"Level (\d+): (\d+)_", title).groups()
        for entry in entries:
            rows.append(
                {
                    "name": title.split(": ")[1],
                    "level": level,
                    "model": entry["display_name"],
                    "task": str(data / "problems" / f"l{level}_p{number}.py"),
                    "answer": str(data / "solutions" / f"{entry['file']}.py"),
                }
            )
    return [row for row in rows if Path(row["answer"]).exists()]


def judge(verifier: LocalVerifier, row: dict[str, str]) -> dict[str, object]:
    start = time.monotonic()
    try:
        verdict = verifier.verify(load_task(row["task"]), load_candidate(row["answer"]))
        result = json.loads(verdict.model_dump_json())
    except MooreError as error:
        result = {"status": "not_judged", "reason": f"{type(error).__name__}: {error}"}
    return {**row, "wall_seconds": round(time.monotonic() - start, 2), "verdict": result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--every", type=int, default=1, help="take every n-th answer")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="append", default=[], metavar="STATUS")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    log = args.out / "verdicts.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = [d for d in done if d["verdict"]["status"] not in args.again]
    log.write_text("".join(json.dumps(d) + "\n" for d in done))
    known = {d["answer"] for d in done}
    todo = [row for row in answers(args.data)[:: args.every][: args.limit] if row["answer"] not in known]
    with LocalVerifier(load_config(settings=args.set)) as verifier, ThreadPoolExecutor(args.workers) as pool:
        for number, result in enumerate(pool.map(lambda row: judge(verifier, row), todo), 1):
            with log.open("a") as file:
                file.write(json.dumps(result) + "\n")
            done.append(result)
            verdict = result["verdict"]
            head = f"[{number}/{len(todo)}] {verdict['status']:<14} {result['wall_seconds']:6.1f} s"
            who = f"L{result['level']} {result['name']} ({result['model']})"
            print(f"{head}  {who}: {verdict['reason'][:150]}", file=sys.stderr, flush=True)
    print_table(done)


def print_table(done: list[dict]) -> None:
    statuses = Counter(d["verdict"]["status"] for d in done)
    features = Counter(d["verdict"].get("unsupported_feature") for d in done if d["verdict"]["status"] == "unsupported")
    scope = sum(n for status, n in statuses.items() if status not in ("unsupported", "not_judged"))
    print(f"{len(done)} answers, {scope} in scope ({100 * scope / max(1, len(done)):.1f} %)")
    for status, count in statuses.most_common():
        print(f"  {status:<14} {count:4d}  {100 * count / len(done):5.1f} %")
    for feature, count in features.most_common():
        print(f"  unsupported: {feature} {count}")
    walls = [d["wall_seconds"] for d in done]
    cpu = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    if walls:
        spread = f"median {statistics.median(walls):.1f}, largest {max(walls):.1f}"
        print(f"wall seconds: {spread}; CPU seconds of this run {cpu:.0f}")


if __name__ == "__main__":
    main()
