"""A wait that another thread makes holds the thread that goes on where it returns."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from gpu_simulator import Program, simulate, to_trace
from projection.programs import US, asked, loop
from trace_budget.schema.options import Change
from trace_budget.schema.trace import Trace


def waiting_elsewhere(program: Program) -> Trace:
    trace = to_trace(simulate(program))
    tid = pl.when(pl.col("kind") == "sync").then(pl.col("tid") + 1).otherwise("tid")
    return replace(trace, calls=trace.calls.with_columns(tid.alias("tid")))


@pytest.mark.parametrize(("host_us", "asynchronous"), [(200, False), (700, False), (200, True), (900, True)])
@pytest.mark.parametrize("saving_us", [20, 250])
def test_the_saving_arrives_through_the_other_thread(host_us: int, asynchronous: bool, saving_us: int) -> None:
    program = loop(host_us, 1_000, asynchronous)
    here = asked(program, "k", Change(saving_us=saving_us)).limits
    there = asked(waiting_elsewhere(program), "k", Change(saving_us=saving_us)).limits
    assert there.expected == pytest.approx(here.expected, rel=0.02)
    assert there.low <= here.expected + 1 <= there.high + 2


def test_a_thread_that_goes_on_at_once_has_surely_waited() -> None:
    program = loop(3, 1_000, False)
    limits = asked(waiting_elsewhere(program), "k", Change(saving_us=50)).limits
    assert limits.low >= 0.9 * 50 * US


def test_a_thread_that_works_on_during_the_wait_has_not_waited() -> None:
    """The launching thread makes calls all the time: the other thread's wait holds nothing."""
    program = loop(990, 1_000, True)
    trace = waiting_elsewhere(program)
    busy = trace.calls.filter(pl.col("kind") == "launch").with_columns(
        pl.lit("other").alias("kind").cast(trace.calls["kind"].dtype)
    )
    more = [
        busy.with_columns(pl.col("start_ns") + by * US, pl.col("end_ns") + (by + 3) * US) for by in range(4, 984, 4)
    ]
    calls = pl.concat([trace.calls, *more]).sort("start_ns", maintain_order=True)
    place = pl.DataFrame({"old": calls["launch_id"], "new": range(calls.height)}).filter(calls["kind"] != "other")
    ops = trace.gpu_ops.join(place, left_on="launch_id", right_on="old", how="left", maintain_order="left")
    ops = ops.with_columns(pl.col("new").cast(pl.Int64).alias("launch_id")).drop("new")
    calls = calls.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("launch_id"))
    limits = asked(replace(trace, gpu_ops=ops, calls=calls), "k", Change(saving_us=200)).limits
    assert limits.low <= 11 * US
