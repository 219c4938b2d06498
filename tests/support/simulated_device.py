"""Builds libmoore_device.so and runs files of cases on the simulated device, each file in one child process.

A case is a function `case_*` without parameters, or an entry of a dict `CASES` of them. It fails by raising.
Installing the device cannot be undone, hence the child; one child for many cases, because importing torch takes longer
than most of them. Run as a script this file is that child.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

SIMULATOR = Path(__file__).parents[2] / "src" / "mooreeval" / "simulator"


def build_device_library(runtime_library: Path) -> Path:
    """libmoore_device.so beside the run time that it is linked with; built once."""
    import torch

    target = runtime_library.with_name("libmoore_device.so")
    if target.exists():
        return target
    torch_folder = Path(torch.__file__).parent
    unit = runtime_library.with_name("device_unit.cpp")
    unit.write_text("".join(f'#include "{part}"\n' for part in sorted((SIMULATOR / "device").glob("*.cpp"))))
    headers = [torch_folder / "include", torch_folder / "include" / "torch" / "csrc" / "api" / "include"]
    command = ["g++", "-std=c++20", "-O1", "-g0", "-Wall", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", unit]
    command += ["-I", SIMULATOR / "device", "-I", SIMULATOR / "include", "-D_GLIBCXX_USE_CXX11_ABI=1"]
    command += [word for header in headers for word in ("-isystem", header)]
    command += ["-o", target, f"-L{torch_folder / 'lib'}", "-lc10", "-ltorch_cpu"]
    command += [f"-L{target.parent}", "-lmoore_sim", f"-Wl,-rpath,{target.parent}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def names_of_cases(file: Path) -> list[str]:
    return list(_cases_of(_load(file)))


def run_cases(file: Path, runtime_library: Path) -> dict[str, str]:
    """What went wrong by case, "" for nothing. Cases after one that killed the child are missing."""
    device_library = build_device_library(runtime_library)
    command = [sys.executable, __file__, str(runtime_library), str(device_library), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    outcomes = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    outcomes["the child"] = "" if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return outcomes


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cases_of(module: ModuleType) -> dict[str, Callable[[], None]]:
    functions = {name.removeprefix("case_"): f for name, f in vars(module).items() if name.startswith("case_")}
    return {**functions, **getattr(module, "CASES", {})}


def _main(runtime_library: str, device_library: str, file: str) -> None:
    sys.path.insert(0, str(SIMULATOR.parents[1]))
    import torch

    from mooreeval.simulator import torch_device

    torch.set_num_threads(1)
    torch_device.install(Path(runtime_library), Path(device_library))
    for name, case in _cases_of(_load(Path(file))).items():
        torch.manual_seed(0)
        try:
            case()
            error = ""
        except Exception:  # noqa: BLE001 (any failure is that case's alone)
            error = traceback.format_exc()
        print(json.dumps([name, error]), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
