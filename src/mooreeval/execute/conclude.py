"""From evidence to a conclusion: one function for each way a judgement can end. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mooreeval.execute.answers import ErrorClaim, RefusalClaim, Report
from mooreeval.execute.children import ChildEnded
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.kernel_languages import other_language
from mooreeval.toolchains.base import BuildFailure
from mooreeval.verdict import Diagnostic, Finding, FindingKind, Mismatch, Place, RuleHit, Status, Trial

TOO_SLOW = "simulation time"  # the feature that a run time out of time, but with progress, names
SIGNALS = {
    4: "illegal instruction",
    6: "abort",
    7: "bus error",
    8: "arithmetic error",
    9: "killed",
    11: "segmentation fault",
}
_PYTHON_LINE = re.compile(r'File "candidate\.py", line (\d+)')  # innermost frame first, as faulthandler prints it
_SHORTAGE = re.compile(r"out ?of ?memory|MemoryAllocation|ALLOC_FAILED|NOT_INITIALIZED|signal 9\b", re.IGNORECASE)
GRAVITY = ("illegal", "compile_error", "unsupported", "timeout")  # where several hold, the first


@dataclass(frozen=True)
class Conclusion:
    """How a judgement ended, without the evidence that every verdict carries."""

    status: Status
    reason: str
    q: float | None = None
    rules: tuple[RuleHit, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unsupported_feature: str | None = None
    exception: str | None = None
    place: Place | None = None
    timed_out: bool = False


def unsupported(feature: str, reason: str, place: Place | None = None) -> Conclusion:
    return Conclusion(Status.UNSUPPORTED, reason, unsupported_feature=feature, place=place)


def illegal(
    rule: str, message: str, *, place: Place | None = None, evidence: str | None = None, q: float | None = None
) -> Conclusion:
    return Conclusion(
        Status.ILLEGAL,
        message,
        q,
        rules=(RuleHit(rule=rule, message=message, place=place, evidence=evidence),),
        place=place,
    )


def broken_rules(hits: Sequence[RuleHit], q: float | None = None) -> Conclusion | None:
    """Rules that were found broken, the gravest first; None where there are none."""
    if not hits:
        return None
    first = hits[0]
    where = f"{first.place}: " if first.place and first.place.line else ""
    more = f" (and {len(hits) - 1} more)" if len(hits) > 1 else ""
    return Conclusion(Status.ILLEGAL, f"{where}{first.message}{more}", q, rules=tuple(hits), place=first.place)


# ----------------------------------------------------------------------------------------------- the candidate's Python
def load_error(error: ErrorClaim | None, code: str, *, final: bool) -> Conclusion | None:
    """What an error while the candidate's Python was loaded means; None to go on.

    While recording (`final` false) kernels are stand-ins, so an exception may be theirs: only the run decides.
    """
    if error is None:
        return None
    place = _place(code, error.line)
    if error.kind == "syntax":
        at = f"{place}: " if place.line else ""
        message = f"{at}the candidate is not valid Python: {error.message}"
        return Conclusion(
            Status.COMPILE_ERROR,
            message,
            diagnostics=(Diagnostic(severity="error", message=error.message, place=place),),
            place=place,
        )
    if error.kind == "no_model":
        return Conclusion(Status.NO_CANDIDATE, error.message)
    if not final:
        return None
    return _exception(error, place)


def refusals(refused: Sequence[RefusalClaim]) -> Conclusion | None:
    """Build calls that the recorder did not take, where it is we who don't handle them."""
    for refusal in refused:
        if refusal.feature:
            return unsupported(refusal.feature, f"not built here: {refusal.reason}")
    return None


def _exception(error: ErrorClaim, place: Place) -> Conclusion:
    if error.kind == "unrecorded":
        return illegal("unrecorded_sources", error.message, place=place)
    message = " ".join(error.message.split())[:400]
    where = f" ({place})" if place.line else ""
    if language := other_language(error.type, error.message, error.raised_in):
        return unsupported(language, f"kernels in {language} are not judged here{where}: {message}", place)
    text = f"{error.traceback}{error.type}: {error.message}"
    return Conclusion(
        Status.RUNTIME_ERROR,
        f"{error.type}: {message}{where}",
        exception=text[-8000:],
        place=place if place.line else None,
    )


