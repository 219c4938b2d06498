"""Seeds that a candidate can't predict and a reader of the verdict can compute again.

seed = HMAC-SHA256(run secret, purpose | task hash | candidate hash | trial), the first 63 bits. The weights' seed is
derived under a purpose of its own, and the inputs' seeds never enter a process that runs a candidate.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_secret() -> str:
    """A fresh run secret, 128 bits in hex."""
    return secrets.token_hex(16)


def derive_seed(secret: str, purpose: str, task_hash: str, candidate_hash: str, trial: int = 0) -> int:
    """A seed in [0, 2**63) for one purpose: "inputs", "weights", "schedule", "example"."""
    text = "|".join((purpose, task_hash, candidate_hash, str(trial)))
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "little") >> 1
