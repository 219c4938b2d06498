"""Judges planted faults and says whether a verdict found what was planted. The tests and the benchmark share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from mooreeval.candidate import load_candidate
from mooreeval.config import VerifyConfig, load_config
from mooreeval.task import load_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier, Outcome

from .index import Fault

VARIANTS = ("faulty", "fixed")
Note = Callable[[Fault, str, Outcome], None]


def config(run_seconds: int = 20) -> VerifyConfig:
    """The judge's defaults, but for a deadline that does not make a deadlock take minutes."""
    return load_config(settings=[f"deadlines.run_seconds={run_seconds}"])


def judge_all(
    verifier: LocalVerifier, chosen: Iterable[Fault], workers: int, note: Note = lambda *_: None
) -> Mapping[str, Mapping[str, Outcome]]:
    """Outcomes by the key of a case, then by variant; `note` sees each as it is known."""
    variants = [(case, which) for case in chosen for which in VARIANTS]
    pairs = [(load_task(case.task), load_candidate(getattr(case, which))) for case, which in variants]
    outcomes: dict[str, dict[str, Outcome]] = defaultdict(dict)

    def keep(outcome: Outcome) -> None:
        case, which = variants[outcome.index]
        outcomes[case.key][which] = outcome
        note(case, which, outcome)

    verifier.verify_many(pairs, workers, on_outcome=keep)
    return outcomes


def found(case: Fault, verdict: Verdict | None) -> tuple[bool, bool]:
    """Whether the kind, and whether kind and line, are as planted."""
    if verdict is None or verdict.status is not case.status:
        return False, False
    if not case.kinds:
        return True, True
    # What nobody wrote is undefined, and the values decide: that finding is a warning by its nature.
    wanted = "warning" if case.status is Status.INCORRECT else "error"
    hits = [f for f in verdict.findings if f.kind in case.kinds and f.severity == wanted]
    lines = {p.line for f in hits for p in (f.place, f.other) if p is not None and p.file == "candidate"}
    return bool(hits), not case.lines or bool(lines & set(case.lines))
