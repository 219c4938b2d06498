"""CPU seconds of building candidates: the toolchain `cuda`, tier by tier, against plain load_inline.

    python benchmarks/build.py --out runs/build.json --cuda-python .venv-cuda/bin/python            the gallery
    python benchmarks/build.py --out runs/build.json --data KernelBenchLeaderboard/docs/assets --every 20

Each candidate is built by `torch.utils.cpp_extension.load_inline` as a user would run it (a process of its own, ninja,
a fresh build folder, no ccache) and by the toolchain with each set of `--tiers`, in an order that alternates from one
candidate to the next. `--cuda-python` is a Python with a CUDA build of PyTorch and ninja; no GPU is needed. Every run
that is started is listed in OUT with its result, failed ones too. CPU seconds are those of the compilers with all
their children; for load_inline also those of Python, told apart in the JSON as `python_seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from leaderboard import answers
from recorded import extensions_from

from mooreeval import gallery
from mooreeval.errors import MooreError
from mooreeval.toolchains.base import Artefact, Extension
from mooreeval.toolchains.cuda import CudaToolchain
from mooreeval.toolchains.cuda_toolkit import Toolkit

PLAIN = "load_inline"
_FIND_TORCH = "import importlib.util as u; print(next(iter(u.find_spec('torch').submodule_search_locations)))"
# Run by a Python with a CUDA build of PyTorch. Its own CPU seconds are told apart from the compilers'.
_PLAIN_SCRIPT = """
import json, resource, sys, time
from torch.utils.cpp_extension import load_inline
call, start = json.load(sys.stdin), time.monotonic()
error = ""
try:
    load_inline(**call, is_python_module=False)
except Exception as exc:
    error = str(exc)
seconds = lambda who: sum(resource.getrusage(who)[:2])
print(json.dumps({"cpu_seconds": seconds(resource.RUSAGE_CHILDREN), "python_seconds": seconds(resource.RUSAGE_SELF),
                  "built_in_seconds": time.monotonic() - start, "error": error[-2000:]}))
"""


def main() -> None:
    args = _arguments()
    torch_dir = Path(_answer([args.cuda_python, "-c", _FIND_TORCH]).strip())
    toolkit = Toolkit(torch_dir, args.arch)
    candidates = _from_leaderboard(args.data) if args.data else _from_gallery()
    candidates = candidates[args.skip :: args.every][: args.limit]
    ways = [*([] if args.no_plain else [PLAIN]), *args.tiers]
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="moore-build-") as scratch:
        toolchains = {
            way: CudaToolchain(
                Path(scratch) / "cache" / way, torch_dir, args.arch, way.split("+"), args.confirm_failures
            )
            for way in args.tiers
        }
        prepared = {way: toolchain.prepare() for way, toolchain in toolchains.items()}
        for number, (name, extensions) in enumerate(_recorded(candidates)):
            for index, extension in enumerate(extensions):
                for way in ways if number % 2 == 0 else ways[::-1]:
                    run = {"candidate": name, "extension": index, "way": way, "hash": extension.content_hash()}
                    runs.append(run)
                    _write(args.out, runs, prepared, toolkit)
                    run |= (
                        _plain(toolkit, args.cuda_python, extension)
                        if way == PLAIN
                        else _ours(toolchains[way], extension)
                    )
                    _write(args.out, runs, prepared, toolkit)
                    cost = f"{run.get('cpu_seconds', float('nan')):7.1f} CPU-s {run['wall_seconds']:6.1f} s"
                    print(f"{name:44.44} {way:12} {run['result']:14} {cost} {run.get('tier', '')}", flush=True)
    _print_table(runs, ways)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file with every run")
    parser.add_argument("--data", type=Path, help="folder of a leaderboard's answers (default: the gallery)")
    parser.add_argument("--cuda-python", default=sys.executable, help="a Python with a CUDA build of PyTorch")
    parser.add_argument("--arch", default="9.0", help="compute capability")
    parser.add_argument("--tiers", action="append", help="sets of tiers to try, as slim+full; may be repeated")
    parser.add_argument("--confirm-failures", default="always", choices=("always", "ambiguous", "sampled"))
    parser.add_argument("--no-plain", action="store_true", help=f"leave {PLAIN} out")
    parser.add_argument("--limit", type=int, help="at most so many candidates")
    parser.add_argument("--every", type=int, default=1, help="take every n-th candidate")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first n")
    args = parser.parse_args()
    args.tiers = args.tiers or ["slim+full"]
    return args


def _from_gallery() -> list[tuple[str, Path, Path]]:
    entries = [entry for entry in gallery.load() if entry.expected.status == "correct"]
    return [(f"{e.task_name}/{e.candidate_name}", e.task_path, e.candidate_path) for e in entries]


def _from_leaderboard(data: Path) -> list[tuple[str, Path, Path]]:
    rows = answers(data)
    return [(f"L{r['level']} {r['name']} {Path(r['answer']).stem}", Path(r["task"]), Path(r["answer"])) for r in rows]


def _recorded(candidates: list[tuple[str, Path, Path]]) -> list[tuple[str, list[Extension]]]:
    if not candidates:
        return []
    pairs = [str(path) for _, task, candidate in candidates for path in (task, candidate)]
    lines = _answer([sys.executable, str(Path(__file__).parent / "recorded.py"), *pairs]).splitlines()
    return [(name, extensions_from(line)) for (name, _, _), line in zip(candidates, lines, strict=True)]


def _answer(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _ours(toolchain: CudaToolchain, extension: Extension) -> dict[str, Any]:
    start = time.monotonic()
    try:
        built = toolchain.build(extension, 1200.0)
    except MooreError as error:
        return {"result": "not_judged", "error": str(error), "wall_seconds": time.monotonic() - start}
    run: dict[str, Any] = {"tier": built.tier, "wall_seconds": time.monotonic() - start}
    if built.seconds == 0.0:
        return {**run, "result": "repeated"}  # an earlier candidate asked for the same
    run["cpu_seconds"] = built.seconds
    if isinstance(built, Artefact):
        return {**run, "result": "built"}
    return {**run, "result": built.kind, "error": built.reason}


def _plain(toolkit: Toolkit, python: str, extension: Extension) -> dict[str, Any]:
    """load_inline in a process of its own; extensions of `load` are left out."""
    start = time.monotonic()
    if not all(s.name.startswith(("cpp_sources[", "cuda_sources[")) for s in extension.sources):
        return {"result": "left_out", "wall_seconds": 0.0}
    with tempfile.TemporaryDirectory(prefix="moore-plain-") as folder:
        environment = {**os.environ, **_plain_environment(toolkit, python, folder)}
        call = json.dumps(_call(extension))
        command = [python, "-c", _PLAIN_SCRIPT]
        done = subprocess.run(command, input=call, capture_output=True, text=True, check=False, env=environment)
    run: dict[str, Any] = {"wall_seconds": time.monotonic() - start}
    try:
        run |= json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {**run, "result": "not_run", "error": done.stderr[-1000:]}
    return {**run, "result": "compile_error" if run["error"] else "built"}


def _plain_environment(toolkit: Toolkit, python: str, folder: str) -> dict[str, str]:
    """As for a user, but in a fresh folder and without ccache; ninja may come from the Python's own folder."""
    own = Path(shutil.which(python) or python).parent
    paths = [str(own), *(path for path in os.environ["PATH"].split(os.pathsep) if "ccache" not in path)]
    # A bare toolkit lacks headers that PyTorch's wheels bring; load_inline finds them by this variable alone.
    more = {"CUDA_INC_PATH": str(toolkit.cuda_includes[-1])} if len(toolkit.cuda_includes) > 1 else {}
    return {
        "TORCH_EXTENSIONS_DIR": folder, "TORCH_CUDA_ARCH_LIST": toolkit.arch, "CCACHE_DISABLE": "1",
        "CUDA_HOME": str(toolkit.root), "PATH": os.pathsep.join(paths), **more,
    }  # fmt: skip


