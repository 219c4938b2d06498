"""The child of expansion and diagnosis.

Operations
    explore   code, name, most, seconds -> found, reason, message: see `explore.explore`
    support   code, name, sets -> results, one for each set of inputs: see `support.supported`
    profile   code, name -> operators and their microseconds: see `profiling.profiled`
    describe  code, name -> inputs of the task, as `input_sets.base_inputs` reads them
"""

from __future__ import annotations

from typing import Any

from mooreeval.execute.metadata import describe
from mooreeval.execute.task_module import load_task_module


class ExpansionChild:
    """Holds nothing from one question to the next."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op == "explore":
            from musacoder.data.expand.inside.explore import explore

            return explore(fields["code"], fields["name"], fields["most"], fields["seconds"]), {}
        if op == "support":
            from musacoder.data.expand.inside.support import supported

            return {"results": supported(fields["code"], fields["name"], fields["sets"])}, {}
        if op == "profile":
            from musacoder.data.expand.inside.profiling import profiled

            return profiled(fields["code"], fields["name"]), {}
        if op == "describe":
            made = load_task_module(fields["code"], name=fields["name"]).make_inputs(0)
            return {"inputs": describe(made)}, {}
        raise ValueError(f"the child of expansion has no operation {op}")
