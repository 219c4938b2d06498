"""How much of the machine is ours: cores and memory, as the scheduler and the control groups of the kernel say.

A container's share is in its control group and not in /proc/cpuinfo or /proc/meminfo. Both versions of control groups
are read, at our own group and at all above it; the tightest limit counts.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 1 << 60  # version 1 writes "none" as a number about as large as an address


@dataclass(frozen=True)
class Machine:
    """What this process may use. `proc`, `groups`: where the kernel tells it."""

    proc: Path = Path("/proc")
    groups: Path = Path("/sys/fs/cgroup")

    def cores(self) -> int:
        """Cores that we may run on, no more than the quota of CPU time pays for; at least one."""
        return max(1, min([len(os.sched_getaffinity(0)), *(int(quota) for quota in self._quotas())]))

    def memory_bytes(self) -> int:
        """All memory that we could have; at least one byte."""
        return max(1, min([self._meminfo("MemTotal"), *(limit for limit, _ in self._limits())]))

    def available_bytes(self) -> int:
        """Memory that nobody uses now, the page cache counted as unused."""
        return max(0, min([self._meminfo("MemAvailable"), *(limit - used for limit, used in self._limits())]))

    def _meminfo(self, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+) kB", _text(self.proc / "meminfo"), re.MULTILINE)
        return int(found[1]) << 10 if found else _NO_LIMIT

    def _quotas(self) -> Iterator[float]:
        for folder in self._folders("cpu"):
            words = _text(folder / "cpu.max").split()
            old = (_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))
            quota, period = words if len(words) == 2 else old
            with contextlib.suppress(ValueError, ZeroDivisionError):
                if float(quota) > 0:  # -1 and "max" are no quota
                    yield float(quota) / float(period)

    def _limits(self) -> Iterator[tuple[int, int]]:
        """(limit, used) of the groups that have a limit."""
        for folder in self._folders("memory"):
            for limit_name, used_name, prefix in (
                ("memory.max", "memory.current", ""),
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
            ):
                with contextlib.suppress(ValueError):
                    limit, used = int(_text(folder / limit_name)), int(_text(folder / used_name))
                    cached = re.findall(rf"^{prefix}(?:in)?active_file (\d+)", _text(folder / "memory.stat"), re.M)
                    if limit < _NO_LIMIT:
                        yield limit, max(0, used - sum(map(int, cached)))

    def _folders(self, controller: str) -> Iterator[Path]:
        """The folders of our group and of all above it; a container sees its own as the top."""
        for line in _text(self.proc / "self" / "cgroup").splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if controllers and controller not in controllers.split(","):
                continue
            tops = [self.groups / controllers, self.groups / controller] if controllers else [self.groups]
            top = next((folder for folder in tops if folder.is_dir()), None)
            if top is None:
                continue
            below = Path(path.lstrip("/"))
            yield from (top / part for part in (below, *below.parents) if ".." not in part.parts)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
