"""Content hashes: the identity of every noun and the key of every cache."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, UTF-8, LF and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).replace("\r\n", "\n")


def content_hash(value: Any) -> str:
    """SHA-256 (hex) over the canonical JSON of a JSON-compatible value."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
