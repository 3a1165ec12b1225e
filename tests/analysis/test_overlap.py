"""Overlap and idle time: hand-made cases, and what must add up for any trace."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import US, Tape
from trace_budget.analysis.overlap import find_overlap
from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace, empty_trace


def test_what_runs_beside_other_work_is_hidden() -> None:
    # a runs 0-10, b 4-6 beside it, c 15-20 alone; on another device d 0-20.
    tape = Tape()
    tape.run("a", stream=1, at=100 * US, dur=10 * US).run("b", stream=2, at=104 * US, dur=2 * US)
    tape.run("c", stream=1, at=115 * US, dur=5 * US).run("d", stream=1, device=1, at=100 * US, dur=20 * US)
    trace = tape.trace()
    found = find_overlap(trace)
    solo = dict(zip(trace.gpu_ops["name"].to_list(), found.solo_ns.tolist(), strict=True))
    assert solo == {"a": 8 * US, "b": 0, "c": 5 * US, "d": 20 * US}
    columns = ("window_ns", "kernel_ns", "busy_ns", "idle_ns", "exposed_ns", "overlap_ns")
    sums = {d: values for d, *values in found.devices.select("device", *columns).rows()}
    assert sums == {0: [20 * US, 17 * US, 15 * US, 5 * US, 13 * US, 4 * US], 1: [20 * US] * 3 + [0, 20 * US, 0]}
    lanes = {(d, s): values for d, s, *values in found.streams.select("device", "stream", *columns).rows()}
    assert lanes[(0, 1)] == [20 * US, 15 * US, 15 * US, 5 * US, 13 * US, 2 * US]
    assert lanes[(0, 2)] == [2 * US, 2 * US, 2 * US, 0, 0, 2 * US]


def test_neighbours_on_one_stream_that_overlap_hide_each_other() -> None:
    tape = Tape().run("a", at=100 * US, dur=10 * US).run("b", at=107 * US, dur=10 * US)
    assert find_overlap(tape.trace()).solo_ns.tolist() == [7 * US, 7 * US]


def test_ops_that_cannot_be_timed_hide_nothing() -> None:
    trace = Tape().run("a b").run("c", stream=8).trace()
    end = pl.when(pl.col("name").cast(pl.String) != "c").then("end_ns").alias("end_ns")
    found = find_overlap(Trace(trace.path, trace.format, trace.gpu_ops.with_columns(end)))
    assert sorted(found.solo_ns.tolist()) == [0, 10 * US, 10 * US]
    assert found.devices["gpu_ops"].to_list() == [2]


def test_devices_without_a_number_are_not_device_minus_one() -> None:
    tape = Tape().run("a", at=100 * US, device=-1).run("b", at=100 * US, device=None)
    assert find_overlap(tape.trace()).solo_ns.tolist() == [10 * US, 10 * US]


def test_an_empty_trace() -> None:
    found = find_overlap(empty_trace("empty.json", "hand"))
    assert (found.solo_ns.size, found.devices.height, found.streams.height) == (0, 0, 0)


ROWS = st.lists(
    st.tuples(
        st.integers(1, 80), st.integers(0, 25), st.sampled_from([None, -1, 0, 1]), st.sampled_from([None, -1, 3])
    ),
    min_size=1,
    max_size=25,
)


def drawn(rows: list[tuple[int, int, int | None, int | None]]) -> Trace:
    columns = {
        "kind": ["kernel"] * len(rows),
        "name": ["k"] * len(rows),
        "start_ns": [start for start, *_ in rows],
        "end_ns": [start + length for start, length, *_ in rows],
        "device": pl.Series([device for *_, device, _ in rows], dtype=pl.Int32),
        "stream": pl.Series([stream for *_, stream in rows], dtype=pl.Int64),
    }
    return checked(Trace("drawn.json", "hand", build.gpu_ops(pl.DataFrame(columns))))


@given(ROWS)
@settings(deadline=None, max_examples=80)
def test_time_is_conserved_on_every_device_and_stream(rows: list[tuple[int, int, int | None, int | None]]) -> None:
    found = find_overlap(drawn(rows))
    for frame, keys in ((found.devices, (2,)), (found.streams, (2, 3))):
        for group in frame.rows(named=True):
            names = ("device", "stream")[: len(keys)]
            mine = [r for r in rows if all(r[k] == group[n] for k, n in zip(keys, names, strict=True))]
            active = np.zeros(120, dtype=int)
            beside = np.zeros(120, dtype=int)
            for start, length, *_ in mine:
                active[start : start + length] += 1
            for start, length, device, _ in rows:
                beside[start : start + length] += device == group["device"]
            first, last = min(r[0] for r in mine), max(r[0] + r[1] for r in mine)
            assert group["gpu_ops"] == len(mine)
            assert group["window_ns"] == last - first
            assert group["busy_ns"] == (active > 0).sum()
            assert group["kernel_ns"] == active.sum()
            assert group["exposed_ns"] == ((active == 1) & (beside == 1)).sum()
            assert group["busy_ns"] + group["idle_ns"] == group["window_ns"]
            assert group["exposed_ns"] + group["overlap_ns"] == group["kernel_ns"]


@given(ROWS, st.integers(0, 2**60))
@settings(deadline=None, max_examples=30)
def test_exposed_time_does_not_depend_on_the_origin_of_time(
    rows: list[tuple[int, int, int | None, int | None]], shift: int
) -> None:
    trace = drawn(rows)
    moved = trace.gpu_ops.with_columns(pl.col("start_ns") + shift, pl.col("end_ns") + shift)
    again = find_overlap(Trace(trace.path, trace.format, moved))
    assert again.solo_ns.tolist() == find_overlap(trace).solo_ns.tolist()
