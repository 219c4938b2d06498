"""Print what candidates ask to have compiled, as JSON: one line a candidate, a list of extensions each.

    python benchmarks/recorded.py TASK CANDIDATE [TASK CANDIDATE ...]

The candidate's Python runs here, with load_inline and load replaced and nothing else: no sandbox, no device. It is for
candidates that one trusts, such as the gallery's, and needs any build of PyTorch. A model that cannot be constructed
without a device still shows what its module asks for at import.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.record import Interceptor, StandIn


def extensions_from(line: str) -> list[Extension]:
    """The extensions of one printed line."""
    return [_extension(fields) for fields in json.loads(line)]


def _extension(fields: dict[str, Any]) -> Extension:
    for name in ("sources", "headers"):
        fields[name] = tuple(Source(**source) for source in fields[name])
    if fields["functions"] is not None:
        fields["functions"] = tuple((name, doc) for name, doc in fields["functions"])
    for name in ("cflags", "cuda_cflags", "ldflags"):
        fields[name] = tuple(fields[name])
    return Extension(**fields)


def recorded(task: Path, candidate: Path, interceptor: Interceptor) -> list[Extension]:
    """Run both files; whatever they raise ends them, and what was asked for until then counts."""
    interceptor.extensions = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception, SystemExit):
        own: dict[str, Any] = {"__name__": "candidate", "__file__": str(candidate)}
        exec(compile(candidate.read_text(encoding="utf-8"), str(candidate), "exec"), own)
        of_task: dict[str, Any] = {"__name__": "task", "__file__": str(task)}
        exec(compile(task.read_text(encoding="utf-8"), str(task), "exec"), of_task)
        own["ModelNew"](*of_task["get_init_inputs"]())
    return interceptor.extensions


def main() -> None:
    interceptor = Interceptor(lambda extension: StandIn(extension, lambda _arguments: None))
    interceptor.install()
    for task, candidate in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        print(json.dumps([asdict(e) for e in recorded(Path(task), Path(candidate), interceptor)]), flush=True)


if __name__ == "__main__":
    main()
