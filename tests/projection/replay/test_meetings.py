"""Collectives meet inside their process group, by sequence; sends meet receives; the rest is left out."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.projection.project import Projection, project
from trace_budget.projection.replay.meetings import Meetings, meetings
from trace_budget.projection.target import common_schedule, prepared_rank
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.trace import Trace

STEP_US = 400.0


def with_groups(trace: Trace, rank: int, groups: dict[str, tuple[str, int]]) -> Trace:
    name = pl.col("name").cast(pl.String)
    texts = {op: text for op, (text, _) in groups.items()}
    sizes = {op: size for op, (_, size) in groups.items()}
    ops = trace.gpu_ops.with_columns(
        name.replace_strict(texts, default=None, return_dtype=pl.String).alias("group"),
        name.replace_strict(sizes, default=None, return_dtype=pl.Int32).alias("group_size"),
    )
    return replace(trace, gpu_ops=ops, rank=rank, path=f"rank-{rank}.json")


def member(rank: int, group: str, work_us: float, slowest_us: float, first: int = 0, steps: int = 8) -> Trace:
    """Work, then an all-reduce of 10 us that begins when the slowest of the group has come; the host waits."""
    ops, calls, ranges = [], [], []
    for step in range(first, first + steps):
        at, graph = STEP_US * step, 10 * step + 1
        met = at + slowest_us + 10
        ranges.append(Range(at - 20, at + 10))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, met + 3, graph + 1))
        ops.append(Op("w", at, work_us, 7, graph, node=1))
        ops.append(Op("ncclDevKernel_AllReduce", at + work_us, met - at - work_us, 7, graph, node=2))
    return with_groups(hand_trace(ops, calls, ranges, world_size=4), rank, {"ncclDevKernel_AllReduce": (group, 2)})


def met(*traces: Trace) -> Meetings | None:
    lines = [common_schedule([prepared_rank(api.analyse(trace))], "auto").lines[0][0] for trace in traces]
    return meetings(traces, lines)


def asked(saving_us: float, *traces: Trace) -> Projection:
    found = [api.analyse(trace) for trace in traces]
    return project(found[0], Selection("w"), Change(saving_us=saving_us), TokenInput(), Policy(), found[1:])


def test_only_ranks_of_the_group_meet() -> None:
    traces = (
        member(0, "0 [0, 1]", 100, 120),
        member(1, "0 [0, 1]", 120, 120),
        member(2, "2 [2, 3]", 200, 230),
        member(3, "2 [2, 3]", 230, 230),
    )
    found = met(*traces)
    assert found is not None
    assert set(found.rank.tolist()) == {0, 1}
    assert (found.unmet, len(set(found.number.tolist()))) == (0, 8)
    assert asked(15.0, *traces).limits.expected == pytest.approx(15_000, abs=1)


def test_a_group_that_is_not_whole_meets_nobody() -> None:
    assert met(member(0, "0 [0, 1]", 100, 120), member(2, "2 [2, 3]", 200, 230)) is None


def test_recordings_may_begin_a_step_apart() -> None:
    first, later = member(0, "0 [0, 1]", 100, 120), member(1, "0 [0, 1]", 120, 120, first=1)
    found = met(first, later)
    assert found is not None
    assert (len(set(found.number.tolist())), found.unmet) == (7, 0)
    assert found.of_rank(0).tolist()[0] == 3
    assert found.of_rank(1).tolist()[0] == 1


def stage(rank: int, work_us: float, other_us: float, steps: int = 10) -> Trace:
    """A pipeline of two stages with two batches: each waits for what the other sends, a send goes on at once."""
    received = max(work_us, other_us) + 4 + 3
    period = received + 1
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = period * step, 10 * step + 1
        ranges.append(Range(30 * step - 2_005, 30 * step - 1_985))
        calls.append(Call("cudaGraphLaunch", 30 * step - 2_000, 30 * step - 1_990, graph))
        sent = at + work_us + 4
        ops.append(Op("w", at, work_us, 7, graph, node=1))
        ops.append(Op("ncclDevKernel_SendRecv_s", at + work_us, 4, 7, graph, node=2))
        ops.append(Op("ncclDevKernel_SendRecv_r", sent, at + received - sent, 7, graph, node=3))
    there, back = f"1 [0, 1] {rank}>{1 - rank}", f"1 [0, 1] {1 - rank}>{rank}"
    groups = {"ncclDevKernel_SendRecv_s": (there, 2), "ncclDevKernel_SendRecv_r": (back, 2)}
    return with_groups(hand_trace(ops, calls, ranges, world_size=2), rank, groups)


def test_sends_meet_receives_and_end_on_their_own() -> None:
    found = met(stage(0, 100, 100), stage(1, 100, 100))
    assert found is not None
    assert set(found.sender.tolist()) == {0, 1}
    assert found.unmet == 0


@pytest.mark.parametrize(("mine", "other", "saved"), [(100, 100, 15), (200, 100, 15), (100, 200, 15)])
def test_stages_of_a_pipeline_gain_together(mine: float, other: float, saved: float) -> None:
    limits = asked(15.0, stage(0, mine, other), stage(1, other, mine)).limits
    assert limits.low <= saved * 1_000 + 1 <= limits.high + 2
    assert limits.expected == pytest.approx(saved * 1_000, rel=0.05)
