"""The metadata child: one forward pass of a task without values, on the CPU.

Operations
    describe  name, code -> metadata, see `metadata.task_metadata`
"""

from __future__ import annotations

from typing import Any

from mooreeval.execute.metadata import task_metadata


class MetadataChild:
    """Holds nothing from one question to the next."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op != "describe":
            raise ValueError(f"the metadata child has no operation {op}")
        return {"metadata": task_metadata(fields["code"], name=fields["name"])}, {}