def _call(extension: Extension) -> dict[str, Any]:
    texts = {kind: [s.text for s in extension.sources if s.language == kind] for kind in ("cpp", "cuda")}
    return {
        "name": extension.name, "cpp_sources": texts["cpp"], "cuda_sources": texts["cuda"] or None,
        "functions": dict(extension.functions) if extension.functions is not None else None,
        "extra_cflags": [f for f in extension.cflags if not f.startswith("-I")],
        "extra_cuda_cflags": list(extension.cuda_cflags), "extra_ldflags": list(extension.ldflags),
        "with_cuda": extension.with_cuda, "no_implicit_headers": not extension.implicit_headers,
    }  # fmt: skip


def _write(out: Path, runs: list[dict[str, Any]], prepared: dict[str, dict[str, float]], toolkit: Toolkit) -> None:
    """Everything so far; a run without a result was started and did not end."""
    out.parent.mkdir(parents=True, exist_ok=True)
    head = {
        "machine": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "versions": toolkit.versions,
        "prepared_cpu_seconds": prepared,
        "own_cpu_seconds": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
    }
    out.write_text(json.dumps({**head, "runs": runs}, indent=1), encoding="utf-8")


def _print_table(runs: list[dict[str, Any]], ways: list[str]) -> None:
    """Medians by way and result, the ratio to load_inline on the same extensions, and the share of each tier."""
    plain = {run["hash"]: run for run in runs if run["way"] == PLAIN and "cpu_seconds" in run}
    print(f"{'way':16}{'result':16}{'number':>7}{'median CPU-s':>14}{'largest':>9}{'median ratio':>14}")
    for way in ways:
        own = [run for run in runs if run["way"] == way and "cpu_seconds" in run]
        for result in sorted({run["result"] for run in own}):
            rows = [run for run in own if run["result"] == result]
            costs = [run["cpu_seconds"] for run in rows]
            ratios = [plain[r["hash"]]["cpu_seconds"] / max(r["cpu_seconds"], 0.01) for r in rows if r["hash"] in plain]
            ratio = f"{statistics.median(ratios):.1f}" if ratios else "-"
            print(f"{way:16}{result:16}{len(rows):7}{statistics.median(costs):14.1f}{max(costs):9.1f}{ratio:>14}")
        for tier, number in Counter(run["tier"] for run in own if run.get("tier")).most_common():
            print(f"{way:16}  by {tier}: {number} of {len(own)}")
    for run in runs:
        if (
            run["way"] != PLAIN
            and run["hash"] in plain
            and "cpu_seconds" in run
            and run["result"] != plain[run["hash"]]["result"]
        ):
            ours, theirs = run["result"], plain[run["hash"]]["result"]
            print(f"differs: {run['candidate']}: {ours} against {theirs}: {run.get('error', '')[:200]}")


if __name__ == "__main__":
    main()
