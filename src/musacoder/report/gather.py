"""What a report is made of: the runs, read once, and all that is computed of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.source_text import normalise
from musacoder.evaluate import Comparison, Metrics, Run, compare, evaluate, evidences, family_of
from musacoder.evaluate.rates import Bootstrap
from musacoder.runlog import MessageTold, RunFolder, Sample

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_ALL_PAIRS = 3  # more runs are each compared with the first only


@dataclass(frozen=True)
class ReadRun:
    """One run folder in memory, without its prompts."""

    label: str  # unique among the runs of a report
    path: Path
    run: Run
    sources: dict[str, str] = field(default_factory=dict)  # code of tasks, by name, where a prompt has it whole


@dataclass(frozen=True)
class Part:
    """The metrics of one run by one kind of evidence: what may stand in one table with others of that evidence."""

    label: str
    metrics: Metrics


@dataclass(frozen=True)
class Findings:
    """All runs of a report and what follows from them."""

    runs: tuple[ReadRun, ...]
    parts: tuple[Part, ...]
    comparisons: tuple[Comparison, ...]
    not_compared: tuple[str, ...]  # one line for each pair of runs that may not be

    def by_evidence(self) -> Iterator[tuple[str, list[Part]]]:
        """Parts that may share a table."""
        for evidence in dict.fromkeys(part.metrics.evidence for part in self.parts):
            yield evidence, [part for part in self.parts if part.metrics.evidence == evidence]


def gather(paths: Sequence[Path], draw: Bootstrap) -> Findings:
    """Read runs and compute everything.

    Raises UsageError, one line: a folder without a run, a damaged one, or one that a newer version wrote.
    """
    runs = [_read(label, path) for label, path in zip(_labels(paths), paths, strict=True)]
    parts = [part for run in runs for part in _parts(run, draw)]
    comparisons, refused = _comparisons(runs, draw)
    return Findings(tuple(runs), tuple(parts), tuple(comparisons), tuple(refused))


def task_source(messages: Iterable[MessageTold], task_hash: str) -> str | None:
    """The code of a task as its prompt shows it; None where no fence holds exactly the code of that hash."""
    texts = (normalise(m.content) for m in messages if m.role == "user")
    blocks = (match[2] for text in texts for match in _FENCE.finditer(text))
    forms = (form for block in blocks for form in (block, block.rstrip("\n"), block.strip("\n") + "\n"))
    return next((form for form in forms if content_hash(form) == task_hash), None)


def _labels(paths: Sequence[Path]) -> list[str]:
    """The folders' names, or their paths where names are not enough."""
    names = [path.resolve().name for path in paths]
    resolved = [path.resolve() for path in paths]
    if len(set(resolved)) < len(resolved):
        raise UsageError("a run is named twice")
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _read(label: str, path: Path) -> ReadRun:
    folder = RunFolder.open(path)
    hashes = {task.name: task.hash for task in folder.manifest.tasks}
    sources: dict[str, str] = {}
    samples = []
    for sample in folder.samples():
        samples.append(sample.model_copy(update={"messages": (), "tokens": None}))
        if sample.task in hashes and sample.task not in sources and sample.turn == 1:
            _remember(sample, hashes[sample.task], sources)
    manifest = folder.manifest.model_copy(update={"name": label})
    return ReadRun(label, path, Run(manifest, samples, list(folder.verdicts())), sources)


def _remember(sample: Sample, task_hash: str, sources: dict[str, str]) -> None:
    code = task_source(sample.messages, task_hash)
    if code is not None:
        sources[sample.task] = code


def _parts(read: ReadRun, draw: Bootstrap) -> Iterator[Part]:
    run = read.run
    families = {name: family_of(code) for name, code in read.sources.items()}
    kinds = evidences(run.manifest, run.verdicts)
    for kind in kinds:
        label = read.label if len(kinds) == 1 else f"{read.label} ({kind})"
        metrics = evaluate(run.manifest, run.samples, run.verdicts, families=families, evidence=kind, draw=draw)
        yield Part(label, metrics)


def _comparisons(runs: Sequence[ReadRun], draw: Bootstrap) -> tuple[list[Comparison], list[str]]:
    pairs = combinations(runs, 2) if len(runs) <= _ALL_PAIRS else ((runs[0], other) for other in runs[1:])
    found, refused = [], []
    for one, other in pairs:
        try:
            found.append(compare(one.run, other.run, draw=draw))
        except UsageError as error:
            refused.append(str(error))
    return found, refused
