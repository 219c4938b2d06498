"""From rows to what is trained on: verified, apart from every test, each idea once.

    rows ─> verified ─> splits apart ─> no leak of a benchmark ─> no near-duplicate ─> Curated, with a count of reasons

Nothing is dropped without a reason that is counted, and every leak is named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from mooreeval.candidate import Candidate
from mooreeval.config import Count
from mooreeval.extract import extract
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record
from musacoder.data import author, splits
from musacoder.data.decontaminate import Contamination, Leak, references, signature_of
from musacoder.data.records import Program, Row, RowKind, Split
from musacoder.data.structure import Structure, similarity, structure_of

_CODE = (RowKind.GENERATION, RowKind.OPTIMISE)  # classes whose answers are compared with one another
_MOST_COMPARED = 64  # answers of a group that a new one is compared with


class CurationConfig(Record):
    """What may not be in the data, and what counts as the same."""

    references: tuple[str, ...] = Field(
        ("gallery", "bundled"), description="Suites whose tasks are kept out; a folder such as KernelBench's too."
    )
    test_sets: bool = Field(True, description="Whether tasks that compute what the fixed test sets' do are kept out.")
    copies: Count = Field(1, description="Rows of a class whose answers have one identifier-free syntax.")
    similar: Annotated[float, Field(gt=0, le=1)] = Field(
        0.97, description="Answers to the same operators that are so alike are one; 1: only equal ones are."
    )


@dataclass(frozen=True)
class FoundLeak:
    """A task of the data, and the benchmark's that it gives away."""

    task_hash: str
    rows: int  # that were dropped for it
    leak: Leak


@dataclass
class Curated:
    """What is left, and why the rest is not."""

    rows: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)  # by reason
    leaks: list[FoundLeak] = field(default_factory=list)
    references: int = 0  # tasks that were looked for

    @property
    def splits(self) -> dict[Split, list[Row]]:
        """The rows of each split that has any."""
        found: dict[Split, list[Row]] = defaultdict(list)
        for row in self.rows:
            found[row.split].append(row)
        return dict(found)


def curate(rows: Iterable[Row], programs: Sequence[Program], config: CurationConfig) -> Curated:
    """The rows that may be trained on. Raises UsageError where a suite to keep out can't be read.

    `programs` are those that the rows are about: their tasks are what leaks are looked for in.
    """
    found = references(config.references)
    curated = Curated(references=len(found))
    by_hash = {p.program_hash: p for p in programs}
    kept = list(_each_once(_verified(rows, by_hash, curated), curated))
    kept = _apart(kept, programs, _tested(programs, config), curated)
    kept = _clean(kept, by_hash, Contamination(found), curated)
    curated.rows = _distinct(kept, by_hash, config, curated)
    return curated


def _each_once(rows: Iterable[Row], curated: Curated) -> Iterator[Row]:
    seen: set[str] = set()
    for row in rows:
        if row.row_hash in seen:
            curated.dropped["the same row twice"] += 1
        else:
            seen.add(row.row_hash)
            yield row


def _verified(rows: Iterable[Row], programs: Mapping[str, Program], curated: Curated) -> list[Row]:
    kept = []
    for row in rows:
        if not row.facts.get("verified_by"):
            curated.dropped["its answer is not verified"] += 1
        elif row.facts.get("program") not in programs:
            curated.dropped["its program is not among the programs"] += 1
        else:
            kept.append(row)
    return kept


@dataclass(frozen=True)
class _Tested:
    """What no training row may be about: tasks by hash, and by what they compute."""

    hashes: frozenset[str]
    keys: frozenset[str]


def _tested(programs: Sequence[Program], config: CurationConfig) -> _Tested:
    """The test splits' tasks among the programs, and the fixed test sets.

    What a graph computes its split says; only tasks without one are held against the test sets' own.
    """
    tested = [p.task_code for p in programs if p.split is not Split.TRAIN]
    if config.test_sets and any(p.split is Split.TRAIN and p.graph is None for p in programs):
        tested += [p.task_code for split in Split if split is not Split.TRAIN for p in author.test_set(split)]
    hashes = frozenset(map(content_hash, tested)) | (splits.test_tasks() if config.test_sets else frozenset())
    return _Tested(hashes, frozenset(key for code in tested if (key := _key(code))))


