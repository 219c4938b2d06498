"""What is stored of training data: a program, and a row to train on. Content-hashed and frozen. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from mooreeval.hashing import content_hash
from mooreeval.verdict import Record
from musacoder.data.graph import Graph

SCHEMA_VERSION = 1


class Split(StrEnum):
    """Which part of our data a task belongs to; only `train` is ever trained on."""

    TRAIN = "train"
    UNSEEN_OP = "unseen_op"  # with an operator that no training task has
    UNSEEN_COMBO = "unseen_combo"  # one to five operators, no adjacent pair of which a training task has
    LONG_CHAIN = "long_chain"  # more operators than any training task has


class RowKind(StrEnum):
    """The six classes of the paper's SFT mixture."""

    GENERATION = "kernel_generation"
    REVIEWER = "reviewer"
    PROFILING = "profiling_analysis"
    QUESTION = "question_answering"
    OPTIMISE = "optimisation_rewrite"
    REPAIR = "multi_turn_repair"


class Program(Record):
    """A task and one answer to it, as files that the judge reads.

    `status` is None until something judged it; `judged_by` then says what did, such as "trusted batch" or the
    backend of a verdict.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    task_code: str  # the KernelBench format
    candidate_code: str  # a whole file: load_inline and ModelNew
    family: str  # of the graph's operator that decides the kernel's form
    operators: tuple[str, ...] = ()
    split: Split = Split.TRAIN
    source: str  # "author", "teacher:NAME", "policy:NAME", ...
    licence: str
    seed: int | None = None  # the author writes the same program again from it
    style: Mapping[str, str | int | bool] = {}  # the author's choices: tiling, vector width, block size, ...
    graph: Graph | None = None
    status: str | None = None
    judged_by: str | None = None

    @property
    def task_hash(self) -> str:
        """`mooreeval.task.Task.task_hash` of the task."""
        return content_hash(self.task_code)

    @property
    def program_hash(self) -> str:
        """SHA-256 (hex) over both codes: equal programs are one, whoever wrote them."""
        return content_hash([self.task_code, self.candidate_code])


class Turn(Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Row(Record):
    """One sample to train on: the loss is on `completion` alone, everything before it is context."""

    schema_version: Literal[1] = SCHEMA_VERSION
    kind: RowKind
    prompt: tuple[Turn, ...]
    completion: tuple[Turn, ...]  # exactly one, the assistant's
    task_hash: str
    family: str
    operators: tuple[str, ...] = ()
    cluster: str | None = None  # of the answer's structure
    split: Split = Split.TRAIN
    source: str
    licence: str
    facts: Mapping[str, str | int | float | bool | None] = {}  # what the judge measured or said, by name

    @property
    def row_hash(self) -> str:
        """SHA-256 (hex) over the conversation."""
        return content_hash([[t.role, t.content] for t in (*self.prompt, *self.completion)])

    @model_validator(mode="after")
    def _is_a_sample(self) -> Self:
        """The last turn before the completion is a user's, and the completion one answer."""
        if [t.role for t in self.completion] != ["assistant"]:
            raise ValueError("completion is not one assistant's turn")
        if not self.prompt or self.prompt[-1].role != "user":
            raise ValueError("prompt does not end with a user's turn")
        return self
