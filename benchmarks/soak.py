"""Many candidates in a row of which every fifth crashes, hangs, exits, forks or leaks: does any verdict feel another?

    python benchmarks/soak.py --count 500 --workers 2 --out soak.jsonl [--set backend=cuda] [--set A.B=C]

First each kind of candidate is judged alone, by a verifier of its own. Then all of them in a row by one verifier: every
verdict must have the status, the share of trials and the reason that its kind has alone. Afterwards no process, file,
shared memory or device memory may be left. Verdicts are appended to OUT as they come; the same command goes on where it
was interrupted, and one with another count, seed or configuration is refused. The rules of legality would refuse most
bad ones by their source; here the source is not read, so that they run. Exits 0 where all of that holds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig, load_config
from mooreeval.errors import MooreError
from mooreeval.execute import judge
from mooreeval.sandbox.descendants import descendants
from mooreeval.task import make_task
from mooreeval.verdict import Verdict
from mooreeval.verify import LocalVerifier

TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x * 2 + 0.25, x * 0.5 + 0.25)

def get_inputs():
    return [torch.randn(64, 500)]
"""
CANDIDATE = '''
import os, sys, time
import torch
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void leaky(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i + OFFSET] = x[i] > 0.0f ? x[i] * 2.0f + 0.25f : x[i] * SLOPE + 0.25f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    leaky<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
cpp = "torch::Tensor run(torch::Tensor x);"
ext = load_inline(name="leaky", cpp_sources=cpp, cuda_sources=source, functions=["run"])
held = []

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = ext.run(x)
        BEFORE
        return y
'''
HONEST = ("right", "wrong")
KINDS: dict[str, dict[str, str]] = {
    "right": {},
    "wrong": {"SLOPE": "0.25f"},
    "crashes": {"BEFORE": "os.abort()"},
    "hangs": {"BEFORE": "while True: pass"},
    "exits": {"BEFORE": "os._exit(0)"},
    "forks": {"BEFORE": "[os.fork() == 0 and (os.setsid(), time.sleep(3600)) for _ in range(20)]; os._exit(3)"},
    "leaks": {
        "BEFORE": "held.append(torch.zeros(1 << 24, device=x.device));"
        " open(f'left{len(held)}', 'wb').write(bytes(1 << 22))"
    },
    "out of bounds": {"OFFSET": "(1 << 28)"},
}
BAD = tuple(kind for kind in KINDS if kind not in HONEST)


