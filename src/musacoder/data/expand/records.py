"""What expansion reads and writes: its configuration, tasks, and why something is none. No torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from mooreeval.config import Count, Positive, Whole
from mooreeval.verdict import Record
from musacoder.suites import Texts

if TYPE_CHECKING:
    from musacoder.data.expand.sandboxed import Sandboxed

SCHEMA_VERSION = 1


class Origin(StrEnum):
    """Where a task comes from."""

    GRAPH = "nnsmith"
    VARIANT = "variant"
    MODULE = "module"


class Reason(StrEnum):
    """Why a module, a graph or a file gave no task; `MEANINGS` says it in words."""

    NOT_PYTHON = "not_python"
    NOT_SELF_CONTAINED = "not_self_contained"
    EXTERNAL_STATE = "external_state"
    TOO_LARGE = "too_large"
    HANGS = "hangs"
    ENDS_PROCESS = "ends_process"
    FAILS_TO_LOAD = "fails_to_load"
    ABSTRACT = "abstract"
    NO_ARGUMENTS = "no_arguments"
    NO_INPUTS = "no_inputs"
    RANDOMNESS = "randomness"
    UNSTABLE_CONTROL_FLOW = "unstable_control_flow"
    UNVERIFIABLE = "unverifiable"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    WEAK = "weak"


MEANINGS = {
    Reason.NOT_PYTHON: "the file is no Python that can be read",
    Reason.NOT_SELF_CONTAINED: "it needs a package other than torch, or a name that is defined nowhere",
    Reason.EXTERNAL_STATE: "it reaches for files, processes, the network, the clock or a module's changing state",
    Reason.TOO_LARGE: "what it needs of other files is longer than a task may be",
    Reason.HANGS: "it did not come to an end in time",
    Reason.ENDS_PROCESS: "it took its process with it",
    Reason.FAILS_TO_LOAD: "its code raises when it is loaded",
    Reason.ABSTRACT: "its forward is left to subclasses",
    Reason.NO_ARGUMENTS: "no arguments were found by which it can be made",
    Reason.NO_INPUTS: "no inputs were found on which it runs",
    Reason.RANDOMNESS: "its output follows a random generator",
    Reason.UNSTABLE_CONTROL_FLOW: "values of tensors or earlier calls decide what is computed",
    Reason.UNVERIFIABLE: "its output is no finite float32 tensor that follows its input",
    Reason.DUPLICATE: "it computes what an earlier task does",
    Reason.REFUSED: "admission refuses it",
    Reason.WEAK: "admission finds wrong outputs that would pass",
}


class Dropped(Record):
    """Something that gave no task, and why in one line."""

    what: str  # "timm.layers.se:SEModule", a path, a task's name
    reason: Reason
    message: str


class ExpandConfig(Record):
    """Everything that expansion can be told."""

    folders: Texts = Field((), description="Folders of Python files whose modules become tasks.")
    licences: dict[str, str] = Field(
        default_factory=dict, description="Licence of a folder's top-level packages, by name; else `unknown`."
    )
    graphs: Whole = Field(100, description="Graphs that NNSmith is asked for.")
    graph_nodes: Annotated[int, Field(ge=1, le=20)] = Field(5, description="Operators of a graph at most.")
    variants: bool = Field(True, description="Whether the tables of operator variants are written.")
    unit_tests: bool = Field(True, description="Whether sets of inputs are derived for each admitted task.")
    seed: Whole = Field(0, description="What graphs are drawn from.")
    configurations: Annotated[Count, Field(le=16)] = Field(4, description="Tasks of one module at most.")
    trial_seconds: Positive = Field(20.0, description="For a module to be loaded and tried in its child.")
    most_characters: Count = Field(24_000, description="Of a task's code.")
    workers: Annotated[Count, Field(le=64)] = Field(1, description="Tasks that are admitted at once.")


class ExpandedTask(Record):
    """A task that expansion wrote; whether it is admitted is told beside it."""

    schema_version: Literal[1] = SCHEMA_VERSION
    task_id: str  # "module/timm_SEModule_1"
    code: str  # the KernelBench format
    origin: Origin
    made_from: str  # "timm.layers.se:SEModule", "seed 17", "softmax: rows 64 x 1000"
    licence: str
    family: str  # one of `musacoder.evaluate.families.FAMILIES`
    operators: tuple[str, ...] = ()  # of a graph or a table; of a module what torch was asked for


class Explored(Record):
    """What became of one class, file or graph: the tasks that it gave, else why there are none."""

    schema_version: Literal[1] = SCHEMA_VERSION
    what: str
    tasks: tuple[ExpandedTask, ...] = ()
    dropped: Dropped | None = None
    left_out: tuple[str, ...] = ()  # statements of its file that do something when it is imported, and never ran


@dataclass(frozen=True)
class Job:
    """Something that is turned into tasks: its name, which no other job has, and how."""

    what: str
    explore: Callable[[Sandboxed], Explored]


class Proved(Record):
    """What admission said of one task."""

    schema_version: Literal[1] = SCHEMA_VERSION
    task_id: str
    task_hash: str
    outcome: Literal["admitted", "weak", "refused", "not_judged"]
    message: str = ""
    details: dict[str, Any] = Field(default_factory=dict)  # kinds of reasons, seconds of a forward pass
