"""One examination: a task is run in many ways, and wrong outputs are held against its right ones. Holds the seeds.

    task's process: prepare ─> inputs, weights ─> trials, plain and varied ─> runs with one thing changed
                                                      │ outputs                   │ outputs
    impostor child ───────────────────────────────────┴── are they told apart? ───┘

What the task's process says of itself (its weights, its inputs) is told as a note or a reason; whether outputs are
told apart is found out in a process that runs nobody's code, by the comparison of every verdict. Imports no torch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

from mooreeval.config import VerifyConfig
from mooreeval.errors import Transient
from mooreeval.execute.admission_task import Refused, TaskProcess
from mooreeval.execute.asking import last_line, shapes_of
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.examined import Examined
from mooreeval.execute.processes import Processes
from mooreeval.execute.schedule import PLAIN
from mooreeval.execute.seeds import derive_seed
from mooreeval.execute.wire import Message, read_values
from mooreeval.task import Task
from mooreeval.verdict import Reduction, Shape

VARIATIONS = ("signs", "tenth", "tenfold")
PRECISIONS = ("half", "bfloat16", "half_inputs", "tf32")
INFORMATIVE = ("zeros", "constant", "stale")  # a reference that does not tell these under a variation says nothing
INPUT_SEEDS = 4  # how often inputs are made to see whether they follow the seed
OTHER_WEIGHTS = 3  # that a task is given before it is told to be constant whatever its weights are
MOST_LIMITS = 4  # of a forward pass, whose ends are left out one by one
_LIMITS = re.compile(r"clamp|clip|hardtanh|relu6", re.IGNORECASE)  # in a task's text, where it may have one
MOST_SLICES, MOST_DIMS = 24, 6  # last slices of inputs that are left out one by one

Variant = tuple[str, str, dict[str, Any]]  # name and place of the impostor, and what asks for it


class Examination:
    """Examines one task once."""

    def __init__(
        self,
        task: Task,
        config: VerifyConfig,
        secret: str,
        launcher: Launcher,
        toolchain: Any,
        progress: Callable[[str], None],
    ) -> None:
        self.task, self.config, self.secret = task, config, secret
        self._progress = progress
        self.evidence = Evidence()
        self.examined = Examined()
        self._processes = Processes(config, launcher, toolchain, self.evidence)
        self._inputs: list[dict[str, Any]] = []
        self._weights: list[str] = []
        self._neutral: list[str] = []  # weights that begin as ones or zeros

    def examine(self) -> Examined:
        """Run the checks in order until one of them refuses the task."""
        processes, fields = self._processes, self._prepare_fields()
        try:
            with processes.turn(), processes.spawn("impostors") as comparer:
                if processes.on_device:
                    processes.begin_start(comparer)
                    processes.finish_start(comparer)
                with TaskProcess(self.task, self.config, processes, fields) as task:
                    self._examine(task, comparer)
        except Refused as why:
            self.examined.refuse(why.kind, f"{why}")
        return self.examined

    def _examine(self, task: TaskProcess, comparer: Child) -> None:
        with self._stage("prepare"):
            answer = task.prepare()
            self.evidence.reductions = tuple(Reduction.model_validate(r) for r in answer["reductions"])
            self._look_at_inputs(task)
            self._look_at_weights(task)
        for index in range(self.config.admission.trials):
            self._plain(task, comparer, index)
            if self.examined.is_refused:
                return
        self.examined.refuse_what_has_no_effect()
        if self.examined.is_refused:
            with self._stage("second look"):
                self._look_again(comparer)
            return
        with self._stage("variants"):
            self._impose_runs(task, comparer, PLAIN, self._variants())
        if self.examined.any_open():  # chance has one more say
            self._plain(task, comparer, self.config.admission.trials)
            with self._stage("variants"):
                self._impose_runs(task, comparer, PLAIN, self._variants())
        if self.examined.is_refused:
            return
        for name in VARIATIONS:
            with self._stage(name):
                self.examined.variation(name, self._why_not(task, comparer, name))
        if self._neutral:
            with self._stage("other weights"):
                self._vary_weights(task)

    # ---------------------------------------------------------------------------------------------------------- helpers
    def _seed(self, purpose: str, number: int = 0) -> int:
        return derive_seed(self.secret, purpose, self.task.task_hash, "", number)

    @contextmanager
    def _stage(self, name: str) -> Any:
        self._progress(name)
        start = time.monotonic()
        try:
            yield
        finally:
            spent = self.evidence.stage_seconds
            spent[name] = round(spent.get(name, 0.0) + time.monotonic() - start, 4)

    def _prepare_fields(self) -> dict[str, Any]:
        return {
            "name": self.task.task_id,
            "code": self.task.code,
            "candidate_text": "",
            "budget": None if self._processes.on_device else self.config.simulator.budget(),
            "careful": False,
            "weight_seed": self._seed("weights"),
            "example_seed": self._seed("example"),
        }

    def _ask(self, comparer: Child, op: str, fields: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        try:
            return comparer.ask(op, fields, values, self.config.deadlines.reference_seconds).fields
        except ChildEnded as end:
            raise Transient(f"the outputs could not be compared ({end}): {last_line(comparer.log_tail())}") from None

    # ----------------------------------------------------------------------------------------------------- what it has
    def _look_at_inputs(self, task: TaskProcess) -> None:
        seeds = [self._seed("inputs", k) for k in range(INPUT_SEEDS)]
        self._inputs = task.ask("inputs", {"seeds": seeds}).fields["inputs"]
        fixed = [entry["path"] for entry in self._inputs if entry["fixed"]]
        if fixed and len(fixed) == len(self._inputs):
            self.examined.refuse("fixed_inputs", "get_inputs gives the same values under every seed")
        elif fixed:
            self.examined.note("fixed_input", f"the same under every seed: {', '.join(fixed)}")

    def _look_at_weights(self, task: TaskProcess) -> None:
        facts = task.ask("weights", {}).fields
        names, most = facts["weights"], self.config.admission.weights
        self._weights = [names[k * len(names) // most] for k in range(most)] if len(names) > most else names
        if not facts["stable"]:
            self.examined.refuse("random_weights", "one weight seed gives different weights each time")
        self._neutral = facts["neutral"]
        if len(self._weights) < len(names):
            self.examined.note("weights", f"{len(self._weights)} of {len(names)} weights were changed one by one")

    # ---------------------------------------------------------------------------------------------------------- trials
    def _plain(self, task: TaskProcess, comparer: Child, index: int) -> None:
        """A run on the task's own inputs, and everything that is still to be told of it."""
        with self._stage("reference"):
            message = task.trial(self._seed("inputs", index), PLAIN)
            values = read_values(message)
            faults = self._hold(comparer, values)
        if index == 0:
            self._describe(message, values)
        if faults:
            self.examined.refuse("not_finite", faults)
            return
        if index == 0:
            with self._stage("repeat"):
                self._repeat(task, comparer)
        if not self.examined.is_refused:
            with self._stage("impostors"):
                self._impose_outputs(comparer, PLAIN)
                self._impose_runs(task, comparer, PLAIN, self._other_values())

    def _hold(self, comparer: Child, values: dict[str, Any]) -> str:
        """Keep the outputs of a run for comparisons; what is not finite in them, in words."""
        fields = {"tolerance": self.config.effective_tolerance().model_dump(mode="json")}
        facts = self._ask(comparer, "hold", fields, values)["outputs"]
        self.examined.noise = max([self.examined.noise, *(fact["noise"] for fact in facts)])
        parts = [
            f"{fact[kind]} elements of {fact['path']} are {word}"
            for fact in facts
            for kind, word in (("nan", "NaN"), ("infinite", "infinite, and not in float64"))
            if fact[kind]
        ]
        return "; ".join(parts)

    def _describe(self, message: Message, values: dict[str, Any]) -> None:
        shapes = [*shapes_of("input", values["inputs"]), *shapes_of("output", values["expected32"])]
        self.examined.shapes = tuple(Shape.model_validate(s) for s in shapes)
        self.examined.forward_seconds = round(message.fields["seconds"], 5)
        if message.fields["changed"]:
            self.examined.note("changes_inputs", f"forward writes to {', '.join(message.fields['changed'])}")
        if values["expected64"] is None:
            self.examined.note("no_float64", "it does not run in float64, so its own rounding is not known")

    def _repeat(self, task: TaskProcess, comparer: Child) -> None:
        """The same run once more must give the same outputs, within the tolerance."""

        def again(how: str, *, strictly: bool = True) -> tuple[bool | None, bool]:
            return self._compared(comparer, task.variant("rerun", {"how": how}), again=strictly)

        if again("same")[0] is False:
            self.examined.refuse("nondeterministic", "the same inputs and weights give another output")
        elif again("generator")[0] is False:
            self.examined.refuse("random", "its output follows the random generator, which no kernel can")
        if self.examined.is_refused:
            return
        agrees, same = again("threads", strictly=False)
        if agrees is False:
            self.examined.refuse("nondeterministic", "another number of threads gives another output")
        elif agrees and not same:
            self.examined.note("not_bitwise", "with another number of threads it differs within the tolerance")
        if again("again")[0] is False:
            self.examined.note("stateful", "a second call on the same inputs gives another output")

    def _compared(self, comparer: Child, message: Message | None, *, again: bool = False) -> tuple[bool | None, bool]:
        """Whether a run's outputs agree with those held, and whether bit for bit; None where there are none."""
        if message is None:
            return None, False
        answer = self._ask(comparer, "compare", {"again": again}, read_values(message))
        return answer["agrees"], answer["same"]

    # ------------------------------------------------------------------------------------------------------- impostors
    def _impose_outputs(self, comparer: Child, under: str) -> dict[tuple[str, str], bool | None]:
        """Those made of the run's own outputs; what was found of each."""
        answers = self._ask(comparer, "impostors", {"wanted": None}, {})["impostors"]
        found = {(a["name"], a["at"]): a["told"] for a in answers}
        if under == PLAIN:
            self.examined.impostors_told(found, under)
        return found

    def _impose_runs(self, task: TaskProcess, comparer: Child, under: str, variants: Iterable[Variant]) -> None:
        """Those that are runs of the task with one thing changed, unless something has told them already."""
        for name, at, fields in variants:
            if not self.examined.is_open(name, at, under):
                continue
            agrees, same = self._compared(comparer, task.variant("variant", fields))
            if agrees and name == "unread" and self._is_never_read(task, comparer, fields):
                continue
            if agrees is not None:
                self.examined.run_told(name, at, under, told=not agrees, same=same)

    def _is_never_read(self, task: TaskProcess, comparer: Child, fields: dict[str, Any]) -> bool:
        """Whether the task itself does not read a slice, e.g. one that no stride reaches."""
        flood = {**fields, "kind": "flood", "seed": self._seed("flood")}
        return self._compared(comparer, task.variant("variant", flood))[1]

    def _other_values(self) -> Iterable[Variant]:
        for entry in self._inputs:
            yield "ignored", entry["path"], {"kind": "fresh", "path": entry["path"], "seed": self._seed("other inputs")}

    def _variants(self) -> Iterable[Variant]:
        for kind in PRECISIONS:
            yield kind, "", {"kind": kind}
        slices = [
            (f"{entry['path']}, dimension {dim}", {"kind": "last", "path": entry["path"], "dim": dim})
            for entry in self._inputs
            for dim in [d for d, size in enumerate(entry["shape"]) if size > 1][:MOST_DIMS]
        ]
        yield from (("unread", at, fields) for at, fields in slices[:MOST_SLICES])
        for number in range(MOST_LIMITS if _LIMITS.search(self.task.code) else 0):
            for end in ("lower", "upper"):
                yield "limit", f"{end} end of limit {number}", {"kind": "limit", "dim": number, "name": end}
        for name in self._weights:
            yield "weight", name, {"kind": "weight", "name": name, "seed": self._seed("noise")}

    # -------------------------------------------------------------------------------------------------- a second look
    def _look_again(self, comparer: Child) -> None:
        """Whether what has no effect has one with other weights, or at larger sizes: then these are to blame."""
        fields = self._prepare_fields()
        others = ({**fields, "weight_seed": self._seed("weights", k)} for k in range(1, OTHER_WEIGHTS + 1))
        if any(self._differs(comparer, other) for other in others):
            self.examined.qualify("; with other weights it differs")
        if self.evidence.reductions:
            budget = self.config.simulator.budget()
            largest = {name: budget[f"ceiling_{name}"] for name in ("elements", "flops")}
            if self._differs(comparer, {**fields, "budget": {**budget, **largest}}):
                settings = " ".join(f"simulator.{name}={largest[name]:g}" for name in largest)
                self.examined.qualify(f"; at larger sizes it differs ({settings})")

    def _differs(self, comparer: Child, fields: dict[str, Any]) -> bool:
        """Whether the task, prepared otherwise, does not deserve to be refused."""
        try:
            with TaskProcess(self.task, self.config, self._processes, fields) as task:
                return self._has_effects(task, comparer)
        except Refused:
            return False

    def _has_effects(self, task: TaskProcess, comparer: Child) -> bool:
        """Whether outputs differ between inputs, and change with each input."""
        task.prepare()
        for index in range(2):
            self._hold(comparer, read_values(task.trial(self._seed("inputs", index), PLAIN)))
        found = self._impose_outputs(comparer, "larger sizes")
        effects = [told for (name, _at), told in found.items() if name == "stale"]
        for _name, _at, fields in self._other_values():
            agrees, same = self._compared(comparer, task.variant("variant", fields))
            effects.append(agrees is None or not same)
        return all(effects)

    # ------------------------------------------------------------------------------------------------------ variations
    def _vary_weights(self, task: TaskProcess) -> None:
        """Whether a verdict can tell who leaves out the weights that begin as ones or zeros."""
        fields = {"seed": self._seed("inputs", 0), "weights": self._seed("other weights")}
        try:
            why_not = task.ask("other", fields).fields["silent"]
        except Refused as why:
            task.restart_plain()
            why_not = f"{why}"
        told = f"nobody misses them: {why_not}" if why_not else "one more trial of a candidate gives them other values"
        self.examined.note("neutral_weights", f"all zeros or all ones: {_listed(self._neutral)}; {told}")

    def _why_not(self, task: TaskProcess, comparer: Child, name: str) -> str | None:
        """Try the inputs under a variation; why it is not allowed, None where it is."""
        try:
            for number in range(2):
                message = task.trial(self._seed(name, number), name)
                if not message.fields["varied"]:
                    return "it would change no input"
                if faults := self._hold(comparer, read_values(message)):
                    return f"the reference is not finite: {faults}"
        except Refused as why:
            task.restart_plain()
            return f"{why}"
        found = self._impose_outputs(comparer, name)
        silent = [f"{kind} of {at}" for (kind, at), told in found.items() if kind in INFORMATIVE and told is False]
        if silent:
            return f"the reference says too little: {_listed(silent)} would pass"
        self.examined.impostors_told(found, name)
        self._impose_runs(task, comparer, name, [*self._other_values(), *self._variants()])
        return None


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
