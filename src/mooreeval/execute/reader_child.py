"""The reader: looks at a candidate's text for broken rules. Runs nothing of it.

Operations
    read   code, extensions, native, single, inputs, init_inputs -> hits

Parsers are written for text that people wrote. One that a hostile text brings down, or lets grow, is a process of its
own, with limits of memory and of processor time, and lives for one candidate.
"""

from __future__ import annotations

import signal
from typing import Any

from mooreeval.execute.answers import ExtensionClaim
from mooreeval.legality.source import broken_rules

CPU_SECONDS = 60.0  # a million characters take about ten


class ReaderChild:
    """Holds nothing from one question to the next."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op != "read":
            raise ValueError(f"the reader has no operation {op}")
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process, in a C library too
        extensions = tuple(ExtensionClaim.model_validate(each).extension() for each in fields["extensions"])
        hits = broken_rules(
            fields["code"],
            extensions,
            native=fields["native"],
            single=fields["single"],
            inputs=fields["inputs"],
            init_inputs=fields["init_inputs"],
        )
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"hits": [hit.model_dump(mode="json") for hit in hits]}, {}
