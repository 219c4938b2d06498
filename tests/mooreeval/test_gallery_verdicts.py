"""Every candidate of the gallery is judged as the gallery says, which is what `musacoder demo` shows."""

from collections.abc import Mapping

import pytest
from support.selection import selected

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.gallery import GalleryEntry, load
from mooreeval.task import load_task
from mooreeval.verify import LocalVerifier, Outcome
from musacoder.demo import surprise

WORKERS = 2
pytestmark = pytest.mark.slow


def _name(entry: GalleryEntry) -> str:
    return f"{entry.task_name}-{entry.candidate_name}"


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Outcome]:
    """The outcomes of all entries that this run selects, judged by one verifier."""
    entries = selected(request, "entry")
    pairs = [(load_task(entry.task_path), load_candidate(entry.candidate_path)) for entry in entries]
    with LocalVerifier(load_config(settings=["backend=simulator"])) as verifier:
        judged = verifier.verify_many(pairs, WORKERS)
    return {_name(entry): outcome for entry, outcome in zip(entries, judged, strict=True)}


@pytest.mark.parametrize("entry", load(), ids=_name)
def test_the_verdict_is_the_expected_one(outcomes: Mapping[str, Outcome], entry: GalleryEntry) -> None:
    outcome = outcomes[_name(entry)]
    assert outcome.verdict is not None, outcome.error
    assert surprise(outcome.verdict, entry.expected) == "", outcome.verdict.reason
