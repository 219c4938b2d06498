"""The command line in a process of its own, with a judge that answers what the candidate's first line says.

    # verdict: STATUS     that verdict
    # raise: NAME TEXT    that error of `mooreeval.errors`, or RuntimeError
    # hang                say "hanging" as progress, then wait for ever

Only the judge is scripted: arguments, files, output, exit codes and signals are real.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.verdicts import full, verdict

from mooreeval import errors, gallery
from mooreeval.candidate import NoCandidate
from mooreeval.config import VerifyConfig
from mooreeval.verdict import Profile, Status


class ScriptedJudge:
    """Stands where `mooreeval.verify.LocalVerifier` stands."""

    def __init__(self, config: VerifyConfig) -> None:
        self.config = config

    def __enter__(self) -> ScriptedJudge:
        return self

    def __exit__(self, *_: object) -> None:
        print("closed", file=sys.stderr)

    device_name = None

    def close(self) -> None:
        pass

    def describe(self, task: Any) -> Any:
        raise errors.TaskError("it is not described here")

    def needs_preparation(self) -> bool:
        return "TEST_UNPREPARED" in os.environ

    def verify(self, task: Any, candidate: Any, progress: Callable[[str], None] | None = None) -> Any:
        if isinstance(candidate, NoCandidate):
            return verdict(Status.NO_CANDIDATE, reason=candidate.reason)
        time.sleep(float(os.environ.get("TEST_SECONDS", "0")))
        if progress:
            progress("build")
        words = candidate.code.split("\n", 1)[0].split(maxsplit=3)
        if words[:2] == ["#", "raise:"]:
            raise getattr(errors, words[2], RuntimeError)(words[3])
        if words[:2] == ["#", "hang"]:
            (progress or (lambda _: None))("hanging")
            time.sleep(600)
        status = Status(words[2])
        judged = full(status) if status is Status.INCORRECT else verdict(status)
        if status is Status.RUNTIME_ERROR:
            judged = judged.model_copy(
                update={"reason": "out of bounds at candidate:7 in scale: reads 4 bytes too far"}
            )
        if self.config.profile.enabled and status is Status.CORRECT:
            judged = judged.model_copy(update={"profile": Profile(missing="no counters here")})
        same = {"backend": self.config.backend, "seed": self.config.seed}
        return judged.model_copy(update={**same, "evidence": "emulation", "candidate_hash": candidate.candidate_hash})

    def verify_many(self, pairs: Any, workers: int, on_outcome: Callable[[Any], None]) -> None:
        for index, (task, candidate) in enumerate(pairs):
            fields = {"index": index, "verdict": None, "error": None}
            try:
                fields["verdict"] = self.verify(task, candidate)
            except errors.NotJudged as error:
                fields["error"] = error
            on_outcome(types.SimpleNamespace(**fields))


if __name__ == "__main__":
    scripted = types.ModuleType("mooreeval.verify")
    scripted.LocalVerifier = ScriptedJudge  # ty: ignore[unresolved-attribute]
    scripted.Verifier = object  # ty: ignore[unresolved-attribute]
    scripted.versions = lambda: {"musacoder": "0", "torch": "0"}  # ty: ignore[unresolved-attribute]
    scripted.Outcome = types.SimpleNamespace  # ty: ignore[unresolved-attribute]
    sys.modules["mooreeval.verify"] = scripted
    if "TEST_GALLERY" in os.environ:
        gallery.load = functools.partial(gallery.load, Path(os.environ["TEST_GALLERY"]))
    from musacoder.cli import main
    from musacoder.start import prepare_process

    prepare_process()
    main()
