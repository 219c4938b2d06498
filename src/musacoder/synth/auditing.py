"""The stage that judges some of the programs again, alone, by everything that the judge has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooreeval.errors import NotJudged
from mooreeval.many import as_completed
from mooreeval.verify import LocalVerifier
from musacoder.data.records import Program
from musacoder.data.trusted import Audited, audited, drawn_for_audit, require_agreement
from musacoder.synth.folder import AUDIT, PROGRAMS
from musacoder.synth.run import SynthRun


def audit_programs(run: SynthRun) -> Mapping[str, Any]:
    """The stage. Raises Disagreement at the first program that the judge does not call correct; NotJudged."""
    programs = list(run.folder.read(PROGRAMS, Program))
    drawn = drawn_for_audit(programs, run.config.audit.share, run.config.audit.seed)
    known = {entry.program_hash: entry for entry in run.folder.read(AUDIT, Audited)}
    wanted = {p.program_hash for p in drawn}
    require_agreement(entry for key, entry in known.items() if key in wanted)
    todo = [p for p in drawn if p.program_hash not in known]
    if todo:
        _judge(run, todo, len(drawn))
    return {"audited": len(drawn), "of": len(programs), "agree": len(drawn)}


def _judge(run: SynthRun, todo: list[Program], total: int) -> None:
    missing: list[str] = []
    done = total - len(todo)
    with run.progress("audit", total) as tell, LocalVerifier(run.config.verify) as verifier:
        jobs = ((lambda p=p: _entry(p, verifier)) for p in todo)
        for entry in as_completed(jobs, run.config.work.workers, verifier.close):
            if isinstance(entry, str):
                missing.append(entry)
                continue
            run.folder.append(AUDIT, [entry])
            require_agreement([entry])
            done += 1
            tell(done, "agree")
    if missing:
        raise NotJudged(f"{len(missing)} programs of the audit were not judged, run it again: {missing[0]}")


def _entry(program: Program, verifier: LocalVerifier) -> Audited | str:
    """The entry, or why there is none."""
    try:
        return audited(program, verifier)
    except NotJudged as error:
        return f"program {program.program_hash[:12]}: {error}"
