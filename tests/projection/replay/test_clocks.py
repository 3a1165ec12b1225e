"""A clock that is off changes no saving: host and device are brought together by causality, and it is told."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from gpu_simulator import Program, random_program, simulate, to_trace
from projection.programs import US, asked, loop
from trace_budget.projection.project import Projection
from trace_budget.projection.replay.clocks import Clock, clock_caveats, on_device_clock
from trace_budget.schema.options import Change
from trace_budget.schema.trace import Trace

PROGRAMS = {
    "eager": random_program("eager_1stream", 4),
    "graph": random_program("linear_graph", 4),
    "ahead": loop(900, 1_000, asynchronous=True),
    "sync": loop(300, 1_000, asynchronous=False),
}


def with_device_times(trace: Trace, moved: pl.Expr) -> Trace:
    ops = trace.gpu_ops.with_columns((pl.col(name) + moved).alias(name) for name in ("start_ns", "end_ns"))
    return replace(trace, gpu_ops=ops)


def with_launch_moved(trace: Trace, launch: int, by_ns: int) -> Trace:
    moved = pl.when(pl.col("launch_id") == launch).then(by_ns).otherwise(0)
    calls = trace.calls.with_columns((pl.col(name) + moved).alias(name) for name in ("start_ns", "end_ns"))
    calls = calls.sort("start_ns", maintain_order=True)
    place = calls["launch_id"].arg_sort()
    ops = trace.gpu_ops.with_columns(place.gather(trace.gpu_ops["launch_id"]).cast(pl.Int64).alias("launch_id"))
    rows = pl.int_range(pl.len(), dtype=pl.Int64).alias("launch_id")
    return replace(trace, gpu_ops=ops, calls=calls.with_columns(rows))


def projected(trace: Trace) -> Projection:
    name = trace.gpu_ops.group_by("name").len().sort("len", "name", descending=True)["name"][0]
    return asked(trace, f"{name}", Change(saving_us=2.0, clip=True))


def parts(projection: Projection) -> list[float]:
    limits = projection.limits
    return [limits.low, limits.expected, limits.high]


def run(program: Program) -> Trace:
    return to_trace(simulate(program))


@pytest.mark.parametrize("by_us", [-5_000, -300, -12])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_clock_behind_changes_no_saving_and_is_told(name: str, by_us: int) -> None:
    trace = run(PROGRAMS[name])
    right, off = projected(trace), projected(with_device_times(trace, pl.lit(by_us * US)))
    assert off.limits.low <= right.limits.expected + 1 <= off.limits.high + 2
    assert off.limits.high <= right.limits.naive + 1
    assert off.limits.expected == pytest.approx(right.limits.expected, abs=0.02 * right.limits.naive + 1)
    told = {caveat.code for caveat in off.caveats}
    assert "clocks_apart" in told
    assert "clocks_apart" not in {caveat.code for caveat in right.caveats}


@pytest.mark.parametrize("name", ["eager", "graph"])
def test_a_clock_ahead_is_seen_where_waits_return_too_early(name: str) -> None:
    trace = run(PROGRAMS[name])
    calls, clock = on_device_clock(with_device_times(trace, pl.lit(700 * US)), 0)
    assert clock.added_ns < -600 * US
    assert clock.least_ns <= clock.added_ns <= clock.most_ns
    assert (trace.calls["start_ns"] - calls["start_ns"]).unique().to_list() == [clock.added_ns]


def test_clocks_that_may_agree_are_left_alone() -> None:
    for name, program in PROGRAMS.items():
        trace = run(program)
        calls, clock = on_device_clock(trace, 0)
        assert calls.equals(trace.calls), name
        assert (clock.added_ns, clock.early, clock.unsure_ns) == (0, 0, 0), name
        assert clock.least_ns <= 0 <= clock.most_ns


@pytest.mark.parametrize("early_us", [40, 400])
@pytest.mark.parametrize("last", [False, True])
def test_one_op_before_its_launch_moves_no_clock_and_wrecks_nothing(early_us: int, last: bool) -> None:
    trace = run(PROGRAMS["eager"])
    right = projected(trace)
    row = trace.gpu_ops.height - 2 if last else trace.gpu_ops.height // 2
    launch = trace.gpu_ops["launch_id"][row]
    late = int(trace.gpu_ops["start_ns"][row]) + early_us * US - int(trace.calls["start_ns"][launch])
    off = projected(with_launch_moved(trace, launch, late))
    assert off.limits.low <= right.limits.expected + 1 <= off.limits.high + 2
    assert off.limits.expected == pytest.approx(right.limits.expected, rel=0.2)
    assert {"op_before_launch", "clocks_apart"} & {caveat.code for caveat in off.caveats}


def test_what_is_told_of_clocks() -> None:
    assert clock_caveats([Clock()]) == ()
    (told,) = clock_caveats([Clock(), Clock(12_500, 12_500, 20_000, 0)])
    assert (told.code, told.severity) == ("clocks_apart", "warning")
    assert "12.5 us behind" in told.text
    assert "12.5 to 20 us" in told.text
    (late,) = clock_caveats([Clock(-3_000, -(2**60), -3_000, 0)])
    assert "3 us ahead of" in late.text
    assert [caveat.code for caveat in clock_caveats([Clock(early=2)])] == ["op_before_launch"]
