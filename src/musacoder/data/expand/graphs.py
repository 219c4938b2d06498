"""Random graphs as jobs of expansion: NNSmith draws each from its seed, in a process of its own. No torch."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from mooreeval.errors import NotJudged, TaskError, UsageError
from mooreeval.task import make_task
from musacoder.data.expand.graph_task import DrawnGraph, graph_task
from musacoder.data.expand.records import Dropped, ExpandConfig, ExpandedTask, Explored, Job, Origin, Reason
from musacoder.data.expand.sandboxed import Sandboxed
from musacoder.evaluate.families import family_of

PROGRAM = "musacoder.data.expand.inside.draw_graphs"
DRAW_SECONDS = 120.0  # the first one loads torch and z3
LICENCE = "generated"


class Drawer:
    """The process that draws; started with the first graph, and anew after one that did not end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def draw(self, seed: int, nodes: int) -> dict[str, Any]:
        """A graph, or `{"failure": why}`. Raises TimeoutError, NotJudged where the process does not work at all."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps({"seed": seed, "nodes": nodes}) + "\n")
                process.stdin.flush()
                if not select.select([process.stdout], [], [], DRAW_SECONDS)[0]:
                    raise TimeoutError
                line = process.stdout.readline()
            except (BrokenPipeError, TimeoutError) as error:
                self.close()
                if isinstance(error, TimeoutError):
                    raise
                line = ""
        if not line:
            raise NotJudged("the process that draws graphs ended; is NNSmith whole? (pip install 'musacoder[data]')")
        return json.loads(line)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                text=True,
            )
        return self._process

    def close(self) -> None:
        """End the process; idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def graph_jobs(config: ExpandConfig, drawer: Drawer) -> Iterator[Job]:
    """A job for each graph that the configuration asks for. Raises UsageError where NNSmith is not installed."""
    if config.graphs and find_spec("nnsmith") is None:
        raise UsageError("graphs are drawn by NNSmith, which is not installed: pip install 'musacoder[data]'")
    for number in range(config.graphs):
        seed = config.seed * 1_000_003 + number
        yield Job(f"graph:{seed}", partial(_explored, seed, config.graph_nodes, drawer))


def _explored(seed: int, nodes: int, drawer: Drawer, _children: Sandboxed) -> Explored:
    what = f"graph:{seed}"
    try:
        answer = drawer.draw(seed, nodes)
        if failure := answer.get("failure"):
            dropped = Dropped(what=what, reason=Reason.UNVERIFIABLE, message=str(failure))
            return Explored(what=what, dropped=dropped)
        graph = DrawnGraph.model_validate(answer)
        code = make_task(what, graph_task(graph)).code
    except TimeoutError:
        message = f"NNSmith drew none within {DRAW_SECONDS:g} s"
        return Explored(what=what, dropped=Dropped(what=what, reason=Reason.HANGS, message=message))
    except (ValidationError, TaskError) as error:
        raise NotJudged(f"{what}: what NNSmith drew could not be written: {error}") from None
    task = ExpandedTask(
        task_id=f"nnsmith/{seed}",
        code=code,
        origin=Origin.GRAPH,
        made_from=what,
        licence=LICENCE,
        family=family_of(code),
        operators=tuple(step.operator for step in graph.steps),
    )
    return Explored(what=what, tasks=(task,))
