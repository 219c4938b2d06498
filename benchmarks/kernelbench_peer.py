"""One evaluation by KernelBench itself, in this process: what `verdicts.py` starts for each answer.

    python -P benchmarks/kernelbench_peer.py PEER TASK ANSWER BUILD_FOLDER RESULT [--dry-run]

PEER is a checkout of ScalingIntelligence/KernelBench; of its `src/kernelbench/` the files `__init__`, `utils`, `eval`,
`timing` and `dataset` are used, unchanged. What runs is its `eval_kernel_against_ref` with the defaults of
`scripts/eval_from_generations.py`: 5 trials, 100 timed calls of each model, CUDA events. Its compile step,
`load_custom_model`, is timed as it is called; in a BUILD_FOLDER that holds the build already, that step only loads it.
Building needs nvcc, and ninja on PATH.

KernelBench imports clients of language models and other packages that an evaluation never calls (`_STAND_INS`); where
one of them is not installed an empty module of that name is put in its place, and RESULT says which. RESULT is a JSON
file, because an answer may print what it likes. With --dry-run everything is imported and the arguments are
bound to the function, and nothing is built or run: that much needs no GPU.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

CORRECT_TRIALS, PERFORMANCE_TRIALS = 5, 100
_STAND_INS = {"dotenv": "load_dotenv", "tqdm": "tqdm", "openai": "OpenAI", "litellm": "completion", "requests": "get"}


def main() -> None:
    args = _arguments()
    start = time.monotonic()
    stood_in = _stand_in_for_what_is_absent()
    sys.path.insert(0, str(args.peer / "src"))
    evaluation = importlib.import_module("kernelbench.eval")
    importlib.import_module("kernelbench.utils").set_gpu_arch([args.arch])
    result: dict[str, Any] = {"stood_in": stood_in, "import_seconds": round(time.monotonic() - start, 3)}
    call = _call(args)
    inspect.signature(evaluation.eval_kernel_against_ref).bind(**call)  # a TypeError here: another version of the peer
    result |= {"status": "dry_run"} if args.dry_run else _evaluated(evaluation, call)
    args.result.write_text(json.dumps(result), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("peer", "task", "answer", "build_folder", "result"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--arch", default="Hopper", help="the device's architecture, as KernelBench names it")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def _stand_in_for_what_is_absent() -> list[str]:
    absent = [name for name in _STAND_INS if importlib.util.find_spec(name) is None]
    for name in absent:
        module: Any = ModuleType(name)
        setattr(module, _STAND_INS[name], lambda *_args, **_named: None)
        sys.modules[name] = module
    return absent


def _call(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    return {
        "original_model_src": args.task.read_text(encoding="utf-8"),
        "custom_model_src": args.answer.read_text(encoding="utf-8"),
        "measure_performance": True, "timing_method": "cuda_event", "verbose": False,
        "num_correct_trials": CORRECT_TRIALS, "num_perf_trials": PERFORMANCE_TRIALS,
        "build_dir": str(args.build_folder), "device": torch.device("cuda:0"), "backend": "cuda",
        "precision": torch.float32,
    }  # fmt: skip


def _evaluated(evaluation: Any, call: dict[str, Any]) -> dict[str, Any]:
    load, spent = evaluation.load_custom_model, [0.0]

    def timed_load(*args: Any, **named: Any) -> Any:
        begun = time.monotonic()
        try:
            return load(*args, **named)
        finally:
            spent[0] += time.monotonic() - begun

    evaluation.load_custom_model = timed_load
    start = time.monotonic()
    try:
        outcome = _outcome(evaluation.eval_kernel_against_ref(**call))
    except Exception as error:  # noqa: BLE001 - whatever it raises is what the peer said
        outcome = {"status": "raised", "reason": f"{type(error).__name__}: {error}"[:500]}
    return {**outcome, "evaluation_seconds": round(time.monotonic() - start, 3), "build_seconds": round(spent[0], 3)}


def _outcome(result: Any) -> dict[str, Any]:
    if result is None:
        return {"status": "none", "reason": "it gave no result: a lock or a missing file of an earlier build"}
    status = "correct" if result.correctness else "incorrect" if result.compiled else "compile_error"
    times = {"candidate_ms": result.runtime, "eager_ms": result.ref_runtime} if result.runtime > 0 else {}
    return {"status": status, **times, "metadata": {key: str(value)[:300] for key, value in result.metadata.items()}}


if __name__ == "__main__":
    main()
