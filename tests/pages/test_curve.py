"""The sensitivity curve: each point is a projection, knees by hand, costs and hit rate applied."""

from dataclasses import replace
from pathlib import Path

import pytest

from projection.builders import Call, Op, Range, hand_trace
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.projection.candidates import Candidate
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.options import Range as Share
from trace_budget.schema.page import Curve
from trace_budget.schema.trace import Trace

STEP_US = 100.0
SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


def forked(steps: int = 4, short_us: float | None = None) -> Trace:
    """A graph a step, waited for: k(30) beside c(22), joined by j(5); `short_us` ends with a second, shorter k."""
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = STEP_US * step, 10 * step + 1
        ranges.append(Range(at - 20, at + 10))
        calls += [
            Call("cudaGraphLaunch", at - 15, at - 5, graph),
            Call("cudaStreamSynchronize", at - 4, at + 60, graph + 1),
        ]
        ops += [Op("a", at, 10, 7, graph, node=1), Op("k", at + 10, 30, 7, graph, node=2)]
        ops += [Op("c", at + 10, 22, 8, graph, node=3), Op("j", at + 40, 5, 7, graph, node=4)]
        ops += [Op("k", at + 45, short_us, 7, graph, node=5)] if short_us else []
    return hand_trace(ops, calls, ranges)


def curve(trace: Trace, change: Change, kernel: str = "re:^k$", **asked: object) -> Curve:
    return project_question.sensitivity(trace, Candidate("", change, Selection(kernel)), **asked)  # type: ignore[arg-type]


def test_the_knee_stands_where_the_other_branch_takes_over() -> None:
    drawn = curve(forked(), Change(saving_us=4.0))
    assert [knee.saving_us for knee in drawn.knees] == pytest.approx([8.0], abs=0.01)
    assert [knee.expected_pct for knee in drawn.knees] == pytest.approx([100 * 8 / STEP_US], abs=0.01)
    assert drawn.full_us == drawn.shortest_us == 30.0
    for us, pct in drawn.points.select("saving_us", "expected_pct").rows():
        assert pct == pytest.approx(100 * min(us, 8.0) / STEP_US, abs=0.01)
    assert drawn.points["naive_pct"].to_list()[-1] == pytest.approx(100 * 30 / STEP_US)
    assert drawn.stated is not None
    assert (drawn.stated.saving_us, drawn.stated.expected_pct) == pytest.approx((4.0, 4.0), abs=0.01)


def test_calls_that_run_out_bend_the_line_without_a_knee() -> None:
    drawn = curve(forked(short_us=4.0), Change(saving_us=1.0))
    assert drawn.shortest_us == 4.0
    assert drawn.full_us == 17.0
    assert drawn.knees == ()
    by_us = {round(us, 3): pct for us, pct in drawn.points.select("saving_us", "naive_pct").rows()}
    # From 4 us on only one of the two calls has anything left.
    assert by_us[17.0] == pytest.approx(100 * (17 + 4) / STEP_US)
    assert by_us[2.125] == pytest.approx(100 * 2 * 2.125 / STEP_US)


@pytest.mark.parametrize(
    "change",
    [
        Change(saving_us=3.0, overhead_us=0.5),
        Change(saving_us=3.0, per_step_us=2.0),
        Change(new_us=10.0, hit_rate=Share(0.25, 0.5)),
        Change(speedup=2.0, extra_bytes=1e6, bandwidth_gbps=1000.0),
    ],
)
def test_every_point_is_the_projection_of_that_saving(change: Change) -> None:
    trace = forked()
    drawn = curve(trace, change)
    for us, *pct in drawn.points.select("saving_us", "low_pct", "expected_pct", "high_pct", "naive_pct").rows()[::4]:
        same = replace(change, saving_us=us, new_us=None, speedup=None, clip=True)
        alone = project_question.projection(trace, Selection("re:^k$"), same).pct
        assert pct == pytest.approx([alone.low, alone.expected, alone.high, alone.naive], abs=1e-9)


def test_costs_belong_to_the_curve_and_not_to_the_axis() -> None:
    drawn = curve(forked(), Change(saving_us=3.0, overhead_us=0.5, extra_bytes=1e6, bandwidth_gbps=1000.0))
    assert drawn.stated is not None
    assert drawn.stated.saving_us == pytest.approx(3.0)
    first = drawn.points.row(0, named=True)
    assert (first["saving_us"], first["naive_pct"]) == pytest.approx((0.0, -100 * 1.5 / STEP_US))


def test_the_ceiling_itself_has_no_place_on_the_curve() -> None:
    assert curve(forked(), Change(free=True)).stated is None


def test_policy_and_token_are_told() -> None:
    asked = {"policy": Policy(2.0, 0.5, 7), "token": TokenInput(token_ms=0.1)}
    drawn = curve(forked(), Change(saving_us=4.0), **asked)
    assert (drawn.target_pct, drawn.noise_pct, drawn.runs, drawn.token_us) == (2.0, 0.5, 7, 100.0)
    assert drawn.stated is not None
    assert drawn.stated.expected_pct == pytest.approx(4.0, abs=0.01)


def test_points_rise_and_bounds_keep_their_order_on_the_sample() -> None:
    points = curve(api.open_trace(SEED), Change(saving_us=3.228), "gdn_fused").points
    for column in ("expected_pct", "high_pct", "naive_pct"):
        assert points[column].diff().drop_nulls().min() >= -1e-9  # type: ignore[operator]
    for low, middle, high in points.select("low_pct", "expected_pct", "high_pct").rows():
        assert low <= middle + 1e-9
        assert middle <= high + 1e-9
    assert points["saving_us"].to_list()[-1] == pytest.approx(20.272)


@needs_shared
@pytest.mark.parametrize(
    ("name", "kernel"), [("vllm_decode_full_graph", "swiglu"), ("sglang_decode_full_graph", "ll4mi_QKV")]
)
def test_real_decode_steps_gain_every_us_of_a_lone_stream(name: str, kernel: str) -> None:
    trace = api.open_trace(SHARED / "kineto" / f"{name}.json.gz")
    drawn = curve(trace, Change(saving_us=3.228), kernel)
    early = drawn.points.filter(drawn.points["saving_us"] < drawn.shortest_us)
    assert early.height > 10
    assert early["expected_pct"].to_list() == pytest.approx(early["naive_pct"].to_list(), rel=1e-6)
    assert drawn.knees == ()
