"""The children of one judgement: started with its limits, their devices opened, the device taken in turns."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged
from mooreeval.execute.asking import last_line
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.device_limit import bounded
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.kept_children import MOST_IDLE, MOST_IDLE_ON_CPU
from mooreeval.toolchains.base import Toolchain

START_SECONDS = 60.0  # opening a device
SMALL_SHARE = 512  # of the device's memory; what trials take is some dozen times what goes in
REST_SECONDS = 20.0  # giving back what it holds
SEE_NO_DEVICE = ("recorder", "reader", "metadata")  # roles whose children never get a real one


class Processes:
    """Starts children for one judgement; what they say of the device, and how long it was held, is its evidence."""

    def __init__(self, config: VerifyConfig, launcher: Launcher, toolchain: Toolchain, evidence: Evidence) -> None:
        self._config, self._launcher, self._toolchain, self._evidence = config, launcher, toolchain, evidence

    @property
    def on_device(self) -> bool:
        """Whether references run and outputs are compared where the candidate runs; on the simulator the CPU does."""
        return self._config.backend != "simulator"

    def spawn(self, role: str, readable: Iterable[str] = ()) -> Child:
        """A child with this role. `readable`: more that it may read."""
        memory, real = self._config.memory, self.on_device and role not in SEE_NO_DEVICE
        limits = {
            "data_bytes": (memory.device_child_mib if real else memory.child_mib) << 20,
            "disk_bytes": memory.disk_mib << 20,
            "file_bytes": memory.disk_mib << 20,
            "log_bytes": memory.log_mib << 20,
            "tasks": memory.tasks,
            "core_bytes": 0,
        }
        child = self._launcher.spawn(role, limits, device=real, readable=[*self._readable(role), *readable])
        self._evidence.sandbox = self._launcher.sandbox
        return child

    def _readable(self, role: str) -> list[str]:
        """What of the cache a child loads: the parts that open its device, and what was built for this candidate."""
        if role == "recorder":
            options = self._toolchain.recorder_options()
            return [str(Path(options[name]).parent) for name in ("runtime_lib", "device_lib")]
        if role in ("reader", "metadata") or (not self.on_device and role != "run"):
            return []
        artefacts = [str(artefact.path.parent) for artefact in self._evidence.artefacts]
        return [*self._toolchain.shown_to_children(), *(artefacts if role in ("run", "profile") else [])]

    def begin_start(self, child: Child) -> None:
        """Let a child open the backend's device, while others do something else."""
        self._begin(child, self._config.backend, self._toolchain.device_options())

    def begin_stand_in(self, recorder: Child) -> None:
        """Let the recorder open the simulated device that stands in for any other."""
        self._begin(recorder, "simulator", self._toolchain.recorder_options())

    def finish_stand_in(self, recorder: Child) -> None:
        """Wait until it is open. A verdict names it only where it is the device that judges."""
        if self.on_device:
            with _told_as_ours(recorder):
                recorder.finish()
        else:
            self.finish_start(recorder)

    def _begin(self, child: Child, backend: str, options: dict[str, Any]) -> None:
        if backend == "simulator":
            simulator = self._config.simulator
            options = {**options, "memory_bytes": simulator.device_mib << 20, "threads": simulator.threads}
        with _told_as_ours(child):
            child.begin("start", {"backend": backend, "options": options}, {}, START_SECONDS)

    def finish_start(self, child: Child) -> None:
        """Wait until its device is open; what it says of itself is told of the last one opened."""
        if child.is_asked:
            with _told_as_ours(child):
                child.device = child.finish().fields
        self._evidence.device, self._evidence.tensor_device = child.device["name"], child.device["tensor_device"]

    @contextmanager
    def lasting(self, role: str, key: str = "") -> Generator[Child]:
        """A child of the judge's own for what `key` names, one of an earlier verdict where there is one.

        A new one has begun to open its device, if it has one. It is kept for the next verdict unless this one fails.
        """
        kept = self._launcher.kept
        child = kept.take(role, key)
        is_new = child is None
        child = child or self.spawn(role)
        child.is_reused = not is_new
        try:
            if is_new and self.on_device:
                self.begin_start(child)
            yield child
        except BaseException:
            child.close()
            raise
        try:
            child.ask("rest", {}, {}, REST_SECONDS)
        except ChildEnded:
            child.close()
        else:
            kept.give(role, key, child, MOST_IDLE if self.on_device else MOST_IDLE_ON_CPU)

    @contextmanager
    def turn(self, *, shared: bool = False) -> Generator[None]:
        """The device for this judgement, alone or beside a few others' trials.

        Contexts are made and candidates are built while others have it.
        """
        with self._toolchain.device_turn(shared=shared):
            start = time.monotonic()
            try:
                yield
            finally:
                seconds = time.monotonic() - start
                self._evidence.device_seconds += seconds
                self._evidence.shared_device_seconds += seconds if shared else 0.0

    @contextmanager
    def bounded(self, child: Child) -> Generator[None]:
        """Within, a candidate's process holds no more of a real device's memory than it may."""
        if not self.on_device:
            yield
            return
        most = int(self._toolchain.facts.total_memory * self._config.memory.device_share)
        with bounded(child, self._config.cuda.device, most, self._no_bound):
            yield

    def _no_bound(self) -> None:
        self._evidence.device_is_unbounded = True

    def may_share(self, nbytes: int) -> bool:
        """Whether trials over so many bytes leave room for others on the device."""
        return self.on_device and nbytes <= self._toolchain.facts.total_memory // SMALL_SHARE


@contextmanager
def _told_as_ours(child: Child) -> Generator[None]:
    """NotJudged where a child ends while it opens its device: no candidate has been read yet."""
    try:
        yield
    except ChildEnded as end:
        raise NotJudged(f"the device could not be opened ({end}): {last_line(child.log_tail())}") from None
