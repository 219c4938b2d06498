"""The one long wait of a fresh machine is announced, whatever standard error is connected to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooreeval.verify import LocalVerifier


def announce_preparation(verifier: LocalVerifier) -> None:
    """One line on standard error where the next verdict has to wait for what is built once."""
    if verifier.needs_preparation():
        what = f"preparing backend {verifier.config.backend}, once for this machine and PyTorch: a minute or two"
        print(f"musacoder: {what}", file=sys.stderr, flush=True)
