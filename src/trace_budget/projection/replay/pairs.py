"""Pairs of ops of which one may have held the other back, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trace_budget.schema.findings import Int64Array


@dataclass(frozen=True, slots=True)
class Pairs:
    """`before` may have held `after` back (rows of a stretch), which then started `slack_ns` later than it could."""

    after: Int64Array
    before: Int64Array
    slack_ns: Int64Array

    def and_also(self, other: Pairs) -> Pairs:
        """Both, one after the other."""
        if other.after.size == 0:
            return self
        columns = ((self.after, other.after), (self.before, other.before), (self.slack_ns, other.slack_ns))
        after, before, slack = (np.concatenate(column) for column in columns)
        return Pairs(after, before, slack)

    def where(self, kept: np.ndarray) -> Pairs:
        """Those for which `kept` is true."""
        return Pairs(self.after[kept], self.before[kept], self.slack_ns[kept])

    def without(self, other: Pairs) -> Pairs:
        """Those that the other does not hold, whatever the slack."""
        if other.after.size == 0 or self.after.size == 0:
            return self
        size = int(max(self.before.max(), other.before.max())) + 1
        return self.where(~np.isin(self.after * size + self.before, other.after * size + other.before))

    def by_op(self) -> Pairs:
        """Sorted by the op that is held back; pairs of one op keep their order."""
        order = np.argsort(self.after, kind="stable")
        return self.where(order)

    def begins(self, size: int) -> Int64Array:
        """Where the pairs of each of `size` ops begin, and where the last ones end; they must be sorted by op."""
        found: Int64Array = np.searchsorted(self.after, np.arange(size + 1)).astype(np.int64)
        return found

    def lists(self, size: int) -> list[list[tuple[int, int]]]:
        """(before, slack) of each of `size` ops, as plain lists."""
        pairs = list(zip(self.before.tolist(), self.slack_ns.tolist(), strict=True))
        begins = self.begins(size).tolist()
        return [pairs[begin:end] for begin, end in pairwise(begins)]


_NOTHING = np.zeros(0, dtype=np.int64)
NO_PAIRS = Pairs(_NOTHING, _NOTHING, _NOTHING)


def least_slack(pairs: Pairs, size: int) -> Int64Array:
    """The least slack of each of `size` ops; the largest integer for ops that nothing holds back."""
    least = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(least, pairs.after, pairs.slack_ns)
    return least
