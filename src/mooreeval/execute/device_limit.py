"""A bound of the device's memory for a candidate, kept from outside: no driver has one for a process.

What its processes hold is asked of the driver's management library, four times a second. Whoever is over the bound is
ended, as whoever takes too much of the host's memory is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator

from mooreeval.execute.children import Child
from mooreeval.execute.nvml import ManagedDevice
from mooreeval.sandbox.descendants import descendants

LOOKS_EVERY_SECONDS = 0.25


@contextlib.contextmanager
def bounded(child: Child, visible: str, most_bytes: int, on_blind: Callable[[], None]) -> Generator[None]:
    """Within, the child and all below it are ended when they hold more than `most_bytes` of the device's memory.

    `on_blind` is called once where the driver does not tell what processes hold, and nothing is bounded.
    """
    device = ManagedDevice(visible)
    if device.held_by(()) is None:
        on_blind()
        yield
        return
    root, handle = child.pid, os.dup(child.pidfd)  # the child's own may be closed meanwhile
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOKS_EVERY_SECONDS):
            held = device.held_by(descendants(root))
            if held is None:
                on_blind()
                return
            if held > most_bytes:
                child.tell(f"ended by the sandbox: it held more than {most_bytes >> 20} MiB of the device's memory")
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
                return

    watcher = threading.Thread(target=watch, name="device-memory", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        os.close(handle)
