"""Has a candidate's source read by a child, and believes of the answer what can be believed."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from mooreeval.errors import NotJudged, Transient, WireError
from mooreeval.execute.children import ChildEnded
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.execute.wire import MAX_TEXT
from mooreeval.legality.rules import MAX_HITS
from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.refusals import beyond_reading
from mooreeval.verdict import Place, RuleHit

READ_SECONDS = 600.0  # wall; the reader has a limit of its own on processor time
TRIES = 2
MOST_ARGUMENTS = 1000
_HITS = TypeAdapter(list[RuleHit])


def read_source(processes: Processes, code: str, evidence: Evidence, native: bool) -> list[RuleHit]:
    """The rules that a candidate breaks by its source, the gravest first.

    A text that ends every process that reads it breaks one too: what can't be read can't be allowed. NotJudged where
    it is the rules that fail.
    """
    every = evidence.recording.extensions
    readable = [extension for extension in every if not beyond_reading(extension)]  # the others are not built
    fields = {
        "code": code,
        "extensions": [extension.to_json() for extension in readable],
        "native": native,
        "single": evidence.single_precision,
        "inputs": evidence.input_kinds,
        "init_inputs": evidence.init_kinds,
    }
    if len(code) + sum(map(_size, readable)) > MAX_TEXT // 8:
        return [_unreadable("it is larger than anyone reads")]
    for _attempt in range(TRIES):
        try:
            with processes.spawn("reader") as reader:
                message = reader.ask("read", fields, {}, READ_SECONDS)
                if failure := message.fields.get("failure"):
                    raise NotJudged(f"the rules of legality failed on the candidate's source: {failure}")
                return _HITS.validate_python(message.fields["hits"])[:MAX_HITS]
        except ChildEnded as end:
            if end.timed_out:
                raise Transient("the candidate's source could not be read in time") from None
            ended = end
        except WireError:
            return [_unreadable("it is larger than anyone reads")]
    return [_unreadable(f"whatever reads it {_how(ended)}")]


def _unreadable(why: str) -> RuleHit:
    message = f"the source can't be read: {why}"
    return RuleHit(rule="unreadable_source", message=message, place=Place(file="candidate"))


def _how(end: ChildEnded) -> str:
    return f"ends with signal {-end.exit_code}" if end.exit_code and end.exit_code < 0 else "ends"


def _size(extension: Extension) -> int:
    return sum(len(source.text) for source in (*extension.sources, *extension.headers))


def kinds_of(value: Any) -> list[str] | None:
    """Kinds of arguments as the task's process tells them."""
    if not isinstance(value, list) or len(value) > MOST_ARGUMENTS:
        return None
    return [kind if isinstance(kind, str) else "other" for kind in value]
