"""The judge's side of a profile: made after a verdict was reached, by processes of its own, and never a part of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged
from mooreeval.execute.asking import ask
from mooreeval.execute.children import ChildEnded, Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.execute.profile_role import MAX_OUTPUT, REQUEST
from mooreeval.execute.seeds import derive_seed
from mooreeval.profile import ncu
from mooreeval.profile.read import read_profile
from mooreeval.task import Task
from mooreeval.verdict import Profile

LEAVE_SECONDS = 10.0  # for the profiler's child to end what it started and to answer
NO_COUNTERS = "backend {} has no performance counters of a GPU; a profile needs backend cuda"
NO_NCU = "ncu is not on PATH: install Nsight Compute, a part of CUDA's toolkit"


class ProfileAnswer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    output: Annotated[str, Field(max_length=MAX_OUTPUT)]
    timed_out: bool


def make_profile(
    task: Task,
    candidate: Candidate,
    config: VerifyConfig,
    secret: str,
    launcher: Launcher,
    toolchain: Any,
    progress: Callable[[str], None],
    evidence: Evidence,
) -> Profile:
    """What ncu says of a correct candidate, or in one line why it says nothing. Raises nothing of its own."""
    if config.backend != "cuda":
        return Profile(missing=NO_COUNTERS.format(config.backend))
    if (tool := ncu.find_ncu()) is None:
        return Profile(missing=NO_NCU)
    progress("profile")
    start = time.monotonic()
    request = _request(task, candidate, config, secret, toolchain.device_options(), evidence)
    processes = Processes(config, launcher, toolchain, evidence)
    try:
        with processes.turn():
            return _profiled(tool, request, evidence, config, processes)
    except NotJudged as error:
        return Profile(missing=f"the profiler's process was lost ({error})")
    finally:
        evidence.stage_seconds["profile"] = round(time.monotonic() - start, 4)


def _request(
    task: Task, candidate: Candidate, config: VerifyConfig, secret: str, options: dict[str, Any], evidence: Evidence
) -> dict[str, Any]:
    """What `profile_child` reads. Its inputs are those of no trial."""

    def seed(purpose: str) -> int:
        return derive_seed(secret, purpose, task.task_hash, candidate.candidate_hash)

    return {
        "task": {"name": task.task_id, "code": task.code},
        "candidate": candidate.code,
        "weight_seed": seed("weights"),
        "input_seed": seed("profiled inputs"),
        "artefacts": evidence.loadable(),
        "backend": config.backend,
        "options": options,
    }


def _profiled(
    tool: str, request: dict[str, Any], evidence: Evidence, config: VerifyConfig, processes: Processes
) -> Profile:
    program = [sys.executable, "-P", "-m", "mooreeval.execute.profile_child", REQUEST]
    seconds = config.profile.seconds
    fields = {
        "command": ncu.command(tool, program),
        "device": config.cuda.device,
        "request": request,
        "seconds": seconds,
    }
    places = {str(Path(tool).parent), str(Path(tool).resolve().parent)}
    with processes.spawn("profile", readable=sorted(places)) as child:
        try:
            answer, _message = ask(child, "profile", ProfileAnswer, fields, {}, seconds + LEAVE_SECONDS)
        except ChildEnded as end:
            return Profile(missing=f"the profiler's process did not answer ({end})")
        log = child.log_tail()
    if answer.timed_out:
        return Profile(missing=f"ncu did not finish within {seconds:g} s; profile.seconds allows it more")
    call_us = evidence.timing.candidate_ms * 1e3 if evidence.timing else None
    return read_profile(answer.output, log, call_us)
