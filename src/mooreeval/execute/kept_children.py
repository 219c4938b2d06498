"""Children of the judge's own that outlive a verdict: opening a real device takes longer than judging on it.

A driver opens its contexts one after the other, five a second, however many cores there are. On the simulator they save
the forks of a large process, and its end. A candidate's process is always a new one. The process that compares runs
nobody's code, and one that runs a task may run the same task again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooreeval.execute.children import Child

MOST_IDLE = {"compare": 8, "reference": 4}  # each holds half a gigabyte of the device's memory
MOST_IDLE_ON_CPU = {"compare": 32, "reference": 8}  # a comparison holds nothing, a task what Python keeps of it


class KeptChildren:
    """Idle children by role and key; the longest idle go first. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, deque[tuple[str, Child]]] = {role: deque() for role in MOST_IDLE}
        self._closed = False

    def take(self, role: str, key: str) -> Child | None:
        """One that was given back under this key and still lives; it is the caller's then."""
        while (child := self._taken(role, key)) is not None:
            if child.is_alive():
                return child
            child.close()
        return None

    def _taken(self, role: str, key: str) -> Child | None:
        with self._lock:
            idle = self._idle[role]
            for entry in idle:
                if entry[0] == key:
                    idle.remove(entry)
                    return entry[1]
        return None

    def give(self, role: str, key: str, child: Child, most_idle: Mapping[str, int] = MOST_IDLE) -> None:
        """Keep a child that has nothing left to do; another may have to go for it. `most_idle`: of each role."""
        with self._lock:
            idle = self._idle[role]
            idle.append((key, child))
            most = 0 if self._closed else most_idle[role]
            surplus = [idle.popleft()[1] for _ in range(len(idle) - most)]
        for child in surplus:
            child.close()

    def close(self) -> None:
        """End all of them, and whatever is given back from now on."""
        with self._lock:
            self._closed = True
            idle = [child for entries in self._idle.values() for _key, child in entries]
            for entries in self._idle.values():
                entries.clear()
        for child in idle:
            child.leave()
        for child in idle:
            child.close()
