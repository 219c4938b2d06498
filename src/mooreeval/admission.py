"""The admission of a task: whether it can tell right from wrong, with the evidence. Imports no torch.

`refused`: its reference can't be judged by. `weak`: there is a wrong output that it does not tell from the right one,
and the record names it. `admitted`: every impostor was told. A record is frozen, serialises to strict JSON, and names
what it needs to be reached again.
"""

from __future__ import annotations

import contextlib
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from mooreeval.cache import FileCache
from mooreeval.config import VerifyConfig
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record, Reduction, Shape, TaskAdmission

SCHEMA_VERSION = 1
ADMISSION_PROTOCOL = "admission-2"  # which checks are made, and how
RECORD = "admission.json"


class Outcome(StrEnum):
    """One word per outcome."""

    ADMITTED = "admitted"
    WEAK = "weak"
    REFUSED = "refused"


class Reason(Record):
    """Why a task is refused or weak, or what is worth knowing of it."""

    kind: str  # stable id, see docs/admission.md
    message: str  # one line


class Impostor(Record):
    """A wrong output, and under which inputs the comparison told it."""

    name: str  # "zeros", "half", "dropped", ...: see docs/admission.md
    at: str  # "output[1], dimension 0", "input[0]"
    told_by: tuple[str, ...] = ()  # "plain", or the variations of the inputs that it took
    passes: bool = False  # it was made, and nothing told it


class Variation(Record):
    """Other inputs than `get_inputs` makes, and whether the reference stays finite and informative under them."""

    name: str  # "signs", "tenth", "tenfold"
    allowed: bool
    why_not: str | None = None


class Admission(Record):
    """What was found out about one task, and everything needed to find it out again."""

    schema_version: int = SCHEMA_VERSION
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()  # change nothing
    impostors: tuple[Impostor, ...] = ()
    variations: tuple[Variation, ...] = ()
    needs: tuple[str, ...] = ()  # variations without which the task would be weak
    forward_seconds: float | None = None  # of one forward pass of the reference
    backend: str
    device: str | None = None
    reductions: tuple[Reduction, ...] = ()
    shapes: tuple[Shape, ...] = ()
    protocol: str = "ours"
    protocol_version: str = ADMISSION_PROTOCOL
    versions: dict[str, str] = Field(default_factory=dict)
    seed: str  # the run secret, hex
    task_id: str
    task_hash: str
    key: str  # what it is kept under: task, protocol, tolerance, sizes and versions
    config: dict[str, Any] = Field(default_factory=dict)
    stage_seconds: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _outcome_fits_reasons(self) -> Self:
        if (self.outcome is Outcome.ADMITTED) == bool(self.reasons):
            raise ValueError("an outcome other than admitted has reasons, and only that one has none")
        if self.schema_version > SCHEMA_VERSION:
            raise ValueError(f"schema_version {self.schema_version} is of a newer version")
        return self

    def of_a_verdict(self, *, varied: bool) -> TaskAdmission:
        """What a verdict tells of it; `varied`: candidates run on other inputs, too, where the task needs them."""
        reasons = tuple(reason.message for reason in self.reasons)
        return TaskAdmission(outcome=self.outcome.value, reasons=reasons, variations=self.needs if varied else ())

    def in_words(self) -> str:
        """The reasons in one line."""
        return "; ".join(reason.message for reason in self.reasons)


def admission_key(task_hash: str, config: VerifyConfig, device: str, versions: dict[str, str]) -> str:
    """What an admission is kept under: everything that can change it but the seed."""
    parts = [
        ADMISSION_PROTOCOL,
        SCHEMA_VERSION,
        task_hash,
        config.backend,
        device,
        config.effective_tolerance().model_dump(mode="json"),
        config.admission.model_dump(mode="json"),
        {name: versions.get(name) for name in ("torch", "platform", "musacoder")},
    ]
    if config.backend == "simulator":
        parts.append(config.simulator.model_dump(mode="json", include=_SIZES))
    return content_hash(parts)


_SIZES = {"elements", "flops", "ceiling_elements", "ceiling_flops", "ceiling_mib"}


def known_admission(cache: FileCache, key: str) -> Admission | None:
    """The admission that is kept under a key; None where there is none."""
    folder = cache.get(f"admission-{key[:40]}")
    if folder is None:
        return None
    with contextlib.suppress(OSError, ValidationError):
        return Admission.model_validate_json((folder / RECORD).read_text(encoding="utf-8"))
    return None


def keep_admission(cache: FileCache, admission: Admission) -> None:
    """Keep it, in place of an earlier one."""
    name = f"admission-{admission.key[:40]}"
    cache.drop(name)
    cache.put(name, lambda folder: _write(folder / RECORD, admission))


def _write(path: Any, admission: Admission) -> None:
    path.write_text(admission.model_dump_json(), encoding="utf-8")
