"""Fast ways to build are checked: a share of candidates is built by the fullest way, too, and judged again.

One difference takes the fast ways out of use for as long as the verifier lives; the fuller verdict is the one that
counts, and says so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from mooreeval.verdict import Verdict

SAFE = ("", "full")  # of the only way to build, or of the one with all of PyTorch's headers
_DRAWS = 1 << 53


def told(verdict: Verdict) -> str:
    """What of a verdict must not depend on the way to build: its status, and the kind and line of each error found."""
    found = sorted({f"{f.kind.value} at {f.place}" for f in verdict.findings if f.severity == "error"})
    return f"{verdict.status.value} ({', '.join(found)})" if found else verdict.status.value


class Audit:
    """Which candidates are judged twice, and what came of it. Safe for several threads.

    `share`: of the candidates that a fast way built or refused, between 0 and 1.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self.audited = 0
        self.differences: list[str] = []  # one line each
        self._lock = threading.Lock()

    def is_due(self, seed: int, tiers: Sequence[str]) -> bool:
        """Whether a candidate is one of them; `seed` is its own, so that it is so again in the same run."""
        return any(tier not in SAFE for tier in tiers) and (seed % _DRAWS) / _DRAWS < self.share

    def compared(self, tiers: Sequence[str], fast: str, full: str) -> str | None:
        """Note what was `told` of both; the difference, in one line, where there is one."""
        with self._lock:
            self.audited += 1
            if fast == full:
                return None
            ways = ", ".join(sorted({tier for tier in tiers if tier not in SAFE}))
            self.differences.append(f"built by {ways} the candidate was {fast}, with all headers it is {full}")
            return self.differences[-1]
