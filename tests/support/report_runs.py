"""Run folders as a report finds them: two runs of one suite, with code, repairs and speed; and a hostile one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from support.runs import manifest
from support.small_runs import verdict_of
from support.verdicts import out_of_bounds, verdict

from mooreeval.feedback import feedback
from mooreeval.hashing import content_hash
from mooreeval.reward import reward
from mooreeval.verdict import Diagnostic, Place, Status, TaskAdmission, Verdict
from musacoder.runlog import FailureTold, Judged, MessageTold, RunFolder, Sample, TaskEntry

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn({rows}, 1024)]
"""
EXPRESSIONS = {
    "relu": "torch.relu(x)",
    "softmax": "torch.softmax(x, dim=1)",
    "row_sum": "x.sum(dim=1)",
    "gram": "x @ x.T",
    "layer_norm": "nn.functional.layer_norm(x, (1024,))",
    "gather_rows": "torch.gather(x, 1, x.argsort(dim=1))",
}
CODE = """import torch
from torch.utils.cpp_extension import load_inline

source = r'''
__global__ void {name}_kernel(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i {test} n) y[i] = fmaxf(x[i], {value}f);
}}
'''
extension = load_inline("{name}", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.run(x)
"""
WRONG = {
    Status.COMPILE_ERROR: 5,
    Status.RUNTIME_ERROR: 3,
    Status.INCORRECT: 5,
    Status.ILLEGAL: 3,
    Status.UNSUPPORTED: 1,
    Status.NO_CANDIDATE: 0.5,
}  # how common each is
HOSTILE = (
    "</script></pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"></svg><a href=\"javascript:document.title='owned'\">x</a>"
    "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>{{ 7*7 }}${7*7}\u202egnp.exe\x1b[31m]]>"
    "<link rel=stylesheet href=http://192.0.2.1/x.css><style>body{display:none}</style>' onmouseover='x' \" autofocus "
)


def task_code(number: int) -> str:
    """The source of the task of that number."""
    name = list(EXPRESSIONS)[number % len(EXPRESSIONS)]
    return TASK.format(expression=EXPRESSIONS[name], rows=64 + number)


def task_entry(number: int) -> TaskEntry:
    name = list(EXPRESSIONS)[number % len(EXPRESSIONS)]
    level = number % 3 + 1
    return TaskEntry(name=f"level{level}/{number + 1}_{name}", hash=content_hash(task_code(number)), level=str(level))


def answer_code(name: str, generator: random.Random, *, wrong: bool) -> str:
    """A candidate's code, with a slip where it is wrong."""
    test = "<=" if wrong else "<"
    return CODE.format(name=name, test=test, value=generator.randint(0, 9))


def write_run(path: Path, *, tasks: int, samples: int, turns: int, skill: float, seed: int = 1) -> RunFolder:
    """A run on a device whose candidates are right with about the probability `skill`."""
    generator = random.Random(seed)
    entries = tuple(task_entry(number) for number in range(tasks))
    made = manifest(
        name=path.name,
        model=f"model-{path.name}",
        suite="KernelBench",
        samples=samples,
        turns=turns,
        evidence="device",
        backend="cuda",
        device="NVIDIA H200",
        tasks=entries,
        versions={"torch": "2.13.0", "musacoder": "0.1.0"},
    )
    with RunFolder.create(path, made, {"samples": samples}) as run:
        for number, entry in enumerate(entries):
            for index in range(samples):
                _write_turns(run, entry, number, index, skill, generator)
    return run


def _write_turns(
    run: RunFolder, entry: TaskEntry, number: int, index: int, skill: float, generator: random.Random
) -> None:
    """The turns of one sample, until one is right or no answer comes."""
    for turn in range(1, run.manifest.turns + 1):
        right = generator.random() < skill * (1.2 - 0.25 * (number % 3))
        code = answer_code(entry.name.rpartition("_")[2], generator, wrong=not right)
        lost = generator.random() < 0.015
        run.add_sample(_sample(entry, number, index, turn, None if lost else code, generator))
        if lost:
            return
        found = _verdict(generator, number, right=right)
        queued = 1020.0 + 40 * turn + number
        run.add_verdict(
            Judged(
                task=entry.name,
                index=index,
                turn=turn,
                verdict=found,
                reward=reward(found),
                feedback=feedback(found, code),
                queued_at=queued,
                started_at=queued + generator.random(),
                ended_at=queued + 1 + 9 * generator.random(),
            )
        )
        if right:
            return


