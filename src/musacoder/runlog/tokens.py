"""The tokens of an answer as a record keeps them: text less than a third as long as the numbers written out."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from mooreeval.verdict import Record

_MOST_BYTES = 1 << 28  # of one answer's numbers, unpacked


class TokensTold(Record):
    """Ids and log-probabilities of what was generated, reasoning included, as far as they were given.

    Each is Base64 of zlib of little-endian numbers: ids of 32 bits, log-probabilities as float32.
    """

    count: int = Field(ge=1)
    ids: str | None = None
    logprobs: str | None = None  # natural logarithms

    @classmethod
    def of(cls, ids: Sequence[int] | None, logprobs: Sequence[float] | None) -> Self | None:
        """None where neither is known."""
        count = len(ids or logprobs or ())
        if not count:
            return None
        return cls(count=count, ids=_packed("I", ids), logprobs=_packed("f", logprobs))

    @property
    def token_ids(self) -> tuple[int, ...] | None:
        """Of every token; None where they were not given."""
        return None if self.ids is None else _unpacked("I", self.ids, self.count)

    @property
    def log_probabilities(self) -> tuple[float, ...] | None:
        """One for each token, to the seven digits of float32; None where they were not given."""
        return None if self.logprobs is None else _unpacked("f", self.logprobs, self.count)

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if self.ids is None and self.logprobs is None:
            raise ValueError("tokens have ids, log-probabilities, or both")
        return self


def _packed(kind: str, numbers: Sequence[float] | None) -> str | None:
    if not numbers:
        return None
    raw = struct.pack(f"<{len(numbers)}{kind}", *numbers)
    return base64.b64encode(zlib.compress(raw)).decode("ascii")


def _unpacked(kind: str, text: str, count: int) -> tuple:
    """Raises ValueError where the text is not `count` numbers."""
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        return struct.unpack(f"<{count}{kind}", raw)
    except (binascii.Error, zlib.error, struct.error) as error:
        raise ValueError(f"these are not {count} numbers: {error}") from None
