"""The describing child: runs one task on tensors without values and tells what they look like.

Operations
    describe   name, code -> see `metadata.task_metadata`
"""

from __future__ import annotations

from typing import Any

from mooreeval.execute.metadata import task_metadata


class DescribeChild:
    """Lives for one task."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op != "describe":
            raise ValueError(f"the describing child has no operation {op}")
        return task_metadata(fields["code"], name=fields["name"]), {}