def _sample(entry: TaskEntry, number: int, index: int, turn: int, code: str | None, generator: random.Random) -> Sample:
    at = 1000.0 + 40 * turn + number
    prompt = f"Write kernels.\n\n```python\n{task_code(number)}```\n"
    return Sample(
        task=entry.name,
        index=index,
        turn=turn,
        messages=(MessageTold(role="user", content=prompt),),
        answer=None if code is None else f"Each thread computes one element.\n\n```python\n{code}```\n",
        reasoning="First I think about the index.\n" * 4,
        failure=FailureTold(kind="timed_out", message="no answer within 600 s") if code is None else None,
        prompt_tokens=900 + 700 * turn,
        completion_tokens=None if code is None else generator.randint(600, 4000),
        seconds=generator.uniform(8, 60),
        asked_at=at,
        answered_at=at + 20,
    )


def _verdict(generator: random.Random, number: int, *, right: bool) -> Verdict:
    told = TaskAdmission(outcome="weak" if number % 11 == 3 else "admitted")
    if right:
        eager = generator.lognormvariate(0.05, 0.5)
        compiled = f"{eager * generator.uniform(0.6, 1.0):.3f}" if number % 5 else ""
        return verdict_of(f"{eager:.3f}/{compiled}", "device", told)
    status = generator.choices(list(WRONG), list(WRONG.values()))[0]
    place = Place(file="candidate", line=7, column=9, text="if (i <= n) y[i] = fmaxf(x[i], 0.0f);")
    unknown = Diagnostic(severity="error", message="'fmaxg' is undefined", place=place)
    extra: dict[str, Any] = {
        Status.COMPILE_ERROR: {"diagnostics": (unknown,)},
        Status.RUNTIME_ERROR: {"findings": (out_of_bounds(place=place),)},
        Status.INCORRECT: {"q": generator.choice([0.0, 0.5])},
    }.get(status, {})
    return verdict(status, evidence="device", admission=told, **extra)


def write_hostile_run(path: Path) -> RunFolder:
    """A run in which every text that somebody else wrote is an attack on the page."""
    entry = TaskEntry(name=f"task {HOSTILE}", hash=content_hash(task_code(0)), level=f"1{HOSTILE}", family=HOSTILE)
    facts = dict.fromkeys(("name", "model", "suite", "device", "policy"), HOSTILE)
    made = manifest(turns=2, versions={HOSTILE: HOSTILE}, tasks=(entry,), **facts)
    with RunFolder.create(path, made, {}) as run:
        for turn in (1, 2):
            run.add_sample(_hostile_sample(entry.name, turn))
            run.add_verdict(_hostile_judgement(entry.name, turn))
        failure = FailureTold(kind=HOSTILE, message=HOSTILE)
        run.add_sample(
            Sample(task=entry.name, index=1, turn=1, messages=(), failure=failure, asked_at=1, answered_at=2)
        )
    return run


def _hostile_sample(task: str, turn: int) -> Sample:
    code = f"{answer_code('relu', random.Random(1), wrong=True)}\n# {HOSTILE}\nx = '''{HOSTILE}'''\n# turn {turn}\n"
    return Sample(
        task=task,
        index=0,
        turn=turn,
        messages=(MessageTold(role="user", content=HOSTILE),),
        answer=f"{HOSTILE}\n```python\n{code}```\n{HOSTILE}",
        reasoning=HOSTILE,
        shortened=(HOSTILE,),
        warnings=(HOSTILE,),
        asked_at=1.0,
        answered_at=2.0,
    )


def _hostile_judgement(task: str, turn: int) -> Judged:
    words = dict.fromkeys(("reason", "exception", "output_tail"), HOSTILE)
    finding = out_of_bounds(kernel=HOSTILE, message=HOSTILE)
    found = verdict(Status.RUNTIME_ERROR, evidence="emulation", findings=(finding,), warnings=(HOSTILE,), **words)
    times = {"queued_at": 2.0, "started_at": 2.0, "ended_at": 3.0}
    return Judged(task=task, index=0, turn=turn, verdict=found, reward=-1.0, feedback=HOSTILE, **times)
