"""The bound of a device's memory, with a management library that tells of real processes what a file says of each."""

from __future__ import annotations

import ctypes
import subprocess
import time
from pathlib import Path

import pytest
from support.walled import LIMITS, launcher_in

from mooreeval.execute import device_limit, nvml
from mooreeval.execute.children import ChildEnded
from mooreeval.execute.device_limit import bounded
from mooreeval.execute.gpu_state import GpuWatch

LIBRARY = r"""
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
struct Row { unsigned pid; unsigned long long used; unsigned gpu, compute; };
extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = (void*)1; return index == 0 ? 0 : 2; }
int nvmlDeviceGetHandleByUUID(const char*, void**) { return 2; }
int nvmlDeviceGetClockInfo(void*, int, unsigned* clock) { *clock = 1980; return 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* heat) { *heat = 40; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) { *reasons = 0x20; return 0; }
// Every process of this machine holds as many bytes as the file says; "-" where that is not told.
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Row* rows) {
  unsigned long long each = 0;
  FILE* file = fopen("@", "r");
  bool told = file && fscanf(file, "%llu", &each) == 1;
  if (file) fclose(file);
  unsigned room = rows ? *count : 0, found = 0;
  DIR* folder = opendir("/proc");
  while (dirent* entry = readdir(folder))
    if (unsigned pid = atoi(entry->d_name)) {
      if (found < room) rows[found] = Row{pid, told ? each : ~0ull, 0, 0};
      ++found;
    }
  closedir(folder);
  *count = found;
  return found > room ? 7 : 0;
}
}
"""


@pytest.fixture
def held(tmp_path, monkeypatch) -> Path:
    """What each process holds, in bytes, by the library that is found from now on."""
    file, source, library = tmp_path / "held", tmp_path / "nvml.cpp", tmp_path / "libnvidia-ml.so.1"
    file.write_text("1000")
    source.write_text(LIBRARY.replace("@", str(file)))
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    load = ctypes.CDLL

    def found(name, *rest, **named):
        return load(str(library) if "nvidia-ml" in str(name) else name, *rest, **named)

    monkeypatch.setattr(nvml.ctypes, "CDLL", found)
    monkeypatch.setattr(device_limit, "LOOKS_EVERY_SECONDS", 0.05)
    return file


@pytest.fixture(scope="module")
def launcher():
    with launcher_in("namespaces") as launcher:
        yield launcher


def ask_until_it_ends(child, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        child.ask("rest", {}, {}, seconds)
        time.sleep(0.05)


def fail() -> None:
    raise AssertionError("the library tells")


def test_whoever_holds_more_than_its_part_is_ended_and_told_why(held, launcher):
    with launcher.spawn("reference", LIMITS) as child:
        child.ask("rest", {}, {}, 20)
        with bounded(child, "0", 1 << 20, fail):
            time.sleep(0.3)
            child.ask("rest", {}, {}, 20)  # little enough
            held.write_text(str(5 << 20))
            with pytest.raises(ChildEnded) as end:
                ask_until_it_ends(child)
        assert not end.value.timed_out
        assert "it held more than 1 MiB of the device's memory" in child.log_tail()


def test_what_others_hold_is_not_counted(held, launcher):
    held.write_text(str(4 << 20))
    device = nvml.ManagedDevice("0")
    assert device.held_by([]) == 0
    assert device.held_by([1]) == 4 << 20
    assert GpuWatch("0").read().throttled == "heat"


@pytest.mark.parametrize("visible", ["0", "3"], ids=["it keeps it to itself", "there is no such device"])
def test_where_the_driver_does_not_tell_nothing_is_ended_and_the_verdict_can_say_so(held, launcher, visible):
    held.write_text("-")
    blind = []
    with launcher.spawn("reference", LIMITS) as child, bounded(child, visible, 1, lambda: blind.append(visible)):
        time.sleep(0.3)
        child.ask("rest", {}, {}, 20)
    assert blind == [visible]
