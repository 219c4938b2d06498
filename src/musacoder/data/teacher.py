"""A teacher: any OpenAI-compatible server that writes answers or reasoning. Nothing it says is used unjudged.

    answers      a run folder, as `musacoder bench` makes it: asked, judged, resumable ─> programs of the correct ones
    reasoning    the six steps for a task and its verified answer ─> checked against the task's own tensors

What the teacher does not say, or says wrongly, is counted and named; nothing that was said is asked for twice.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from mooreeval.candidate import Candidate
from mooreeval.config import Count
from mooreeval.extract import extract
from mooreeval.feedback import plain
from mooreeval.many import as_completed
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import Record, Status
from mooreeval.verify import LocalVerifier
from musacoder.config import BenchConfig, SamplingConfig
from musacoder.conversation import Conversation
from musacoder.data.asking import Describe
from musacoder.data.io import append, read_records
from musacoder.data.records import SCHEMA_VERSION, Program
from musacoder.models import Completion, Message, Model
from musacoder.pipeline import Ledger, Pipeline
from musacoder.pipeline.outage import NoMoreAnswers, Outage, told_failure
from musacoder.pipeline.pipeline import Parts
from musacoder.prompts.templates import fence
from musacoder.runlog import RunFolder
from musacoder.runlog.lines import Lines
from musacoder.session import closing, manifest_of, opened
from musacoder.suites import SuiteTask

FILE = "reasons.jsonl"
STEPS = (
    "Semantic decomposition", "Scalar mathematics", "Shape computation", "Index mapping", "Boundary handling",
    "Error pre-analysis",
)  # fmt: skip
_STEP = re.compile(r"^[ \t#*]*([1-6])[.)]", re.MULTILINE)
_SHAPE = re.compile(r"\((\d+(?:, *\d+)*),?\)")
_NAMED = 10  # things that a report names


@dataclass
class TeacherReport:
    """What became of what was asked. `named`: one line each for the first of those that gave nothing to use."""

    asked: int = 0
    usable: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)

    def note(self, who: str, outcome: str, detail: str = "", *, usable: bool = False) -> None:
        """Count one outcome, and name it where it is of no use."""
        self.asked += 1
        self.usable += usable
        self.outcomes[outcome] += 1
        if not usable and len(self.named) < _NAMED:
            self.named.append(f"{who}: {outcome}" + (f": {plain(detail, 200)}" if detail else ""))


# ------------------------------------------------------------------------------------------------------------- answers
def write_answers(
    tasks: Sequence[SuiteTask], folder: Path, config: BenchConfig, model: Model, verifier: LocalVerifier
) -> TeacherReport:
    """Ask the teacher for what is still missing of a run in `folder`, and judge it.

    Raises UsageError where the folder holds another run. Where the teacher gives nothing any more the run stops, and
    the report says so; the same call goes on with it.
    """
    manifest = manifest_of("bench", folder, config, "tasks of the teacher", tasks, config.turns, verifier)
    with opened(folder, manifest, config) as run:
        conversation = Conversation(config.prompt, model, verifier)
        close = closing(model, verifier)
        parts = Parts(run, model, verifier, conversation, config.sampling, config.verify, config.work, close)
        stopped = ""
        try:
            Pipeline(parts, tasks, Ledger(run)).complete(config.samples, config.turns, lambda _told: None)
        except NoMoreAnswers as error:
            stopped = str(error)
    report = report_of_run(RunFolder.open(folder))
    if stopped:
        report.named.insert(0, f"stopped: {stopped}")
    return report


def report_of_run(run: RunFolder) -> TeacherReport:
    """What a run's answers came to: statuses of those that were judged, classes of failure of the others."""
    report = TeacherReport()
    judged = {j.key: j for j in run.verdicts()}
    for sample in run.samples():
        who = f"{sample.task} answer {sample.index + 1}"
        if sample.failure is not None:
            report.note(who, sample.failure.kind, sample.failure.message)
        elif sample.key not in judged or judged[sample.key].verdict is None:
            told = judged.get(sample.key)
            report.note(who, "not judged", (told.not_judged or "") if told else "")
        else:
            verdict = judged[sample.key].verdict
            assert verdict is not None
            report.note(who, verdict.status.value, verdict.reason, usable=verdict.status is Status.CORRECT)
    return report


def programs_of_run(
    run: RunFolder, tasks: Mapping[str, Program], licence: str, *, by: Literal["teacher", "policy"] = "teacher"
) -> Iterator[Program]:
    """The correct answers of a run as programs, each once.

    Args:
        tasks: by task hash, programs that say what is known of a task: its code, family, operators, split and graph.
        licence: of what the model writes.
    """
    hashes = {entry.name: entry.hash for entry in run.manifest.tasks}
    right = {j.key for j in run.verdicts() if j.verdict is not None and j.verdict.status is Status.CORRECT}
    seen: set[str] = set()
    for sample in run.samples():
        known = tasks.get(hashes.get(sample.task, ""))
        found = extract(sample.answer) if sample.answer and sample.key in right and known else None
        if known is None or not isinstance(found, Candidate):
            continue
        program = Program(
            task_code=known.task_code, candidate_code=found.code, family=known.family, operators=known.operators,
            split=known.split, source=f"{by}:{run.manifest.model}", licence=licence, graph=known.graph,
            status=Status.CORRECT.value, judged_by=run.manifest.backend,
        )  # fmt: skip
        if program.program_hash not in seen:
            seen.add(program.program_hash)
            yield program


