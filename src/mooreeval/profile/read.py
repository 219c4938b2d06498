"""What ncu printed, as a `Profile`. A candidate could have written all of it: nothing but advice comes of it."""

from __future__ import annotations

from mooreeval.profile.advice import advice, limit_of
from mooreeval.profile.kernels import MAX_KERNELS, kernel_profiles
from mooreeval.profile.ncu import MAX_LAUNCHES, why_nothing
from mooreeval.profile.table import read_table
from mooreeval.verdict import Profile

_CAPPED = f"only the first {MAX_LAUNCHES} launches of a call were profiled; what follows is about them"


def read_profile(output: str, log: str, call_us: float | None = None) -> Profile:
    """The longest kernels and what is to be said of them; why there are none, where there are none.

    Args:
        output: what ncu printed.
        log: what the profiled program printed.
        call_us: how long a call takes, where it was timed.
    """
    rows = read_table(output)
    kernels = [k.model_copy(update={"limit": limit_of(k)}) for k in kernel_profiles(rows)]
    if not kernels:
        return Profile(missing=why_nothing(output, log))
    capped = len(rows) >= MAX_LAUNCHES  # then the whole of a call is not known
    total_us = sum(k.duration_us * k.launches for k in kernels)
    return Profile(
        kernels=tuple(kernels[:MAX_KERNELS]),
        launches=len(rows),
        total_us=round(total_us, 3),
        advice=((_CAPPED,) if capped else ()) + advice(kernels, total_us, None if capped else call_us),
    )
