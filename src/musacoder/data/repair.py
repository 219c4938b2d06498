"""Rows of repair: a mutant whose verdict shows its fault, the judge's feedback, and the verified answer.

    reviewer            the task, a wrong file: what is wrong where, and the file without the fault
    multi_turn_repair   the task, a wrong answer, what the judge said, ... the verified answer; two or three turns

The policy's own failures, in the run folder that holds them, become rows of repair too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from mooreeval.candidate import Candidate
from mooreeval.extract import extract
from mooreeval.verdict import Status, Verdict
from musacoder.data.asking import Asking, judged_by, row
from musacoder.data.io import Judgement
from musacoder.data.mutations import RULES, Kind
from musacoder.data.records import Program, Row, RowKind
from musacoder.prompts import PromptTooLong
from musacoder.prompts.templates import fence
from musacoder.runlog import Judged, Key, RunFolder, Sample

_MOST_LINES = 3  # changed lines that a cause shows
_FAILED = (Status.ILLEGAL, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.INCORRECT)
# By what a rule plants: statuses that show it, and kinds of findings of which one must be told, if any is listed.
_SHOWN_BY: Mapping[str, tuple[tuple[Status, ...], tuple[str, ...]]] = {
    "out_of_bounds": ((Status.RUNTIME_ERROR,), ("out_of_bounds", "host_memory")),
    "race": ((Status.RUNTIME_ERROR,), ("race",)),
    "shared_out_of_bounds": ((Status.RUNTIME_ERROR,), ("shared_out_of_bounds",)),
    "uninitialized": ((Status.INCORRECT, Status.RUNTIME_ERROR), ()),
    "divergent_barrier": ((Status.RUNTIME_ERROR,), ("divergent_barrier", "deadlock")),
    "wrong_values": ((Status.INCORRECT, Status.RUNTIME_ERROR), ()),
    "runtime_error": ((Status.RUNTIME_ERROR,), ()),
    "compile_error": ((Status.COMPILE_ERROR,), ()),
    "launch_error": ((Status.RUNTIME_ERROR,), ()),
    "no_launch": ((Status.ILLEGAL, Status.INCORRECT), ()),
    "fallback": ((Status.ILLEGAL,), ()),
}
_CAUSES: Mapping[Kind, str] = {
    "index": "It addresses the wrong element",
    "guard": "Its bound lets the wrong threads or steps through",
    "barrier": "Threads of a block are not ordered as they have to be",
    "memory": "The memory that it uses is too small, or holds what nobody wrote",
    "dtype": "It uses the wrong type",
    "operator": "It leaves out an operation of the task",
    "value": "It computes a wrong value",
    "launch": "Its launch is not one that runs the kernel",
    "syntax": "It does not compile",
    "fallback": "PyTorch computes what a kernel of its own has to compute",
}


def shows_its_fault(judgement: Judgement) -> bool:
    """Whether the verdict of a mutant tells of what was planted in it, by status and finding."""
    verdict = judgement.verdict
    errors = {f.kind.value for f in verdict.findings if f.severity == "error"}
    for name in judgement.rules:
        statuses, kinds = _SHOWN_BY[RULES[name].planted]
        if verdict.status in statuses and (not kinds or errors.intersection(kinds)):
            return True
    return False


def cause(program: Program, judgement: Judgement) -> str:
    """What is wrong, in words and lines: exact, because the verified answer is known."""
    words = [_CAUSES[RULES[name].kind] for name in judgement.rules]
    return ". ".join(dict.fromkeys(words)) + changed_lines(judgement.code, program.candidate_code)


def changed_lines(wrong: str, right: str) -> str:
    """Lines that differ: `: line 12, `if (i <= n)`, has to be `if (i < n)`.`; ends the sentence before it."""
    before, after = wrong.splitlines(), right.splitlines()
    told = []
    for tag, low, high, other_low, other_high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            was, now = _shown(before[low:high]), _shown(after[other_low:other_high])
            at = f"line {low + 1}, {was}," if was else f"before line {low + 1}"
            told.append(f"{at} has to be {now}" if was and now else f"{at} goes" if was else f"{at} belongs {now}")
    if not told:
        return "."
    more = f"; and {len(told) - _MOST_LINES} more places" if len(told) > _MOST_LINES else ""
    return f": {'; '.join(told[:_MOST_LINES])}{more}."


def _shown(lines: Sequence[str]) -> str:
    """The first line that is not empty, quoted, and how many follow."""
    full = [line.strip() for line in lines if line.strip()]
    if not full:
        return ""
    first = full[0].replace("`", "'")
    return f"`{first}`" + (f" and {len(full) - 1} lines more" if len(full) > 1 else "")


# ------------------------------------------------------------------------------------------------------------- mutants
def rows_of_mutants(program: Program, judgements: Sequence[Judgement], asking: Asking) -> Iterator[Row]:
    """Reviewer and repair rows of one program. `judgements` are its own and its mutants'.

    None where the program itself was not called correct. What has no room in a prompt is left out.
    """
    if not any(not j.rules and j.verdict.status is Status.CORRECT for j in judgements):
        return
    shown = [j for j in judgements if j.rules and shows_its_fault(j)]
    by_rules = {j.rules: j for j in shown if len(j.rules) == 1}
    for judgement in shown:
        if len(judgement.rules) == 1:
            yield from _reviewed(program, judgement, asking)
            yield from _repaired(program, [judgement], asking)
        else:
            parts = [by_rules[(name,)] for name in judgement.rules if (name,) in by_rules]
            rest = next((p for p in parts if _is_part(program.candidate_code, p.code, judgement.code)), None)
            yield from _repaired(program, [judgement, rest] if rest else [judgement], asking)


def _is_part(base: str, part: str, whole: str) -> bool:
    """Whether each line in which `part` differs from the base stands in `whole` too, and that differs in more."""
    lines = [text.split("\n") for text in (base, part, whole)]
    same_length = len({len(each) for each in lines}) == 1
    return same_length and part != whole and all(p in (b, w) for b, p, w in zip(*lines, strict=True))


def _reviewed(program: Program, judgement: Judgement, asking: Asking) -> Iterator[Row]:
    task, wrong = fence(program.task_code, "python"), fence(judgement.code, "python")
    text = f"{task}\nThis answer is wrong:\n{wrong}\nSay what is wrong and where, then give the whole corrected file:"
    answer = f"{cause(program, judgement)}\n\n{fence(program.candidate_code, 'python')}"
    if (prompt := asking.own(text)) is not None:
        yield row(RowKind.REVIEWER, program, prompt, answer, _facts([judgement]), source="mutation")


def _repaired(program: Program, failed: Sequence[Judgement], asking: Asking) -> Iterator[Row]:
    try:
        prompt = asking.repair(program, [(j.code, j.verdict) for j in failed])
    except PromptTooLong:
        return
    answer = asking.answer(program.candidate_code, cause(program, failed[-1]))
    yield row(RowKind.REPAIR, program, prompt, answer, _facts(failed), source="mutation")


def _facts(failed: Sequence[Judgement]) -> dict[str, str | int]:
    last = failed[-1]
    kinds = ", ".join(RULES[name].kind for name in last.rules)
    return {"mutation": ", ".join(last.rules), "kind": kinds, "turns": len(failed) + 1, **judged_by(last.verdict)}


# ------------------------------------------------------------------------------------------------- a policy's failures
def rows_of_run(run: RunFolder, pool: Mapping[str, Sequence[Program]], asking: Asking) -> Iterator[Row]:
    """Repair rows of a run folder's failures, for tasks (by hash) of which the pool has a verified answer.

    A sample whose later turn was right is a trajectory of its own; the others end with an answer of the pool, the i-th
    failure of a task with its i-th answer, again from the first where there are more failures.
    """
    hashes = {entry.name: entry.hash for entry in run.manifest.tasks}
    of_task: dict[str, int] = defaultdict(int)
    for turns in _conversations(run.samples(), run.verdicts()):
        answers = pool.get(hashes.get(turns[0][0].task, ""), ())
        if not answers:
            continue
        failed, righted = _split(turns)
        if not failed:
            continue
        program = answers[of_task[answers[0].task_hash] % len(answers)]
        of_task[program.task_hash] += 1
        facts = {"verified_by": run.manifest.backend} if righted else {}
        code = righted or program.candidate_code
        yield from _row_of_run(program, failed, code, asking, f"policy:{run.manifest.model}", facts)


def _row_of_run(
    program: Program,
    failed: Sequence[tuple[str, Verdict]],
    code: str,
    asking: Asking,
    source: str,
    more: Mapping[str, str],
) -> Iterator[Row]:
    try:
        prompt = asking.repair(program, failed)
    except PromptTooLong:
        return
    facts = {"turns": len(failed) + 1, "own_answer": code != program.candidate_code, **judged_by(failed[-1][1]), **more}
    yield row(RowKind.REPAIR, program, prompt, asking.answer(code), facts, source=source)


def _conversations(samples: Iterable[Sample], verdicts: Iterable[Judged]) -> list[list[tuple[Sample, Judged]]]:
    """Judged turns of each answer, in their order; only as far as every turn before was judged too."""
    judged: dict[Key, Judged] = {j.key: j for j in verdicts}
    found: dict[tuple[str, int], dict[int, tuple[Sample, Judged]]] = defaultdict(dict)
    for sample in samples:
        if sample.answer is not None and sample.key in judged and judged[sample.key].verdict is not None:
            found[sample.task, sample.index][sample.turn] = (sample, judged[sample.key])
    whole = []
    for key in sorted(found):
        turns = [found[key][turn] for turn in range(1, len(found[key]) + 1) if turn in found[key]]
        if turns and turns[0][0].turn == 1 and len(turns) == len(found[key]):
            whole.append(turns)
    return whole


def _split(turns: Sequence[tuple[Sample, Judged]]) -> tuple[list[tuple[str, Verdict]], str | None]:
    """(code, verdict) of the failed answers before the first right one, and that one's code, if there is one."""
    failed: list[tuple[str, Verdict]] = []
    for sample, judged in turns:
        found = extract(sample.answer or "")
        assert judged.verdict is not None
        if not isinstance(found, Candidate):
            continue
        if judged.verdict.status is Status.CORRECT:
            return failed, found.code
        if judged.verdict.status in _FAILED:
            failed.append((found.code, judged.verdict))
    return failed, None