def _place(code: str, line: int | None) -> Place:
    lines = code.splitlines()
    text = lines[line - 1].strip()[:200] if line and 0 < line <= len(lines) else None
    return Place(file="candidate", line=line, text=text)


# ---------------------------------------------------------------------------------------------------------------- build
def build_failures(failures: Sequence[BuildFailure]) -> Conclusion | None:
    """The gravest failure of all extensions."""
    if not failures:
        return None
    worst = min(failures, key=lambda f: GRAVITY.index(f.kind))
    first = worst.diagnostics[0].place if worst.diagnostics else None
    if worst.kind == "illegal":
        return illegal(worst.rule or "source", worst.reason, place=first, evidence=first.text if first else None)
    if worst.kind == "unsupported":
        return unsupported(worst.feature or worst.reason, worst.reason, first)
    first_error = next((d for d in worst.diagnostics if d.severity == "error"), None)
    reason = f"{first_error.place}: {first_error.message}" if first_error else worst.reason
    place = first_error.place if first_error else None
    return Conclusion(Status.COMPILE_ERROR, reason, diagnostics=worst.diagnostics, place=place)


# ------------------------------------------------------------------------------------------------------------------ run
def _child_ended(end: ChildEnded, when: str, log: str) -> Conclusion:
    """A candidate's process that ended before it answered."""
    if end.timed_out:
        found = _PYTHON_LINE.search(log)
        place = Place(file="candidate", line=int(found[1])) if found else None
        at = f", at {place}" if place else ""
        reason = f"the candidate did not finish in time {when}{at}"
        return Conclusion(Status.RUNTIME_ERROR, reason, place=place, timed_out=True)
    if end.broke_protocol:
        return Conclusion(Status.RUNTIME_ERROR, f"the candidate's process wrote to the judge's channel {when}")
    return Conclusion(Status.RUNTIME_ERROR, f"the candidate's process {_how(end.exit_code)} {when}{_said(log)}")


def process_ended(
    end: ChildEnded, report: Report | None, findings: Sequence[Finding], when: str, log: str
) -> Conclusion:
    """A candidate's process is gone; what its run time could still write down is in `report` and `findings`."""
    if report and report.unsupported and not end.timed_out:
        return _not_modelled(report.unsupported)
    if worst := first_error(findings):
        return _found(worst)
    return _child_ended(end, when, log)


def trial_stopped(
    error: ErrorClaim | None, report: Report, findings: Sequence[Finding], code: str
) -> Conclusion | None:
    """What ends the trials early: a feature that is not modelled, an exception, or a finding that is an error."""
    if report.unsupported:
        return _not_modelled(report.unsupported)
    worst = first_error(findings)
    if error is None:
        return _found(worst) if worst else None
    raised = _exception(error, _place(code, error.line))
    if worst and raised.status is Status.RUNTIME_ERROR:
        return Conclusion(
            Status.RUNTIME_ERROR,
            f"{describe_finding(worst)}; then {raised.reason}",
            exception=raised.exception,
            place=worst.place or raised.place,
        )
    return raised


def _not_modelled(feature: str) -> Conclusion:
    if feature == TOO_SLOW:
        return unsupported(feature, "the kernel goes on, but needs more time on a CPU than its deadline allows")
    return unsupported(feature, f"the simulator does not model {feature}")


def tampering(message: str) -> Conclusion:
    """The candidate reached for the machinery that watches it."""
    return illegal("simulator_tampering", message)


def illegal_by_source(hits: Sequence[RuleHit]) -> Conclusion | None:
    """What the source breaks; the gravest, which is the first, is the reason."""
    if not hits:
        return None
    first = hits[0]
    where = f"{first.place}: " if first.place and first.place.line else ""
    return Conclusion(Status.ILLEGAL, f"{where}{first.message}", rules=tuple(hits), place=first.place)


def no_launch(passed: bool, more: Sequence[RuleHit] = ()) -> Conclusion:
    """A forward pass without a kernel: whatever computed the values, it was not the candidate's kernel.

    `more`: other rules that it broke, which say who did.
    """
    values = "the values are right" if passed else "the values are wrong as well"
    conclusion = illegal("no_kernel_launched", f"no kernel of the candidate ran in the forward pass ({values})")
    return replace(conclusion, rules=(*conclusion.rules, *more), place=more[0].place if more else None)


