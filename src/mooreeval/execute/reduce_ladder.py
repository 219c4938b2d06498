"""The smaller values that a size may take, best kept like the original.

    5000 -> 3976, 2952, 1928, 904, 648, 520, 392, 264, ...  residue modulo 1024 while it can be kept, then modulo less
    4096 -> 3072, 2048, 1024, 768, 640, 512, 384, 320, ...
    224  -> 192, 160, 128, 96, 80, 64, ...

A kernel that is wrong in a tail, or needs a multiple of its block, then behaves as it does at the original size.
"""

from __future__ import annotations

import math

MODULUS = 1024
SMALLEST = 2  # a dimension of 1 broadcasts, and one of 0 computes nothing


def ladder(original: int, floor: int = SMALLEST, modulus: int = 1) -> list[int]:
    """Values below `original` and not below `floor`, with its residue modulo `modulus`, in descending order."""
    values = {*_same_residue(original, MODULUS), *(value for value in _smaller_residues(original) if value <= MODULUS)}
    if modulus > 1:
        values |= {original % modulus + modulus * times for times in range(1, 7)}
        values |= {*_same_residue(original, math.lcm(modulus, MODULUS)), *_same_residue(original, modulus)}
    allowed = (v for v in values if max(floor, SMALLEST) <= v < original and (original - v) % modulus == 0)
    return sorted(allowed, reverse=True)


def powers_below(original: int, floor: int, modulus: int) -> list[int]:
    """The powers of two among such values, of a power of two; in descending order."""
    if original & (original - 1):
        return []
    powers = (original >> shift for shift in range(1, original.bit_length()))
    return [v for v in powers if v >= max(floor, SMALLEST) and (original - v) % modulus == 0]


def _same_residue(original: int, modulus: int) -> list[int]:
    """Residue kept: a geometric choice of them, for a size may be a billion."""
    residue, times = original % modulus, original // modulus
    values = [residue] if residue >= modulus // 8 else []
    while times > 1:
        times = max(1, min(times - 1, times * 3 // 4))
        values.append(residue + modulus * times)
    return values


def _smaller_residues(original: int) -> list[int]:
    values = []
    modulus = MODULUS
    while modulus >= 2:
        residue = original % modulus
        # More than one multiple of each modulus: sizes that are different must find different values.
        values += [residue + modulus * times for times in range(6) if 2 * (residue + modulus * times) >= modulus]
        modulus //= 2
    return values
