"""Proves, each in a fresh interpreter, that the nouns and the command line load where torch cannot be imported.

Used as `python scripts/nouns_without_torch.py`; exits 1 and names the module and the chain of imports where one cannot.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
NOUNS = (
    "mooreeval",
    "mooreeval.errors",
    "mooreeval.hashing",
    "mooreeval.verdict",
    "mooreeval.config",
    "mooreeval.config_reading",
    "mooreeval.source_text",
    "mooreeval.task",
    "mooreeval.task_metadata",
    "mooreeval.task_sources",
    "mooreeval.candidate",
    "mooreeval.extract",
    "mooreeval.reward",
    "mooreeval.feedback",
    "mooreeval.render",
    "mooreeval.backends",
    "mooreeval.cache",
    "mooreeval.gallery",
    "mooreeval.toolchains.base",
    "mooreeval.verify",
    "mooreeval.admission",
    "mooreeval.admit",
    "mooreeval.render_admission",
    "musacoder.start",
    "musacoder.cli",
    "musacoder.cli_inputs",
    "musacoder.cli_options",
    "musacoder.demo",
    "musacoder.admit",
    "musacoder.doctor",
    "musacoder.evaluate",
    "musacoder.report.command",
    "musacoder.report.markdown",
    "musacoder.report.page",
    "musacoder.suite",
    "musacoder.runlog",
    "musacoder.suites",
    "musacoder.config",
    "musacoder.pipeline",
    "musacoder.session",
    "musacoder.bench",
    "musacoder.generate",
    "musacoder.cli_write",
    "musacoder.models",
    "musacoder.models.local",
    "musacoder.models.openai_server",
    "musacoder.models.scripted",
    "musacoder.prompts",
    "musacoder.data.curate",
    "musacoder.data.dataset",
    "musacoder.data.mixture",
    "musacoder.data.reason",
    "musacoder.data.rows",
    "musacoder.data.teacher",
    "musacoder.cli_train",
    "musacoder.train.sft",
    "musacoder.data.structure",
    "musacoder.data.expand.run",
    "musacoder.data.diagnose",
    "musacoder.diagnose",
    "musacoder.rollout.types",
    "musacoder.train.rft",
    "musacoder.cli_train",
)
# None in sys.modules makes every import of that name fail, wherever it is hidden.
_PROGRAM = "import sys; sys.modules['torch'] = None; import importlib; importlib.import_module(sys.argv[1])"


def failure_of(module: str, src: Path = SRC) -> str:
    """Why a module does not load without torch; empty where it does."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, module],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(src)},
        check=False,
    )
    return done.stderr.strip() if done.returncode else ""


def main() -> int:
    """Check every noun; the exit code."""
    failures = {module: why for module in NOUNS if (why := failure_of(module))}
    for module, why in failures.items():
        print(f"{module} does not load without torch:\n{why}\n", file=sys.stderr)
    print(f"{len(NOUNS) - len(failures)} of {len(NOUNS)} modules load without torch")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
