"""How fast rows are made, and of which classes, from programs of the author that the judge called correct.

    python benchmarks/rows.py --programs 40 --judged 10 --mutants 3 --out runs/rows

Everything is real: the author writes, its programs are checked many at a time, the simulator judges some of them alone,
their mutants and second answers, and curation reads the bundled suites. A run that is interrupted goes on; its figures
then count only what the last part did.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter
from pathlib import Path

from mooreeval.batch import BatchVerifier
from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig, load_config
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from musacoder.data import author
from musacoder.data.asking import Asking, task_of
from musacoder.data.curate import CurationConfig, curate
from musacoder.data.dataset import write_dataset
from musacoder.data.io import append, read_programs, read_rows
from musacoder.data.judging import JudgingConfig
from musacoder.data.mixture import shares
from musacoder.data.reason import metadata, reason
from musacoder.data.records import Program
from musacoder.data.rows import FILE, RowsConfig, make_rows, programs_of_rows
from musacoder.prompts import PromptConfig
from musacoder.runlog.lines import Lines

BATCH = 16


def write_programs(path: Path, count: int, config: VerifyConfig) -> None:
    """So many programs of the author that the check of many at a time finds correct; others are named."""
    known = len(read_programs(path)) if path.is_file() else 0
    seeds = itertools.count(known)  # an earlier run's last ones may come again
    lines = Lines(path)
    with BatchVerifier(config) as verifier:
        while known < count:
            drawn = [author.write(seed) for seed in itertools.islice(seeds, min(BATCH, count - known))]
            report = verifier.check([(task_of(p), Candidate(p.candidate_code)) for p in drawn])
            for program, outcome in zip(drawn, report.outcomes, strict=True):
                if outcome.status is not Status.CORRECT:
                    print(f"seed {program.seed}: {outcome.status}: {outcome.reason}", file=sys.stderr)
                    continue
                by = {"status": outcome.status.value, "judged_by": "trusted batch"}
                known += append(lines, [program.model_copy(update=by)])
    lines.close()


def measured(arguments: argparse.Namespace) -> dict[str, object]:
    """Everything that is told, as plain data."""
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    programs_file = out / "programs.jsonl"
    config = RowsConfig(judging=JudgingConfig(programs=arguments.judged, mutants=arguments.mutants))
    prompt = PromptConfig(templates=Path("compact")) if arguments.compact else PromptConfig()
    verify = load_config(settings=["backend=simulator", "seed=5eed"])
    write_programs(programs_file, arguments.programs, verify)
    with LocalVerifier(verify) as verifier:
        report = make_rows(
            programs_file, out, Asking(prompt, describe=metadata, reason=reason), config, verifier, close=verifier.close
        )
    start = time.monotonic()
    programs: list[Program] = programs_of_rows(programs_file, out)
    curated = curate(read_rows(out / FILE), programs, CurationConfig())
    write_dataset(curated, out / "dataset", "rows", {"command": "benchmarks/rows.py"})
    return {
        "programs": len(programs),
        "rows": report.rows,
        "kinds": {kind.value: round(share, 4) for kind, share in report.kinds.items()},
        "judged": report.judging.judged,
        "statuses": dict(report.judging.statuses),
        "wrong_programs": report.judging.wrong_programs,
        "not_judged": report.judging.not_judged,
        "judging_seconds": round(report.judging_seconds, 1),
        "writing_seconds": round(report.writing_seconds, 1),
        "curated_rows": len(curated.rows),
        "curated_kinds": {kind.value: round(share, 4) for kind, share in shares(curated.rows).items()},
        "dropped": dict(curated.dropped),
        "mutations": dict(Counter(str(r.facts["kind"]) for r in curated.rows if "mutation" in r.facts)),
        "curating_seconds": round(time.monotonic() - start, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--judged", type=int, default=10)
    parser.add_argument("--mutants", type=int, default=3)
    parser.add_argument("--compact", action="store_true", help="prompts for small models")
    parser.add_argument("--out", type=Path, required=True)
    print(json.dumps(measured(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
