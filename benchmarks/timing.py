"""How far do the times of one verdict, given again and again, lie apart? On a GPU, for kernels from 5 us to 10 ms.

    python benchmarks/timing.py --out runs/timing.json [--repeats 20] [--minutes 8] [--only relu_36us]

The cases are float4 ReLUs whose sizes aim at these times on a device that moves 4 TB/s and launches in 3 us, ten ReLUs
in a row for 10 ms, one as large as KernelBench's largest, and tiled matrix products in float32. Each is judged
`--repeats` times with its build cached, all cases in turn, each time under another secret: other inputs, other queue
lengths, other places that are looked at.

Spread is (largest - smallest) / median of the speed-ups over PyTorch, sd their standard deviation over the median.
Wrong decisions: a reward may ask whether a candidate is 1.1 times as fast. The speed-ups found are scaled so that their
median, taken for the true ratio, is 2 % (8 % where a call takes less than 30 us) above 1.1, and as far below; told is
which share of them lies on the other side. Every verdict that is started is listed in OUT, also those without a time;
after `--minutes` none is begun, and the same command goes on where it stopped. With `--workers` above 1 others are
prepared while one has the device, as when many are judged. `--set timing.compile_baseline=false` saves half a minute a
case. With `--backend simulator` there is no time to tell.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run_list import Row, RunList, judged, markdown

from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.execute.seeds import new_secret
from mooreeval.hashing import content_hash
from mooreeval.task import make_task
from mooreeval.verify import LocalVerifier

DECISION = 1.1
SHORT_MS = 0.03  # of one call; below it the launch is a large part of the time
MARGIN, SHORT_MARGIN = 0.02, 0.08
COLUMNS = 16384  # of the ReLUs: a whole number of float4 in every row

RELU_TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range({times}):
            x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn({rows}, {columns})]
"""
RELU = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void relu4(const float4* x, float4* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i];
        out[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
    }
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    long n = x.numel() / 4;
    relu4<<<(n + 255) / 256, 256>>>((const float4*)x.data_ptr<float>(), (float4*)out.data_ptr<float>(), n);
    return out;
}
"""
ext = load_inline("relu4", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(TIMES):
            x = ext.run(x)
        return x
'''
MATMUL_TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn({rows}, {rows}), torch.randn({rows}, {rows})]
"""
MATMUL = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
#define TILE 32
__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        bool in_a = row < n && t + threadIdx.x < n, in_b = column < n && t + threadIdx.y < n;
        left[threadIdx.y][threadIdx.x] = in_a ? a[(long)row * n + t + threadIdx.x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = in_b ? b[(long)(t + threadIdx.y) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[(long)row * n + column] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int n = a.size(0), tiles = (n + TILE - 1) / TILE;
    auto c = torch::empty({n, n}, a.options());
    matmul<<<dim3(tiles, tiles), dim3(TILE, TILE)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""
ext = load_inline("tiled", "torch::Tensor run(torch::Tensor a, torch::Tensor b);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return ext.run(a.contiguous(), b.contiguous())
'''


@dataclass(frozen=True)
class Case:
    """One task and one right candidate of it."""

    name: str
    size: str
    task: str
    candidate: str


def _relu(name: str, rows: int, times: int = 1) -> Case:
    size = f"{rows} x {COLUMNS}" + (f", {times} in a row" if times > 1 else "")
    task = RELU_TASK.format(rows=rows, columns=COLUMNS, times=times)
    return Case(f"relu_{name}", size, task, RELU.replace("TIMES", str(times)))


def _matmul(rows: int) -> Case:
    return Case(f"matmul_{rows}", f"{rows} x {rows}", MATMUL_TASK.format(rows=rows), MATMUL)


# A tensor of 20 GB, which one ReLU of 10 ms reads, is more than a process may hold beside its reference.
CASES = (
    _relu("5us", 64), _relu("10us", 224), _relu("20us", 528), _relu("36us", 1024), _relu("130us", 4096),
    _relu("1ms", 28672), _relu("10ms", 28672, 10), _matmul(1024), _matmul(1536), _matmul(2048),
    _matmul(4096), _relu("3ms", 98304),  # KernelBench's square product, and as many elements as its largest ReLU
)  # fmt: skip


def main() -> None:
    args = _arguments()
    cases = [case for case in CASES if not args.only or case.name in args.only]
    plan = {
        "cases": content_hash([[case.name, case.task, case.candidate] for case in CASES]), "backend": args.backend,
        "settings": args.set, "workers": args.workers,
    }  # fmt: skip
    runs, end = RunList(args.out, plan), time.monotonic() + 60 * args.minutes
    os.environ["CCACHE_DISABLE"] = "1"
    try:
        with LocalVerifier(load_config(settings=[f"backend={args.backend}", *args.set])) as verifier:
            for case in cases:
                _build(verifier, case, runs, end)
            for repeat in range(args.repeats):
                verifier.secret = new_secret()  # between verdicts: the same one would give the same inputs and queues
                _round(verifier, cases, repeat, runs, end, args.workers)
    finally:
        print(report(runs, cases))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file with every verdict")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no verdict after so many minutes")
    parser.add_argument("--only", nargs="*", default=[], choices=[case.name for case in CASES], metavar="CASE")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--backend", choices=("cuda", "simulator"), default="cuda")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    return parser.parse_args()


def _build(verifier: LocalVerifier, case: Case, runs: RunList, end: float) -> None:
    """One verdict that is not counted, so that the counted ones find their build; listed as repeat -1."""
    if not runs.ended(case=case.name, repeat=-1):
        _verdict(verifier, case, -1, runs, end)


def _round(
    verifier: LocalVerifier, cases: Sequence[Case], repeat: int, runs: RunList, end: float, workers: int
) -> None:
    todo = [case for case in cases if not runs.ended(case=case.name, repeat=repeat)]
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(lambda case: _verdict(verifier, case, repeat, runs, end), todo):
            pass


def _verdict(verifier: LocalVerifier, case: Case, repeat: int, runs: RunList, end: float) -> None:
    if time.monotonic() > end:
        return
    run = runs.start(case=case.name, repeat=repeat)
    runs.end(run, judged(verifier, make_task(case.name, case.task), Candidate(case.candidate)))
    speed = f"{speedup(run):.4f} at {run['timing']['candidate_ms'] * 1e3:.1f} us" if run.get("timing") else ""
    told = speed or " ".join([run["reason"], *run.get("warnings", [])])[:120]
    print(f"{repeat:3} {case.name:12} {run['status']:13} {run['wall_seconds']:5.1f} s  {told}", file=sys.stderr)


def speedup(run: Row) -> float:
    """Over PyTorch, as the verdict tells it."""
    return run["timing"]["eager_ms"] / run["timing"]["candidate_ms"]


# --------------------------------------------------------------------------------------------------------------- report
def wrong_decisions(speedups: Sequence[float], margin: float) -> tuple[float, float]:
    """Share of decisions against the threshold that are wrong, for a true ratio above it and for one below."""
    middle = statistics.median(speedups)
    above = [s / middle * (1 + margin) < 1 for s in speedups]
    below = [s / middle * (1 - margin) >= 1 for s in speedups]
    return statistics.mean(above), statistics.mean(below)


def spread(values: Sequence[float]) -> float:
    """Largest less smallest, as a share of the median."""
    return (max(values) - min(values)) / statistics.median(values)


def report(runs: RunList, cases: Sequence[Case]) -> str:
    """The table, with what it was made by."""
    head = ["kernel", "size", "verdicts", "without a time", "time, median", "speed-up, median", "spread", "sd",
            "a verdict's own 95 % interval", f"wrong side of {DECISION:g}, ratio above", "below",
            "device held"]  # fmt: skip
    told = [row for row in runs.runs if row.get("timing")]
    clocks = sorted({row["timing"]["sm_clock_mhz"] for row in told} - {None})
    notes = f"SM clock {clocks[0]} to {clocks[-1]} MHz, " if clocks else ""
    notes += f"{sum(bool(row['timing']['throttled']) for row in told)} of {len(told)} times throttled"
    lines = [_line(runs, case) for case in cases]
    return "\n\n".join([f"`{runs.command}`", runs.machine(), notes, markdown(head, lines), *_untimed(runs)])


def _line(runs: RunList, case: Case) -> list[str]:
    rows = [row for row in runs.ended(case=case.name) if row["repeat"] >= 0]
    timed = [row for row in rows if row.get("timing")]
    line = [case.name, case.size, str(len(rows)), str(len(rows) - len(timed))]
    if not timed:
        return [*line, *["-"] * 8]
    ratios, each = [speedup(row) for row in timed], [row["timing"]["candidate_ms"] for row in timed]
    middle, took = statistics.median(ratios), statistics.median(each)
    margin = SHORT_MARGIN if took < SHORT_MS else MARGIN
    widths = [(row["timing"]["eager_speedup_high"] - row["timing"]["eager_speedup_low"]) for row in timed]
    wrong = [f"{100 * share:.0f} % ({100 * margin:g} % away)" for share in wrong_decisions(ratios, margin)]
    return [
        *line, f"{took * 1e3:.1f} us" if took < 1 else f"{took:.2f} ms", f"{middle:.4f}",
        f"{100 * spread(ratios):.2f} %", f"{100 * statistics.pstdev(ratios) / middle:.2f} %",
        f"{100 * statistics.median(widths) / middle:.2f} %", *wrong,
        f"{statistics.median(row['device_seconds'] for row in timed):.2f} s",
    ]  # fmt: skip


def _untimed(runs: RunList) -> list[str]:
    """Why verdicts have no time, a line each."""
    lines = []
    for row in runs.runs:
        if not row.get("timing"):
            why = " ".join([row.get("reason", ""), *row.get("warnings", [])])[:200]
            lines.append(f"- {row['case']}, repeat {row['repeat']}: {row.get('status', 'begun and not ended')}: {why}")
    return ["Without a time:\n\n" + "\n".join(lines)] if lines else []


if __name__ == "__main__":
    main()