# ----------------------------------------------------------------------------------------------------------- reasoning
class ReasonConfig(Record):
    """How reasoning is asked for, and what is taken."""

    characters: Count = Field(1600, description="Longest reasoning that is taken.")
    asking: Count = Field(8, description="Programs that are asked about at once.")
    failing: Count = Field(8, description="Answers in a row that fail before the teacher is given up.")
    sampling: SamplingConfig = SamplingConfig()


class Reason(Record):
    """What a teacher wrote about a program; `refused` says why it is not used."""

    schema_version: Literal[1] = SCHEMA_VERSION
    program_hash: str
    model: str
    text: str | None = None
    refused: str | None = None


def write_reasons(
    programs: Sequence[Program],
    out: Path,
    model: Model,
    config: ReasonConfig,
    describe: Describe = lambda _program: None,
) -> TeacherReport:
    """Ask for reasoning about each program that `out/reasons.jsonl` has none of; the report counts this call's.

    A refused one is not asked for again. Raises UsageError where the folder can't be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    known = {r.program_hash for r in read_records(Reason, out / FILE)}
    missing = [p for p in programs if p.program_hash not in known]
    report, outage, guard = TeacherReport(), Outage(config.failing), threading.Lock()
    lines = Lines(out / FILE)

    def one(program: Program) -> None:
        completion = _asked(program, model, config)
        reason = _judged(program, completion, model.name, describe(program), config) if completion.text else None
        if reason is not None:
            append(lines, [reason])
        with guard:
            _note(report, program, completion, reason)
        outage.note([completion])

    try:
        for _ in as_completed(((lambda p=p: one(p)) for p in missing), config.asking, model.close):
            pass
    except NoMoreAnswers as error:
        report.named.insert(0, f"stopped: {error}")
    finally:
        lines.close()
    return report


def read_reasons(out: Path) -> Callable[[Program], str | None]:
    """What teachers wrote, by program; UsageError for a damaged file."""
    texts = {r.program_hash: r.text for r in read_records(Reason, out / FILE) if r.text}
    return lambda program: texts.get(program.program_hash)


def _asked(program: Program, model: Model, config: ReasonConfig) -> Completion:
    sampling = config.sampling.of(program.task_hash, 0, 1)
    return model.sample([Message("user", _question(program))], 1, sampling)[0]


def _question(program: Program) -> str:
    steps = "\n".join(f"{i}. {name}" for i, name in enumerate(STEPS, 1))
    return (
        f"A task:\n\n{fence(program.task_code, 'python')}\n\nA right answer to it:\n\n"
        f"{fence(program.candidate_code, 'python')}\n\n"
        f"Write what its author thought before writing it, in these six numbered steps and nothing else:\n{steps}\n\n"
        "One or two short sentences a step, exact, about this task and this kernel. Step 3 gives the shape of every "
        "output in numbers, like (64, 300). No code."
    )


def _judged(
    program: Program, completion: Completion, model: str, metadata: TaskMetadata | None, config: ReasonConfig
) -> Reason:
    text = (completion.text or "").strip()
    why = why_refused(text, metadata, config)
    kept = None if why else text
    return Reason(program_hash=program.program_hash, model=model, text=kept, refused=why)


def why_refused(text: str, metadata: TaskMetadata | None, config: ReasonConfig) -> str | None:
    """What is wrong with reasoning, in a few words; None where it can be used.

    Where the task's outputs are known, step 3 has to give the shape of each.
    """
    marks = list(_STEP.finditer(text))
    if [m[1] for m in marks] != ["1", "2", "3", "4", "5", "6"] or marks[0].start() > 0:
        return "it is not six numbered steps"
    if len(text) > config.characters:
        return "it is too long"
    if "```" in text or "class ModelNew" in text or "<think" in text:
        return "it holds code"
    told = {tuple(int(n) for n in m[1].split(",")) for m in _SHAPE.finditer(text[marks[2].start() : marks[3].start()])}
    outputs = [leaf.tensor.shape for leaf in (metadata.outputs or ()) if leaf.tensor] if metadata else []
    if any(shape and shape not in told for shape in outputs):
        return "its output shapes are not the task's"
    return None


def _note(report: TeacherReport, program: Program, completion: Completion, reason: Reason | None) -> None:
    who = f"program {program.program_hash[:12]}"
    if completion.failure is not None:
        report.note(who, "no answer", told_failure(completion.failure))
    elif reason is None or reason.refused:
        report.note(who, "refused", reason.refused or "" if reason else "it is empty")
    else:
        report.note(who, "usable", usable=True)