def kind_of(index: int) -> str:
    """Every fifth is bad, each kind in its turn."""
    return BAD[index // 5 % len(BAD)] if index % 5 == 4 else HONEST[index % 5 % 4 == 1]


def candidate(kind: str, index: int) -> Candidate:
    """One of a kind; each is another file, and all of a kind are one build."""
    code = CANDIDATE
    for name, usual in (("SLOPE", "0.5f"), ("OFFSET", "0"), ("BEFORE", "pass")):
        code = code.replace(name, KINDS[kind].get(name, usual))
    return Candidate(f"# {index}\n{code}")


def outcome(verifier: LocalVerifier, kind: str, index: int) -> dict[str, Any]:
    """What is compared of a verdict, and what it took."""
    start = time.monotonic()
    try:
        verdict = verifier.verify(make_task("leaky", TASK), candidate(kind, index))
    except MooreError as error:
        return {"kind": kind, "told": ["not judged", None, str(error)], "seconds": time.monotonic() - start}
    return {"kind": kind, "told": told(verdict), "seconds": round(time.monotonic() - start, 3)}


def told(verdict: Verdict) -> list[Any]:
    """Status, share of trials, and the reason's words without its figures, which come of random inputs."""
    words = "".join("#" if c.isdigit() else c for c in verdict.reason.split("; last output")[0].split(":")[0])
    return [verdict.status.value, verdict.q, words]


# ------------------------------------------------------------------------------------------------------ what is left
def left(folder: Path) -> dict[str, Any]:
    """What there is now of all that candidates could leave."""
    shared = {path.name for path in Path("/dev/shm").iterdir()}
    kernel = [line for kind in ("shm", "sem", "msg") for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()]
    return {
        "processes": len(descendants(os.getpid())),
        "files": sorted(path.name for path in folder.iterdir()),
        "shared memory": sorted(shared),
        "objects of the kernel": sorted(kernel),
        "device MiB": _device_mib(),
    }


def _device_mib() -> list[int]:
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return []
    return [int(line) for line in done.stdout.split()]


def memory_mib() -> float:
    """Resident memory of this process, the judge."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


# ----------------------------------------------------------------------------------------------------------- the run
class Record:
    """The lines of OUT: what was asked for, then one verdict each."""

    def __init__(self, path: Path, asked: dict[str, Any]) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        if lines and lines[0] != asked:
            changed = sorted(key for key in asked if lines[0].get(key) != asked[key])
            sys.exit(f"{path} was begun with another {', '.join(changed)}; name another --out")
        self._file = path.open("a")
        self.entries = {entry["index"]: entry for entry in lines[1:]}
        if not lines:
            self._write(asked)

    def add(self, index: int, entry: dict[str, Any]) -> None:
        self.entries[index] = {"index": index, **entry}
        self._write(self.entries[index])

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


def alone(config: VerifyConfig) -> dict[str, list[Any]]:
    """What each kind is told where nothing else is judged."""
    found = {}
    for kind in KINDS:
        with LocalVerifier(config) as verifier:
            found[kind] = outcome(verifier, kind, -1)["told"]
        print(f"alone: {kind:14} {found[kind]}", flush=True)
    return found


def in_a_row(config: VerifyConfig, record: Record, count: int, workers: int) -> list[float]:
    """Judge what is not judged yet; the judge's memory at the beginning, in the middle and at the end."""
    todo = [index for index in range(count) if index not in record.entries]
    memory = []
    with LocalVerifier(config) as verifier, ThreadPoolExecutor(workers) as threads:
        jobs = threads.map(lambda index: (index, outcome(verifier, kind_of(index), index)), todo)
        for done, (index, entry) in enumerate(jobs):
            record.add(index, entry)
            if done % max(len(todo) // 10, 1) == 0:
                memory.append(round(memory_mib(), 1))
                print(f"{index + 1} of {count}, judge {memory[-1]} MiB", flush=True)
    return memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    arguments = parser.parse_args()
    settings = ["backend=simulator", "seed=50a1", "trials=2", "timing.enabled=false", *arguments.settings]
    config = load_config(settings=settings)
    asked = {"count": arguments.count, "settings": settings, "config": config.config_hash()}
    record = Record(arguments.out, asked)
    judge.read_source = lambda *_: ()  # ty: ignore[invalid-assignment]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="moore-soak-") as place:
        folder = Path(place)
        tempfile.tempdir = place
        before = left(folder)
        expected = alone(config)
        memory = in_a_row(config, record, arguments.count, arguments.workers)
        after = left(folder)
        tempfile.tempdir = None
    others = [e for e in record.entries.values() if e["told"] != expected[e["kind"]]]
    for entry in others[:20]:
        print(f"differs: {entry['index']} {entry['kind']}: {entry['told']}, alone {expected[entry['kind']]}")
    changed = {name: [before[name], after[name]] for name in before if before[name] != after[name]}
    print(json.dumps({
        "verdicts": len(record.entries), "by kind": Counter(e["kind"] for e in record.entries.values()),
        "other than alone": len(others), "left behind": changed, "judge MiB": memory,
        "seconds": round(time.monotonic() - start, 1),
        "seconds of the verdicts": round(sum(e["seconds"] for e in record.entries.values()), 1),
    }, indent=1))  # fmt: skip
    return 1 if others or changed else 0


if __name__ == "__main__":
    sys.exit(main())
