"""How a bench run ended, as a table on a terminal and as plain data. `musacoder report` says more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mooreeval.feedback import plain
from mooreeval.render import STYLES, print_whole
from mooreeval.verdict import Mismatch, Status, Trial
from musacoder.runlog import Judged, RunFolder, Sample

if TYPE_CHECKING:
    from musacoder.evaluate import Estimate, Metrics, Rates

# Of a verdict, what no figure of a run is made of: a long run need not fit into memory.
_LEFT_OUT: dict[str, Any] = {
    "config": {}, "launches": (), "operators": (), "kernels": (), "shapes": (), "warnings": (),
    "output_tail": None, "exception": None, "profile": None,
}  # fmt: skip
_WARNING_CHARACTERS = 200
_STYLES = {status.value: style for status, style in STYLES.items()}


def metrics_of(run: RunFolder, families: dict[str, str]) -> Metrics:
    """The metrics of what is recorded; `families`: of operators, by task."""
    from musacoder.evaluate import evaluate

    return evaluate(run.manifest, _light_samples(run.samples()), _light_verdicts(run.verdicts()), families=families)


def print_metrics(console: Console, metrics: Metrics) -> None:
    """What became of the answers, in the turn that is each one's best, and the rates."""
    _print_head(console, metrics)
    for table in (_outcomes(metrics), _rates(metrics)):
        console.print()
        print_whole(console, table)
    console.print()
    for line in _notes(metrics):
        console.print(Text(line, "dim"), soft_wrap=True)


def _light_samples(samples: Iterable[Sample]) -> Iterator[Sample]:
    light = {"messages": (), "reasoning": None, "tokens": None}
    return (s.model_copy(update={**light, "answer": s.answer and "-"}) for s in samples)


def _light_verdicts(verdicts: Iterable[Judged]) -> Iterator[Judged]:
    for judged in verdicts:
        verdict = judged.verdict
        if verdict is not None:
            verdict = verdict.model_copy(update={**_LEFT_OUT, "trials": tuple(_light_trials(verdict.trials))})
        yield judged.model_copy(update={"verdict": verdict, "feedback": None})


def _light_trials(trials: Iterable[Trial]) -> Iterator[Trial]:
    """One for each kind of mismatch, with no more than the kind: causes are made of these."""
    for kind in dict.fromkeys(t.mismatch.kind for t in trials if t.mismatch):
        yield Trial(index=0, seed=0, passed=False, mismatch=Mismatch(output="", kind=kind, message=""))


def _print_head(console: Console, metrics: Metrics) -> None:
    turns = f", up to {metrics.turns} turns" if metrics.turns > 1 else ""
    parts = (
        f"{metrics.model} on {metrics.suite}",
        f"{_of(metrics.coverage.tasks, 'task')}, {_of(metrics.samples, 'answer')} each{turns}",
        f"backend {metrics.backend}",
        f"policy {metrics.policy}",
        f"protocol {metrics.protocol}",
    )
    console.print(Text(" · ".join(parts), "bold"), soft_wrap=True)


def _outcomes(metrics: Metrics) -> Table:
    table = _table("turn", "answers")
    turns: dict[int, dict[str, int]] = {}
    for counted in metrics.outcomes:
        turns.setdefault(counted.turn, {})[counted.outcome] = counted.count
    seen = [o for o in _order() if any(o in row for row in turns.values())]
    for outcome in seen:
        table.add_column(Text(outcome.replace("_", " "), _STYLES.get(outcome, "yellow")), justify="right")
    for turn, row in sorted(turns.items()):
        table.add_row(str(turn), str(sum(row.values())), *(str(row.get(o, 0)) for o in seen))
    return table


def _order() -> list[str]:
    from musacoder.evaluate.outcomes import Outcome

    best_first = [Status.CORRECT.value]
    return [*best_first, *(o.value for o in Outcome if o.value not in best_first)]


def _rates(metrics: Metrics) -> Table:
    """A column for each level and one for all: rates with their 95 % intervals."""
    groups = [*metrics.levels, metrics.overall] if len(metrics.levels) > 1 else [metrics.overall]
    table = _table("", *("all" if group is metrics.overall else f"level {group.name}" for group in groups))
    table.add_row("tasks", *(str(group.best.tasks) for group in groups))
    views = ("best",) if metrics.turns == 1 else ("first", "best")
    for view in views:
        ending = "" if metrics.turns == 1 else f", {view} turn"
        columns = [dict(_figures(getattr(group, view), metrics)) for group in groups]
        for name in columns[-1]:
            table.add_row(f"{name}{ending}", *(column.get(name, "-") for column in columns))
    return table


def _figures(rates: Rates, metrics: Metrics) -> Iterator[tuple[str, str]]:
    yield "answers scored", str(rates.scored)
    for passed in metrics.overall.best.pass_at:
        yield f"Pass@{passed.k}", _share(rates.passed(passed.k))
    yield f"Avg@{metrics.samples}", _share(rates.avg)
    yield "score", "-" if rates.score is None else f"{rates.score.value:.2f}"
    for faster in rates.faster:
        yield f"faster than {faster.baseline}", _share(faster.rate)


def _share(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.value:.1f} %"
    return f"{100 * estimate.value:.1f} % ({100 * estimate.low:.0f}-{100 * estimate.high:.0f})"


def _notes(metrics: Metrics) -> Iterator[str]:
    if metrics.evidence == "emulation":
        yield "judged by emulation: it refutes, and says nothing about speed"
    unscored = [f"{c.count} {c.name.replace('_', ' ')}" for c in metrics.coverage.unscored]
    if unscored:
        yield f"in no rate: {', '.join(unscored)}"
    for warned in metrics.warnings:
        yield f"{_of(warned.count, 'answer')}: {plain(' '.join(warned.name.split()), _WARNING_CHARACTERS)}"
    for failed in metrics.failures:
        example = plain(" ".join(failed.example.split()), _WARNING_CHARACTERS)
        yield f"{failed.name.replace('_', ' ')} {failed.count}{example and f', e.g. {example}'}"
    for what, names in (("weak", metrics.coverage.weak_tasks), ("refused", metrics.coverage.refused_tasks)):
        if names:
            yield f"tasks that can't tell right from wrong ({what}): {', '.join(names)}"


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, no_wrap=True, justify="left" if number == 0 else "right")
    return table
