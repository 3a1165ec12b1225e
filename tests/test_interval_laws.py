"""Laws of intervals: what is busy, alone, shared and idle adds up, against a count of every single nanosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trace_budget import intervals

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=14)


def arrays(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    start = np.array([s for s, _ in pairs], dtype=np.int64)
    return start, start + np.array([d for _, d in pairs], dtype=np.int64)


def active(pairs: Pairs) -> np.ndarray:
    """How many intervals are active in each nanosecond."""
    count = np.zeros(100, dtype=int)
    for start, length in pairs:
        count[start : start + length] += 1
    return count


@given(PAIRS)
def test_union_covers_the_same_time_in_disjoint_order(pairs: Pairs) -> None:
    start, end = intervals.union(*arrays(pairs))
    assert np.all(start < end)
    assert np.all(start[1:] > end[:-1])
    assert (
        active([(int(s), int(e - s)) for s, e in zip(start, end, strict=True)]).tolist()
        == (active(pairs) > 0).astype(int).tolist()
    )
    assert intervals.union_length(*arrays(pairs)) == int((active(pairs) > 0).sum())


@given(PAIRS)
def test_busy_and_idle_make_the_window(pairs: Pairs) -> None:
    start, end = arrays([p for p in pairs if p[1]])
    if start.size == 0:
        return
    gap_start, gap_end = intervals.gaps(start, end)
    busy = intervals.union_length(start, end)
    assert busy + int((gap_end - gap_start).sum()) == int(end.max() - start.min())


@given(PAIRS)
def test_alone_and_shared_time_make_the_busy_time(pairs: Pairs) -> None:
    found = intervals.depth(*arrays(pairs))
    count = active(pairs)
    assert found.busy_ns == int((count > 0).sum())
    assert found.shared_ns == int((count > 1).sum())
    assert int(found.solo_ns.sum()) + found.shared_ns == found.busy_ns
    for (start, length), solo in zip(pairs, found.solo_ns, strict=True):
        assert solo == int((count[start : start + length] == 1).sum())


@given(PAIRS, PAIRS)
def test_covered_time_is_the_intersection(pairs: Pairs, by: Pairs) -> None:
    covered = intervals.covered_length(*arrays(pairs), *arrays(by))
    other = active(by) > 0
    assert covered.tolist() == [int(other[s : s + d].sum()) for s, d in pairs]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.integers(0, 20)), max_size=20))
def test_groups_are_swept_apart(rows: list[tuple[int, int, int]]) -> None:
    group = np.array([g for g, _, _ in rows], dtype=np.int64)
    start, end = arrays([(s, d) for _, s, d in rows])
    busy = intervals.union_length_by_group(group, start, end, 5)
    for index in range(5):
        assert busy[index] == int((active([(s, d) for g, s, d in rows if g == index]) > 0).sum())
