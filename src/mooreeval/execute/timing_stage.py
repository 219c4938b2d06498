"""The stage after the trials: a right candidate's time on a device, and what the verdict says of it."""

from __future__ import annotations

import random

from mooreeval.config import TimingConfig
from mooreeval.execute import conclude
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.timed_peers import CandidateRaised, TimedPeers
from mooreeval.execute.timing import Untimed, Work, WrongOutput, measure, slower_neighbour
from mooreeval.toolchains.cuda_probe import DeviceFacts


def work_of_a_call(evidence: Evidence, facts: DeviceFacts) -> Work:
    """What one call touches on this device."""
    return Work(*evidence.bytes_of_a_call, facts.L2_cache_size, facts.total_memory, facts.peak_bytes_per_second)


def time_candidate(
    peers: TimedPeers, evidence: Evidence, facts: DeviceFacts, config: TimingConfig, source: random.Random, code: str
) -> Conclusion | None:
    """Time a candidate into the evidence; None unless a timed call shows that it is not right after all.

    Args:
        peers: the candidate's and the task's process.
        evidence: what the trials showed; receives the timing, or a warning that says why there is none.
        facts: the device.
        config: how long.
        source: what is drawn at random.
        code: the candidate's, for the line of an exception.
    """
    try:
        measured = measure(peers, work_of_a_call(evidence, facts), config, source)
    except WrongOutput as wrong:
        return conclude.wrong_when_timed(wrong.mismatch)
    except CandidateRaised as raised:
        return conclude.load_error(raised.error, code, final=True)
    except Untimed as why:
        evidence.warnings.append(f"timing: {why}")
        return None
    evidence.timing = peers.timing(measured)
    if moved := slower_neighbour(measured.states):
        evidence.warnings.append(f"timing: {moved}")
    return None