def needless_kernels() -> Conclusion:
    """The output is right though the candidate's kernels did not run."""
    message = "the output is right as well where no kernel of the candidate's runs: it was kept, or made by others"
    evidence = "a pass on the inputs of the last trial, with every launch held back"
    return illegal("decoy_kernel", message, evidence=evidence, q=1.0)


def trials(done: Sequence[Trial]) -> Conclusion:
    """All trials ran to their end."""
    passed = sum(t.passed for t in done)
    if passed == len(done):
        all_of_them = f"all {passed} trials agree" if passed > 1 else "the only trial agrees"
        return Conclusion(Status.CORRECT, f"{all_of_them} with the reference", q=1.0)
    first = next(t for t in done if t.mismatch is not None)
    assert first.mismatch is not None
    where = f"{first.mismatch.output}: {first.mismatch.message}"
    return Conclusion(Status.INCORRECT, f"{_share(done)}; {where}", q=passed / len(done))


def wrong_when_timed(mismatch: Mismatch) -> Conclusion:
    """A candidate that was right in every trial, and not where it was timed."""
    return illegal(
        "timed_output",
        f"a call gave another output while it was timed than in the trials: {mismatch.output}: {mismatch.message}",
        q=1.0,
    )


def _share(done: Sequence[Trial]) -> str:
    """How many trials pass, and by their index in the verdict which don't, where that isn't all of them."""
    passed = sum(t.passed for t in done)
    share = f"{passed} of {len(done)} trials pass" if len(done) > 1 else "the only trial fails"
    failed = [str(t.index) for t in done if not t.passed]
    if not passed:
        return share
    return f"{share}, trial{'s' if len(failed) > 1 else ''} {_listed(failed)} fail{'' if len(failed) > 1 else 's'}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def shape_specialised(conclusion: Conclusion, forced: Sequence[str]) -> Conclusion:
    """A failure after a size that the candidate carries as a literal had to be reduced says nothing about it."""
    if not forced or conclusion.status not in (Status.INCORRECT, Status.RUNTIME_ERROR):
        return conclusion
    sizes = ", ".join(forced)
    return unsupported(
        "shape-specialised",
        f"the candidate is written for sizes that a CPU can't run ({sizes}); at smaller ones: {conclusion.reason}",
    )


def sizes_may_be_at_fault(conclusion: Conclusion, evidence: Evidence) -> bool:
    """Whether a failure should be confirmed at other sizes: one was changed that the candidate may rest on by a guess.

    What ran out of time would only do so again.
    """
    if conclusion.status not in (Status.INCORRECT, Status.RUNTIME_ERROR) or evidence.forced:
        return False
    out_of_time = conclusion.timed_out or any(finding.kind is FindingKind.HANG for finding in evidence.findings)
    return bool(evidence.doubtful) and not out_of_time


def company_may_be_at_fault(conclusion: Conclusion) -> bool:
    """Whether a failure beside others on one device should be confirmed alone: too little time, or memory."""
    if conclusion.status is not Status.RUNTIME_ERROR:
        return False
    text = f"{conclusion.reason} {conclusion.exception or ''}"
    return conclusion.timed_out or bool(_SHORTAGE.search(text))


def _found(finding: Finding) -> Conclusion:
    return Conclusion(Status.RUNTIME_ERROR, describe_finding(finding), place=finding.place)


def first_error(findings: Sequence[Finding]) -> Finding | None:
    return next((f for f in findings if f.severity == "error"), None)


def describe_finding(finding: Finding) -> str:
    """One line: kind, place, message."""
    where = f" at {finding.place}" if finding.place else ""
    who = f" in {finding.kernel}" if finding.kernel else ""
    return f"{finding.kind.value.replace('_', ' ')}{where}{who}: {finding.message}"


def _how(exit_code: int | None) -> str:
    if exit_code is None:
        return "ended"
    if exit_code < 0:
        return f"was ended by signal {-exit_code} ({SIGNALS.get(-exit_code, 'signal')})"
    return f"exited with code {exit_code}"


def _said(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return f"; last output: {lines[-1][:200]}" if lines else ""
