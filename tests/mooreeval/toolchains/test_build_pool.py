"""Compilers share slots, over threads and processes; who waits loses nothing by it and can leave."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.builds import becomes

from mooreeval.cache import FileCache
from mooreeval.config import PoolConfig
from mooreeval.errors import NotJudged, Transient
from mooreeval.machine import Machine
from mooreeval.toolchains.build_pool import BuildClock, BuildPool, Claim, CompilerCrashed

SH = "/bin/sh"
HOLDER = """
import sys
from pathlib import Path
from mooreeval.cache import FileCache
from mooreeval.config import PoolConfig
from mooreeval.toolchains.build_pool import BuildClock, BuildPool

cache = FileCache(Path(sys.argv[1]))
with cache.scratch("build-") as folder:
    BuildPool(cache, PoolConfig(builds=1)).run(["/bin/sh", "-c", sys.argv[2]], folder, BuildClock(600))
"""
# Adds 1 to the files in a folder while it runs, and writes down how many there are.
COUNTED = 'f=$(mktemp {0}/run.XXXX); ls {0} | grep -c run >>{1}; sleep 0.1; rm "$f"'


@dataclass(frozen=True)
class Small(Machine):
    """A machine with memory for so many compilers."""

    total: int = 8 << 30
    available: int = 8 << 30

    def cores(self) -> int:
        return 4

    def memory_bytes(self) -> int:
        return self.total

    def available_bytes(self) -> int:
        return self.available


def pool(cache: Path, builds: int | None = 1, machine: Machine | None = None, mib: int = 2048) -> BuildPool:
    return BuildPool(FileCache(cache), PoolConfig(builds=builds, build_mib=mib), machine)


def run(pool: BuildPool, script: str, folder: Path, seconds: float = 60.0) -> BuildClock:
    clock = BuildClock(seconds)
    assert pool.run([SH, "-c", script], folder, clock).returncode == 0
    return clock


def a_mark() -> str:
    """How long a process sleeps that can be told from every other."""
    return f"600.{time.monotonic_ns()}"


def asleep(mark: str) -> bool:
    """Does it sleep, in whatever namespace? What it writes would stay within the walls of compilers."""
    return any(_command(path) == ["sleep", mark] for path in Path("/proc").glob("[0-9]*/cmdline"))


def _command(path: Path) -> list[str]:
    try:
        return path.read_text().split("\0")[:-1]
    except OSError:  # it has just ended
        return []


def holder(cache: Path, script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HOLDER, str(cache), script])


@pytest.mark.parametrize(
    ("total", "available", "slots"), [(8 << 30, 8 << 30, 4), (5 << 30, 5 << 30, 2), (1 << 30, 1 << 30, 1)]
)
def test_there_are_as_many_slots_as_cores_and_memory_allow(
    tmp_path: Path, total: int, available: int, slots: int
) -> None:
    assert pool(tmp_path, None, Small(total=total, available=available)).slots == slots
    assert pool(tmp_path, 7, Small(total=total, available=available)).slots == 7


def test_threads_and_verifiers_of_one_cache_share_the_slots(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    pools = [pool(tmp_path / "cache", 2) for _ in range(2)]
    script = COUNTED.format(tmp_path / "runs", tmp_path / "counts")
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda k: run(pools[k % 2], script, tmp_path), range(12)))
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 12
    assert max(counts) == 2


def test_waiting_is_not_counted_and_is_told(tmp_path: Path) -> None:
    slow, quick = pool(tmp_path / "cache"), pool(tmp_path / "cache")
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, slow, f"touch {tmp_path}/begun; sleep 2", tmp_path)
        assert becomes((tmp_path / "begun").exists)
        clock = run(quick, "sleep 0.2", tmp_path, seconds=1.5)
        assert clock.waited_seconds > 0.5
        assert clock.left < 1.5 - 0.2 + 0.01
        assert first.result().waited_seconds < 1.0


def test_who_comes_first_is_served_first(tmp_path: Path) -> None:
    (order := tmp_path / "order").touch()
    shared = pool(tmp_path / "cache")
    with ThreadPoolExecutor(6) as threads:
        for number in range(6):
            threads.submit(run, shared, f"echo {number} >>{order}; sleep 0.5", tmp_path)
            time.sleep(0.15)
    assert order.read_text().split() == list("012345")


def test_a_build_that_has_begun_goes_before_others(tmp_path: Path) -> None:
    (order := tmp_path / "order").touch()
    shared = pool(tmp_path / "cache")

    def build(number: int) -> None:
        clock = BuildClock(60)
        for part in ("compile", "link"):
            shared.run([SH, "-c", f"echo {part}{number} >>{order}; sleep 0.4"], tmp_path, clock)

    with ThreadPoolExecutor(3) as threads:
        for number in range(3):
            threads.submit(build, number)
            time.sleep(0.1)
    told = order.read_text().split()
    assert len(told) == 6
    assert told.index("link0") < told.index("compile2")


def test_a_killed_holder_frees_its_slot_and_leaves_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path / "cache", f"sleep {(mark := a_mark())} & wait")
    assert becomes(lambda: asleep(mark))
    other = pool(tmp_path / "cache")
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(run, other, "true", tmp_path)
        time.sleep(0.3)
        assert not waiting.done()
        process.kill()
        process.wait()
        assert waiting.result(60).waited_seconds > 0.2
    assert becomes(lambda: not asleep(mark))
    FileCache(tmp_path / "cache")
    assert list((tmp_path / "cache" / "staging").iterdir()) == []


def test_closing_ends_what_runs_and_what_waits_at_once(tmp_path: Path) -> None:
    shared = pool(tmp_path / "cache")
    script = f"sleep {(mark := a_mark())} & wait"
    with ThreadPoolExecutor(4) as threads:
        builds = [threads.submit(run, shared, script, tmp_path) for _ in range(4)]
        assert becomes(lambda: asleep(mark))
        time.sleep(0.2)
        shared.close()
        for build in builds:
            with pytest.raises(NotJudged, match="closed"):
                build.result(20)
    assert becomes(lambda: not asleep(mark))
    with pytest.raises(NotJudged, match="closed"):
        run(shared, "true", tmp_path)
    run(pool(tmp_path / "cache"), "true", tmp_path)  # nobody else is closed, and the slot is free


@pytest.mark.parametrize("waits", [False, True], ids=["while it builds", "while it waits"])
def test_an_interrupt_ends_a_build_and_waiting_for_one(tmp_path: Path, waits: bool) -> None:
    first = holder(tmp_path / "cache", f"sleep {(mark := a_mark())}")
    assert becomes(lambda: asleep(mark))
    interrupted = first
    if waits:
        interrupted = holder(tmp_path / "cache", "true")
        assert becomes(lambda: len(list((tmp_path / "cache" / "staging").iterdir())) == 2)
        time.sleep(0.3)
    interrupted.send_signal(signal.SIGINT)
    try:
        assert interrupted.wait(20) != 0
        assert len(list((tmp_path / "cache" / "staging").iterdir())) == int(waits)
    finally:
        first.kill()
        first.wait()


def test_another_compiler_waits_for_memory_and_the_first_never_does(tmp_path: Path) -> None:
    poor = pool(tmp_path / "cache", None, Small(available=1 << 30))
    run(poor, "true", tmp_path)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, poor, f"touch {tmp_path}/begun; sleep 1", tmp_path)
        assert becomes((tmp_path / "begun").exists)
        assert run(poor, "true", tmp_path).waited_seconds > 0.2
        first.result()
    enough_for_one_more = pool(tmp_path / "cache", None, Small(available=5 << 30))
    young, old = Claim(time.monotonic(), 2 << 30), Claim(time.monotonic() - 60, 2 << 30)
    assert enough_for_one_more._has_memory([young, old], 2 << 30)
    assert not enough_for_one_more._has_memory([young, young], 2 << 30)  # those take theirs yet
    assert not enough_for_one_more._has_memory([young], 4 << 30)
    assert enough_for_one_more._has_memory([old, old], 4 << 30)


@pytest.mark.parametrize("days", [-30, 30])
def test_a_clock_that_jumps_changes_no_deadline_and_no_claim(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds a slot, and one whose compiler is over its deadline, are the same before and after."""
    other = holder(tmp_path, "sleep 600")
    assert becomes(lambda: taken(tmp_path))
    two = pool(tmp_path, builds=None, machine=Small(available=3 << 30))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + days * 24 * 3600)
    assert two._free_slot(2 << 30) is None  # the other one is young and will grow
    other.kill()
    other.wait()
    clock = BuildClock(0.5)
    assert two.run([SH, "-c", "sleep 600"], tmp_path, clock).returncode is None
    assert clock.left < 0.1


