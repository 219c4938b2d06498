"""The reader: looks at a candidate's text for broken rules. Runs nothing of it.

Operations
    read   code, extensions, native, single, inputs, init_inputs -> hits, or the failure of a rule

Parsers are written for text that people wrote. One that a hostile text brings down, or lets grow, is a process of its
own, with limits of memory and of processor time, and lives for one candidate.
"""

from __future__ import annotations

import signal
import traceback
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
        options = {name: fields[name] for name in ("native", "single", "inputs", "init_inputs")}
        try:
            hits = broken_rules(fields["code"], extensions, **options)
        except (MemoryError, RecursionError):
            raise  # the text's doing: it ends this process
        except Exception as error:  # noqa: BLE001  a fault of the rules is ours, whatever text shows it
            traceback.print_exc()
            return {"failure": f"{type(error).__name__}: {error}"[:300]}, {}
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"hits": [hit.model_dump(mode="json") for hit in hits]}, {}
