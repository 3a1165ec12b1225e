"""Kernel durations that scatter like real ones, yet have a mean and a median known in advance."""

from __future__ import annotations

import random


def balanced(rng: random.Random, count: int, median_ns: int, spread: float) -> list[int]:
    """`count` durations around `median_ns`: at least a quarter of them equal to it, the rest in pairs m - d, m + d.

    So mean and median are exactly `median_ns`, for one step and for any union of steps.
    """
    pairs = (count - max(1, count // 4)) // 2
    offsets = [max(1, round(median_ns * spread * abs(rng.gauss(0.0, 0.5)))) for _ in range(pairs)]
    values = [median_ns] * (count - 2 * pairs)
    for offset in offsets:
        values += [median_ns - offset, median_ns + offset]
    rng.shuffle(values)
    return values


def slower(values: list[int], factor: float) -> list[int]:
    """The same durations in a step that runs slower by `factor`."""
    return [round(value * factor) for value in values]
