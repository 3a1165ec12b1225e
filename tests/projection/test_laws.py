"""Laws of the projection on simulated programs and on random traces: order, zero change, monotony, invariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpu_simulator import KINDS, Shown, random_program, simulate, to_trace
from projection.random_traces import traces
from trace_budget import api
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.rank import rank
from trace_budget.projection.replay.propagation import propagate
from trace_budget.projection.replay.schedule import Claim, Interval, Schedule, interval
from trace_budget.projection.target import PreparedRank, common_schedule, prepared_rank, target_of
from trace_budget.questions import project as project_question
from trace_budget.schema import build
from trace_budget.schema.options import Change, Policy, Range, Selection, TokenInput
from trace_budget.schema.trace import Trace

CALM = tuple(kind for kind in KINDS if not kind.startswith("contention"))
LOST = {"launches_without_kernels", "lost_kernels", "replays_without_kernels"}
SHARES = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
seeds = st.integers(0, 10_000)
programs = st.builds(lambda kind, seed: to_trace(simulate(random_program(kind, seed))), st.sampled_from(CALM), seeds)
anything = st.one_of(programs, traces())
crowded = st.builds(
    lambda kind, seed: to_trace(simulate(random_program(kind, seed))),
    st.sampled_from(tuple(kind for kind in KINDS if kind not in CALM)), seeds,
)  # fmt: skip


def prepared(trace: Trace) -> tuple[PreparedRank, Schedule]:
    site = prepared_rank(api.analyse(trace))
    return site, common_schedule([site], "auto")


def a_kernel(site: PreparedRank, pick: int) -> str:
    names = site.ops.filter(pl.col("kind") == "kernel")["name"].cast(pl.String).unique().sort()
    return str(names[pick % names.len()])


def claims_of(site: PreparedRank, kernel: str, shares: np.ndarray) -> list[tuple[Claim, ...]]:
    """The kernel shortened by these shares of what each call delays others."""
    free = target_of(site, Candidate("", Change(free=True), Selection(f"re:^{kernel}$")))
    effective = site.effective[free.timed.ops["op_id"].to_numpy()].astype(np.float64)
    ids = free.timed.ops["op_id"].to_numpy()
    return [(Claim(ids, *(effective * share,) * 3),) for share in shares]


def swept(trace: Trace, pick: int = 0) -> tuple[Interval, Schedule, float]:
    """Interval of a kernel at rising shares, the schedule, and its whole time per step."""
    site, base = prepared(trace)
    claims = claims_of(site, a_kernel(site, pick), SHARES)
    whole = float(claims[-1][0].expected.sum()) / len(site.found.steps.used)
    return interval(base, claims), base, whole


def same(one: Interval, other: Interval) -> None:
    for name in ("low", "expected", "high"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(trace=anything, pick=st.integers(0, 30), share=st.floats(0.05, 1.0))
def test_bounds_are_in_order(trace: Trace, pick: int, share: float) -> None:
    site, _ = prepared(trace)
    name = a_kernel(site, pick)
    median = float(site.ops.filter(pl.col("name").cast(pl.String) == name)["dur_ns"].median() or 0)  # type: ignore[arg-type]
    # Graphs of random sizes look as if kernels were lost: forced.
    change = Change(saving_us=share * median / 1000, clip=True, force=True)
    projection = project_question.projection(trace, Selection(f"re:^{name}$"), change)
    limits = projection.limits
    assert 0 <= limits.low <= limits.expected <= limits.high
    # A chain holds what its calls save at most; the product, what they are expected to.
    expected, most = float(projection.saving.expected.sum()), float(projection.saving.high.sum())
    assert limits.chain <= max(limits.naive * (most / expected if expected > 0 else 1.0), limits.high) + 1e-6
    assert 0 <= limits.exposed <= limits.naive + 1e-6
    if not limits.contended:
        assert limits.high <= limits.chain + 1e-6


def per_step_ns(trace: Trace, names: list[str]) -> float:
    """What kernels take per counted step, summed from the trace itself."""
    found = api.analyse(trace)
    counted = pl.Series(np.isin(found.steps.op_step, found.steps.used))
    rows = trace.gpu_ops.filter(counted & pl.col("name").cast(pl.String).is_in(names) & (pl.col("kind") == "kernel"))
    return float((rows["end_ns"] - rows["start_ns"]).sum()) / len(found.steps.used)


@settings(max_examples=40, deadline=None)
@given(
    trace=st.one_of(anything, crowded),
    picks=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    token_us=st.floats(1, 1e4),
)
def test_no_bound_lies_above_what_the_kernels_or_a_token_take(
    trace: Trace, picks: tuple[int, int], token_us: float
) -> None:
    site, _ = prepared(trace)
    names = sorted({a_kernel(site, pick) for pick in picks})
    change = Change(free=True, hit_rate=Range(1.0, 1.0), force=True)
    candidates = tuple(Candidate(name, change, Selection(f"re:^{name}$")) for name in names)
    asked = CandidateSet(candidates, Policy(), TokenInput(token_ms=token_us / 1000))
    ranking = rank(site.found, asked)
    # Of replays that run fewer kernels than their like some were lost: high takes them in, and the sum here cannot.
    assume(not any(caveat.code in LOST for row in ranking.rows for caveat in row.alone.caveats))
    for row in ranking.rows:
        limits = row.alone.limits
        assert limits.low <= limits.expected <= limits.high
        assert limits.high <= min(per_step_ns(trace, [row.candidate.id]), token_us * 1000) * (1 + 1e-9)
    joint = ranking.joint
    assert joint.low <= joint.expected <= joint.high
    assert joint.high <= min(per_step_ns(trace, names), token_us * 1000) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(trace=anything)
def test_without_a_change_the_replay_is_the_trace(trace: Trace) -> None:
    _, base = prepared(trace)
    for line, edges in base.lines:
        nothing = np.zeros((line.size, 1))
        shifts = propagate(line, edges, nothing, nothing, nothing)
        assert not any(values.any() for values in (*shifts.start, *shifts.end))
        assert not shifts.per_step(line, base.steps).any()


@settings(max_examples=30, deadline=None)
@given(trace=anything, pick=st.integers(0, 30))
def test_more_saved_per_call_is_more_saved_and_ever_less_so(trace: Trace, pick: int) -> None:
    moved, base, whole = swept(trace, pick)
    for values in (moved.low, moved.expected, moved.high):
        assert values[0] == 0
    if all(line.pace.loop in ("waits", "one") for line, _ in base.lines):
        # In a loop that runs ahead the step is a difference of two replays, which need not grow or be concave.
        for values in (moved.low, moved.expected, moved.high):
            assert (np.diff(values) >= -1e-6).all()
        assert (np.diff(moved.expected, n=2) <= 1e-6 * max(whole, 1.0)).all()


@settings(max_examples=20, deadline=None)
@given(trace=anything, pick=st.integers(0, 30), by_ns=st.integers(-(10**9), 10**15))
def test_the_clock_may_start_anywhere(trace: Trace, pick: int, by_ns: int) -> None:
    def later(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col("start_ns", "end_ns") + by_ns)

    shifted = replace(
        trace,
        gpu_ops=later(trace.gpu_ops),
        calls=later(trace.calls),
        markers=later(trace.markers),
        syncs=later(trace.syncs),
    )
    same(swept(trace, pick)[0], swept(shifted, pick)[0])


@settings(max_examples=20, deadline=None)
@given(trace=anything, pick=st.integers(0, 30), names=st.permutations(range(7, 12)))
def test_streams_may_have_any_number(trace: Trace, pick: int, names: list[int]) -> None:
    def renamed(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        return frame.with_columns(pl.col(*columns).replace({old: new + 100 for old, new in enumerate(names, 7)}))

    other = replace(
        trace, gpu_ops=renamed(trace.gpu_ops, "stream"), syncs=renamed(trace.syncs, "stream", "wait_stream")
    )
    same(swept(trace, pick)[0], swept(other, pick)[0])


@settings(max_examples=20, deadline=None)
@given(trace=anything, pick=st.integers(0, 30), seed=seeds)
def test_rows_may_come_in_any_order(trace: Trace, pick: int, seed: int) -> None:
    def shuffled(frame: pl.DataFrame, *ids: str) -> pl.DataFrame:
        return frame.drop(*ids).sample(fraction=1.0, shuffle=True, seed=seed)

    # Rows of one time have no order but that of the file: only such are left out.
    ops, calls = trace.gpu_ops, trace.calls
    if ops["start_ns"].n_unique() < ops.height or calls["start_ns"].n_unique() < calls.height:
        return
    again = build.calls(shuffled(calls, "launch_id"))
    mixed = replace(
        trace,
        gpu_ops=build.gpu_ops(shuffled(ops, "op_id", "launch_id"), again),
        calls=again,
        markers=build.markers(shuffled(trace.markers, "marker_id")),
        syncs=build.syncs(shuffled(trace.syncs)),
    )
    same(swept(trace, pick)[0], swept(mixed, pick)[0])


@settings(max_examples=12, deadline=None)
@given(seed=seeds, pick=st.integers(0, 30))
def test_recorded_waits_never_widen_the_interval(seed: int, pick: int) -> None:
    run = simulate(random_program("eager_2streams", seed))
    known, _, _ = swept(to_trace(run), pick)
    unknown, _, _ = swept(to_trace(run, shown=Shown(hide_sync=True)), pick)
    assert (known.low >= unknown.low - 1e-6).all()
    assert (known.high <= unknown.high + 1e-6).all()


@settings(max_examples=12, deadline=None)
@given(seed=seeds, pick=st.integers(0, 30))
def test_a_wider_claim_gives_a_wider_interval(seed: int, pick: int) -> None:
    site, base = prepared(to_trace(simulate(random_program("forkjoin_graph", seed))))
    ((exact,),) = claims_of(site, a_kernel(site, pick), np.array([0.5]))
    wide = Claim(exact.op_id, exact.low * 0.8, exact.expected, exact.high * 1.2)
    narrow, broad = (interval(base, [(claim,)]) for claim in (exact, wide))
    assert broad.low[0] <= narrow.low[0] + 1e-6
    assert broad.expected[0] == pytest.approx(narrow.expected[0])
    assert broad.high[0] >= narrow.high[0] - 1e-6
