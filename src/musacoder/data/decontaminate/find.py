"""Leaks of reference tasks, each with what gave it away."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mooreeval.task import Task
from musacoder.data.decontaminate.names import LEAST_WORDS, names_in, words_of
from musacoder.data.decontaminate.ngrams import LEAST, model_text, runs, without_names, words
from musacoder.data.decontaminate.signature import Signature, signature_of
from musacoder.suites import SuiteConfig, load_suite

By = Literal["name", "signature", "n-gram"]

_COMMON = 3  # references that share a run of words: then it is an idiom, and no leak
_AS_IT_STANDS, _WITHOUT_NAMES = 0.5, 0.8  # share of a reference's runs that give it away


@dataclass(frozen=True)
class Reference:
    """A task that nothing may be trained on."""

    name: str  # such as "level1/19_ReLU"
    suite: str
    code: str


@dataclass(frozen=True)
class Leak:
    """A reference that was found, and how."""

    reference: str
    suite: str
    by: By
    evidence: str  # one line


@dataclass(frozen=True)
class _Known:
    reference: Reference
    words: frozenset[str]
    signature: Signature | None
    plain: frozenset[int]
    nameless: frozenset[int]


def references(sources: Iterable[str]) -> list[Reference]:
    """The tasks of suites: `gallery`, `bundled`, or a folder such as KernelBench's. Raises as `load_suite`."""
    found = []
    for source in sources:
        suite = load_suite(SuiteConfig(source=source))
        found += [_reference(source, each.task) for each in suite.tasks]
    return found


def _reference(source: str, task: Task) -> Reference:
    return Reference(task.task_id, source, task.code)


class Contamination:
    """Looks for the references in tasks and texts."""

    def __init__(self, found: Sequence[Reference]) -> None:
        made = [_known(reference) for reference in found]
        idioms = _idioms(made)
        self._known = [_Known(k.reference, k.words, k.signature, k.plain - idioms, k.nameless - idioms) for k in made]
        self._of_run: dict[int, list[int]] = defaultdict(list)
        for i, known in enumerate(self._known):
            for run in known.plain | known.nameless:
                self._of_run[run].append(i)

    def of_task(self, code: str, names: Iterable[str] = ()) -> list[Leak]:
        """References that a task is or holds; `names` are what it is called elsewhere."""
        called = {words_of(name): name for name in (*names, *names_in(code))}
        signature = signature_of(code)
        leaks = [leak for k in self._known for leak in (*_by_name(k, called), *_by_signature(k, signature))]
        return leaks + self.of_text(code)

    def of_text(self, text: str) -> list[Leak]:
        """References whose module stands in a text, whole or for the most part, under its own names or others."""
        found = words(text)
        plain, nameless = self._hits(runs(found)), self._hits(runs(without_names(found)))
        return [leak for i in sorted({*plain, *nameless}) for leak in _by_runs(self._known[i], plain[i], nameless[i])]

    def _hits(self, found: set[int]) -> Counter[int]:
        return Counter(i for run in found for i in self._of_run.get(run, ()))


def _known(reference: Reference) -> _Known:
    found = words(model_text(reference.code))
    last = reference.name.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    plain, nameless = runs(found), runs(without_names(found))
    return _Known(
        reference,
        words_of(last),
        signature_of(reference.code),
        frozenset(plain) if len(plain) >= LEAST else frozenset(),
        frozenset(nameless) if len(nameless) >= LEAST else frozenset(),
    )


def _idioms(known: Sequence[_Known]) -> frozenset[int]:
    """Runs that several references share, `def __init__(self): super().__init__()` among them."""
    of_run: dict[int, set[str]] = defaultdict(set)
    for each in known:
        for run in each.plain | each.nameless:
            of_run[run].add(each.reference.code)
    return frozenset(run for run, codes in of_run.items() if len(codes) >= _COMMON)


def _by_name(known: _Known, called: dict[frozenset[str], str]) -> Iterator[Leak]:
    if len(known.words) >= LEAST_WORDS and known.words in called:
        yield _leak(known, "name", f"it is called {called[known.words]!r}")


def _by_signature(known: _Known, signature: Signature | None) -> Iterator[Leak]:
    its = known.signature
    if its is None or signature is None or its.key != signature.key:
        return
    if its.operators > 1 or its.sizes == signature.sizes:
        yield _leak(known, "signature", f"it computes the same {its.operators} operators, wired alike")


def _by_runs(known: _Known, plain: int, nameless: int) -> Iterator[Leak]:
    for hits, runs_of_it, least, how in (
        (plain, known.plain, _AS_IT_STANDS, "as they stand"),
        (nameless, known.nameless, _WITHOUT_NAMES, "under other names"),
    ):
        if len(runs_of_it) >= LEAST and hits >= least * len(runs_of_it):
            yield _leak(known, "n-gram", f"{hits} of {len(runs_of_it)} runs of words {how}")
            return


def _leak(known: _Known, by: By, evidence: str) -> Leak:
    return Leak(known.reference.name, known.reference.suite, by, evidence)
