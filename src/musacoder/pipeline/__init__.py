"""Asking and judging at the same time, with everything in the run folder as it comes.

    Ledger, what is there  ──>  Plan, what is missing
                                  │
                                  ▼        keys
    model <── asking threads <── Desk ──> judging threads ──> verifier
                   │               ▲             │
                   ▼               └── repairs ──┤
             samples.jsonl                       ▼
                   └──────── answers ─────>  verdicts.jsonl

Between threads travel keys alone: an answer is read from the disk by whoever needs it, so memory does not grow with a
run. What waits for a judge is bounded, and asking pauses at the bound. Nothing is decided by who comes first: what is
asked next depends on the records of the same answer alone, so an interrupted run ends with what it would have had.
"""

from musacoder.pipeline.ledger import NOT_JUDGED, REPAIRABLE, Ledger
from musacoder.pipeline.outage import NoMoreAnswers
from musacoder.pipeline.pipeline import Pipeline, Prompts, Told

__all__ = ["NOT_JUDGED", "REPAIRABLE", "Ledger", "NoMoreAnswers", "Pipeline", "Prompts", "Told"]