def taken(cache: Path) -> bool:
    """Has somebody written a claim?"""
    return any(path.read_text().strip() for path in (cache / "slots").glob("*"))


def test_compilers_give_way_where_they_are_told_to(tmp_path: Path) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    clock = BuildClock(60)
    code = "import os, time; time.sleep(0.2); print(os.getpriority(os.PRIO_PROCESS, 0))"
    polite = BuildPool(FileCache(tmp_path / "cache"), nice=5)
    ran = polite.run([sys.executable, "-c", code], tmp_path, clock)
    assert int(ran.log) == max(mine, 5)


def test_a_crash_is_tried_again_once(tmp_path: Path) -> None:
    shared = pool(tmp_path / "cache")
    run(shared, f"test -e {tmp_path}/again || {{ touch {tmp_path}/again; kill -SEGV $$; }}", tmp_path)
    with pytest.raises(CompilerCrashed, match="crashed twice") as crashed:
        run(shared, f"echo >>{tmp_path}/crashes; kill -SEGV $$", tmp_path)
    assert not isinstance(crashed.value, Transient)
    assert (tmp_path / "crashes").read_text() == "\n\n"


def test_a_killed_compiler_may_be_judged_again(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="was killed"):
        run(pool(tmp_path / "cache"), "kill -KILL $$", tmp_path)


def test_many_threads_that_wait_are_all_closed(tmp_path: Path) -> None:
    shared = pool(tmp_path / "cache")
    ended: list[str] = []

    def build() -> None:
        try:
            run(shared, "sleep 600", tmp_path)
        except NotJudged as error:
            ended.append(str(error))

    threads = [threading.Thread(target=build) for _ in range(64)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    shared.close()
    for thread in threads:
        thread.join(30)
    assert len(ended) == 64
