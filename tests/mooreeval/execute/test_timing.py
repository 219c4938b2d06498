"""The timer against peers whose true times are known: no real clock but the budget's is involved."""

import random

import pytest

from mooreeval.config import TimingConfig
from mooreeval.execute.gpu_state import GpuState
from mooreeval.execute.timed_sets import set_of_call
from mooreeval.execute.timing import Untimed, Work, WrongOutput, measure, slower_neighbour
from mooreeval.verdict import Mismatch


def work_of(input_bytes, output_bytes):
    return Work(input_bytes, output_bytes, cache_bytes=60 << 20, memory_bytes=140 << 30, peak_bytes_per_second=4.8e12)


SMALL, CACHED = work_of(1 << 20, 1 << 20), work_of(4096, 4096)


class Modelled:
    """Peers whose blocks take `calls` times a known time, with noise, and a round trip on top."""

    def __init__(self, baseline: float, candidate: float, noise: float = 0.002, **faults: float) -> None:
        self.true = {"baseline": baseline, "candidate": candidate}
        self.noise, self.faults, self.source = noise, faults, random.Random(1)
        self.rounds, self.checked, self.seen = [], 0, set()

    def fresh_inputs(self, round_index, count, cycle):
        self.rounds.append((round_index, count))
        self.cycle = cycle
        self.seen.clear()

    def baseline(self, calls, first, kept, held=0.0):
        return held + self._block("baseline", calls)

    def candidate(self, calls, first, kept, held=0.0):
        if held:  # launches take no time of their own then
            return held + self._block("candidate", calls / 2)
        if "lazy" in self.faults:  # does one call's work, however many were asked for
            return self._block("candidate", min(calls, 1))
        if "replays" in self.faults:  # remembers this share of its outputs by the address of its input
            sets = [set_of_call(first, k, self.cycle) for k in range(first, first + calls)]
            assert max(sets, default=0) < self.rounds[-1][1]
            again = sum(s in self.seen or s in sets[:i] for i, s in enumerate(sets))
            self.seen.update(sets)
            return self._block("candidate", calls - again * self.faults["replays"])
        return self._block("candidate", calls)

    def _block(self, side, calls):
        drift = 1 + 0.1 * len(self.rounds) / 20  # the device warms up: both sides alike
        return 60e-6 + calls * self.true[side] * drift * self.source.lognormvariate(0, self.noise)

    def check(self, back):
        self.checked += 1
        if self.checked == self.faults.get("wrong_at"):
            raise WrongOutput(Mismatch(output="output", kind="values", message="2 of 4 elements are wrong."))

    def state(self):
        hot = "hot" in self.faults and len(self.rounds) < self.faults["hot"]
        return GpuState(1980, 50, "heat" if hot else None)


def run(peers, work=SMALL, **config):
    return measure(peers, work, TimingConfig(**config), random.Random(2))


@pytest.mark.parametrize(("baseline", "candidate"), [(10e-6, 5e-6), (254e-6, 250e-6), (35e-6, 70e-6), (9e-3, 3e-3)])
def test_the_ratio_is_found_within_its_interval_though_the_device_warms_up(baseline, candidate):
    measured = run(Modelled(baseline, candidate))
    speedup = measured.speedup()
    assert speedup.value == pytest.approx(baseline / candidate, rel=0.01)
    assert speedup.width <= 0.01
    assert len(measured.candidate) >= 6


def test_every_round_has_new_inputs_and_shows_an_output():
    peers = Modelled(50e-6, 40e-6)
    measured = run(peers)
    indices = [index for index, _count in peers.rounds]
    assert indices == sorted(set(indices))
    assert {count for _index, count in peers.rounds[1:]} == {SMALL.sets + measured.short_calls}
    assert peers.checked == len(peers.rounds) - 1
    assert measured.short_calls == pytest.approx(1.5e-3 / 40e-6, abs=1)


def test_short_calls_are_told_without_their_launches_too():
    assert run(Modelled(12e-6, 8e-6)).on_device == pytest.approx((12e-6, 4e-6), rel=0.1)
    assert run(Modelled(80e-6, 60e-6)).on_device is None


def test_noise_ends_with_the_budget_and_a_wide_interval():
    measured = run(Modelled(50e-6, 40e-6, noise=0.3), budget_seconds=0.01)
    assert measured.speedup().width > 0.01


@pytest.mark.parametrize("candidate", [5e-6, 60e-6, 400e-6, 1e-3, 6e-3])
def test_work_that_is_put_off_until_it_is_asked_for_is_not_scored(candidate):
    with pytest.raises(Untimed, match=r"in a short queue|less than a launch"):
        run(Modelled(2 * candidate, candidate, lazy=1), CACHED)


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("candidate", [8e-6, 60e-6, 400e-6, 3e-3])
@pytest.mark.parametrize("size", [4096, 1 << 20, 24 << 20])
def test_outputs_that_are_remembered_by_the_address_of_their_input_gain_next_to_nothing(candidate, size, share):
    try:
        measured = run(Modelled(2 * candidate, candidate, replays=share), work_of(size, size))
    except Untimed:
        return
    assert measured.speedup().value < 2 * 1.05


def test_more_bytes_a_second_than_memory_gives_are_not_scored():
    large = work_of(6 << 30, 6 << 30)
    with pytest.raises(Untimed, match="faster than the device's memory"):
        run(Modelled(3e-3, 1e-3), large)


def test_a_wrong_output_of_a_timed_call_ends_it():
    with pytest.raises(WrongOutput):
        run(Modelled(50e-6, 40e-6, wrong_at=2))


def test_a_slow_call_is_timed_with_few_of_them():
    peers = Modelled(0.2, 0.1)
    measured = run(peers, work_of(5 << 20, 5 << 20))
    assert measured.speedup().value == pytest.approx(2, rel=0.02)
    assert measured.calls <= 3 * len(measured.candidate)


def test_a_throttled_run_is_repeated():
    cool, hot = Modelled(50e-6, 40e-6), Modelled(50e-6, 40e-6, hot=3)
    assert run(cool).throttled is run(hot).throttled is None
    assert len(hot.rounds) > len(cool.rounds) + 1


@pytest.mark.parametrize(
    ("input_bytes", "sets"), [(4096, 32), (1 << 20, 120), (64 << 20, 2), (6 << 30, 1), (40 << 30, 1), (0, 32)]
)
def test_sets_exceed_the_cache_within_reason(input_bytes, sets):
    assert work_of(input_bytes, 1).sets == sets


def test_a_moving_clock_is_told():
    assert slower_neighbour([GpuState(345, 30, None), GpuState(1980, 40, None), GpuState(1500, 40, None)])
    assert slower_neighbour([GpuState(345, 30, None), GpuState(1980, 40, None)]) is None