def _apart(rows: Sequence[Row], programs: Sequence[Program], tested: _Tested, curated: Curated) -> list[Row]:
    """No training row is about a task of a test split, nor about one that computes the same."""
    training = {p.task_hash: p for p in programs if p.split is Split.TRAIN}
    wrong = {h for h, p in training.items() if p.graph is not None and splits.split_of(p.graph) is not Split.TRAIN}
    keys = {h: _key(p.task_code) for h, p in training.items()} if tested.keys else {}
    kept = []
    for row in rows:
        is_training = row.split is Split.TRAIN
        if is_training and (row.task_hash in tested.hashes or keys.get(row.task_hash) in tested.keys):
            curated.dropped["its task is one of a test split"] += 1
        elif is_training and row.task_hash in wrong:
            curated.dropped["its graph is none to train on"] += 1
        else:
            kept.append(row)
    return kept


def _key(code: str) -> str | None:
    """What a task computes; None for single operators, which every split may hold at other sizes."""
    signature = signature_of(code)
    return signature.key if signature and signature.operators > 1 else None


def _clean(
    rows: Sequence[Row], programs: Mapping[str, Program], contamination: Contamination, curated: Curated
) -> list[Row]:
    """Without tasks that are a reference's, and without rows in whose text one stands."""
    codes = {row.task_hash: programs[str(row.facts["program"])].task_code for row in rows}
    leaks = {task_hash: contamination.of_task(code) for task_hash, code in codes.items()}
    counts = Counter(row.task_hash for row in rows)
    curated.leaks += [FoundLeak(h, counts[h], leak) for h, found in leaks.items() for leak in found]
    kept = []
    for row in rows:
        by = {leak.by for leak in leaks[row.task_hash]}
        text = [] if by else _leaks_of_text(row, contamination)
        curated.leaks += [FoundLeak(row.task_hash, 1, leak) for leak in text]
        if by or text:
            curated.dropped[f"a benchmark's task, by {', '.join(sorted(by)) or 'n-gram in its text'}"] += 1
        else:
            kept.append(row)
    return kept


def _leaks_of_text(row: Row, contamination: Contamination) -> list[Leak]:
    """Leaks in what is neither the task nor made of it: a teacher's words, or a policy's."""
    if row.source in ("author", "mutation", "computed"):
        return []
    return [leak for turn in row.completion for leak in contamination.of_text(turn.content)]


def _distinct(
    rows: Sequence[Row], programs: Mapping[str, Program], config: CurationConfig, curated: Curated
) -> list[Row]:
    """Each answer's structure at most so often; rows get the cluster of their answer."""
    structures = _Structures()
    equal: Counter[tuple[str, ...]] = Counter()
    groups: dict[tuple[object, ...], list[Structure]] = defaultdict(list)
    kept = []
    for row in rows:
        structure = structures.of(_answered(row, programs))
        key = (row.split, row.kind, structure.normalised, *_what_was_asked(row))
        group = groups[row.split, row.kind, row.operators]
        if equal[key] >= config.copies:
            curated.dropped["its answer differs from another's in names, values or layout alone"] += 1
        elif row.kind in _CODE and _is_like_one(structure, group, config):
            curated.dropped["its answer is nearly another's"] += 1
        else:
            equal[key] += 1
            group.append(structure)
            kept.append(row.model_copy(update={"cluster": structure.cluster_key}))
    return kept


def _is_like_one(structure: Structure, group: Sequence[Structure], config: CurationConfig) -> bool:
    if config.similar >= 1:
        return False
    others = (other for other in group[-_MOST_COMPARED:] if other.normalised != structure.normalised)
    return any(similarity(structure, other) >= config.similar for other in others)


def _what_was_asked(row: Row) -> tuple[str, ...]:
    """What makes rows with the same answer different all the same: the fault, the question, the kernel measured."""
    if row.kind in _CODE:
        return ()
    return (str(row.facts.get("mutation", row.row_hash)), str(row.facts.get("turns")))


def _answered(row: Row, programs: Mapping[str, Program]) -> str:
    """The code that a row ends with; the program's where the answer is words."""
    found = extract(row.completion[0].content)
    return found.code if isinstance(found, Candidate) else programs[str(row.facts["program"])].candidate_code


class _Structures:
    """Structures by code, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Structure] = {}

    def of(self, code: str) -> Structure:
        if code not in self._known:
            self._known[code] = structure_of(code)
        return self._known[code]
