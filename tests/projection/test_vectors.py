"""The founding figures and the small programs whose true saving is known by hand: one test a case, in microseconds.

Every name says what is at stake. The simulator's own tests run the same programs with kernels truly shortened.
"""

from __future__ import annotations

import pytest

from gpu_simulator import Kernel, Machine, Program, Shown, Step, deltas, planned, simulate, to_trace, true_saving_ns
from gpu_simulator.program import Cpu, GraphLaunch, Launch, Pdl, Record, Sync, Wait
from projection.builders import ANNOTATION, graph_steps, repeated_steps
from projection.programs import US, asked, found, k, loop, node, program, saved_us
from trace_budget import api
from trace_budget.projection.candidates import Candidate, Sequence
from trace_budget.projection.estimate import estimate
from trace_budget.projection.mixture import Phase, mix
from trace_budget.projection.project import Projection, project, project_candidate
from trace_budget.projection.threshold import threshold
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace

TOKEN_US = 44_000.0


def decode(kernel_us: float, calls: int = 48, step_us: float = TOKEN_US) -> Trace:
    """Steps of 44 ms in which one kernel runs 48 times between others."""
    rest = ("rest", (step_us - 3_000) / calls - kernel_us)
    return graph_steps([part for _ in range(calls) for part in (("gdn", kernel_us), rest)], step_us)


def on(trace: Trace, change: Change, policy: Policy | None = None, **token: float) -> Projection:
    return project_question.projection(trace, Selection("gdn"), change, token=TokenInput(**token), policy=policy)  # type: ignore[arg-type]


def per_step_us(projection: Projection) -> tuple[float, float, float]:
    limits = projection.limits
    return limits.low / US, limits.expected / US, limits.high / US


def test_01_case_1_saves_a_third_of_a_percent() -> None:
    got = on(decode(12.936), Change(saving_us=3.10840, baseline_us=12.93559))
    assert got.match.calls_per_step == 48
    assert got.token.step_ns / US == TOKEN_US
    assert per_step_us(got) == pytest.approx((149.2032, 149.2032, 149.2032), rel=4e-5)
    assert got.limits.naive / US == pytest.approx(149.2032)
    assert got.pct.expected == pytest.approx(0.33910, abs=5e-6)
    assert (got.verdict.verdict, got.verdict.reason) == ("NO-GO", "high_bound")


def test_02_case_2_was_measured_on_another_kernel_than_the_one_in_the_trace() -> None:
    trace = decode(20.27239)
    too_much = on(trace, Change(saving_us=26.6184))
    assert too_much.verdict.verdict == "INVALID"
    assert "exceeds" in too_much.verdict.why
    ratio_alone = on(trace, Change(speedup=2.89363))
    assert ratio_alone.saving.expected.mean() / US == pytest.approx(13.2665, abs=5e-4)
    assert ratio_alone.limits.naive / US == pytest.approx(636.79, abs=0.02)
    assert ratio_alone.pct.naive == pytest.approx(1.447, abs=5e-4)
    assert ratio_alone.verdict.verdict == "MARGINAL"
    assert "ratio_only" in {caveat.code for caveat in ratio_alone.caveats}
    with_control = on(trace, Change(speedup=2.89363, baseline_us=40.6752))
    assert with_control.verdict.verdict == "INVALID"
    assert "baseline mismatch" in with_control.verdict.why
    assert 1 / (with_control.saving.kappa or 0) == pytest.approx(2.006, abs=5e-4)
    right = on(trace, Change(new_us=17.04439, baseline_us=20.27239))
    assert right.saving.expected.mean() / US == pytest.approx(3.22800, abs=5e-4)
    assert right.limits.naive / US == pytest.approx(154.944, abs=0.02)
    assert right.pct.expected == pytest.approx(0.35215, abs=5e-5)
    assert right.verdict.verdict == "NO-GO"


def test_03_case_3_a_bound_that_assumes_the_missing_part_is_free_ends_it() -> None:
    trace = decode(55.04)
    bound = on(trace, Change(proxy_us=53.28, baseline_us=55.04))
    assert bound.saving.high.mean() / US == pytest.approx(1.76)
    assert bound.limits.high / US == pytest.approx(84.48)
    assert bound.pct.high == pytest.approx(0.192)
    assert (bound.verdict.verdict, bound.saving.bound_only) == ("NO-GO", True)
    as_built = on(trace, Change(new_us=61.6))
    assert (as_built.saving.expected.mean() / US, as_built.limits.expected / US) == pytest.approx((-6.56, -314.88))
    whole = on(trace, Change(new_us=53.28 + 21.44))
    assert (whole.saving.expected.mean() / US, whole.limits.expected / US) == pytest.approx((-19.68, -944.64))
    assert {p.verdict.reason for p in (as_built, whole)} == {"regression"}


def test_04_the_inverse_is_known_before_the_kernel_is_written() -> None:
    trace = decode(12.936)
    plain = on(trace, Change(free=True), Policy(dilution=2 / 3)).required
    assert (plain.plain_ns, plain.diluted_ns) == pytest.approx((9_166.667, 13_750))
    costly = on(trace, Change(saving_us=3, overhead_us=2.5)).required
    assert costly.plain_ns == pytest.approx(11_666.667)
    rows, _ = threshold(found(trace), TokenInput(), Policy(dilution=2 / 3))
    row = rows.filter(rows["kernel"] == "gdn")
    assert row["required_ns_per_call"][0] == pytest.approx(9_166.667)
    assert row["required_with_dilution_ns"][0] == pytest.approx(13_750)


BESIDE = (Record(1, 1), Wait(1, 0))


def test_05_full_overlap_saves_nothing() -> None:
    got = saved_us(program(k("k", 10), k("m", 10), k("c", 40, 1), *BESIDE, k("j", 5)), "k", 5)
    assert (got.naive, got.exposed, got.low, got.expected) == (5, 0, 0, 0)


def test_06_exposed_time_is_no_upper_bound() -> None:
    got = saved_us(program(k("k", 10), k("m", 10), k("c", 10, 1), k("j", 5)), "k", 5)
    assert (got.naive, got.exposed, got.expected) == (5, 0, 5)
    assert got.low <= 5 <= got.high


def test_07_exposed_time_is_no_lower_bound_when_launches_set_the_pace() -> None:
    launches = [k("k", 10, cost_us=20) for _ in range(3)]
    got = saved_us(program(*launches, machine=Machine(latency_ns=5 * US)), "k", 4)
    assert (got.naive, got.exposed, got.low, got.expected) == (12, 12, 4, 4)


@pytest.mark.parametrize(("saving", "saved"), [(4, 4), (8, 8), (12, 8), (30, 8)])
def test_08_a_saving_saturates_where_the_other_stream_takes_over(saving: float, saved: float) -> None:
    got = saved_us(program(k("k", 30), k("c", 22, 1), *BESIDE, k("j", 5)), "k", saving)
    assert got.expected == saved
    assert got.low <= saved <= got.high


FORKS = (
    node("k", 20),
    node("x", 14, branch=1),
    node("y", 4, (0, 1)),
    node("k", 20, (2,)),
    node("z", 10, (2,), branch=1),
    node("j", 2, (3, 4)),
)


@pytest.mark.parametrize(("saving", "saved"), [(5, 10), (6, 12), (8, 14), (10, 16), (12, 16), (20, 16)])
@pytest.mark.parametrize("hidden", [False, True])
def test_08b_two_knees(saving: float, saved: float, hidden: bool) -> None:
    got = saved_us(program(GraphLaunch(FORKS, 0, 0), shown=Shown(hide_streams=hidden)), "k", saving)
    assert got.expected == saved
    assert got.low <= saved <= got.high


@pytest.mark.parametrize("host_us", [1_000, 9_900, 12_000])
def test_09_a_synchronous_loop_saves_all(host_us: float) -> None:
    """A long pause may be for something outside of the trace, until the user says that the host works in it."""
    of = loop(host_us, 10_000, asynchronous=False)
    got = saved_us(of, "k", 200)
    assert (got.low, got.expected, got.high) == (200 if host_us < 1_500 else 0, 200, 200)
    told = saved_us(of, "k", 200, loop="sync")
    assert (told.low, told.expected, told.high) == (200, 200, 200)


@pytest.mark.parametrize(("host_us", "saved"), [(1_000, 200), (9_900, 100), (12_000, 0)])
def test_09_a_loop_one_step_ahead_saves_down_to_the_host(host_us: float, saved: float) -> None:
    ahead = loop(host_us, 10_000, asynchronous=True)
    assert true_saving_ns(ahead, "k", 200 * US) == saved * US
    got = saved_us(ahead, "k", 200)
    assert got.expected == saved
    assert got.low <= saved <= got.high
    told = saved_us(ahead, "k", 200, loop="async")
    assert told.low <= saved <= told.high


def test_10_a_quarter_of_the_requests_saves_a_quarter() -> None:
    quarter = Range(0.25, 0.25)
    got = on(decode(12.936), Change(saving_us=3.1084, hit_rate=quarter))
    assert got.limits.expected / US == pytest.approx(37.3008)
    assert estimate(3.1084, 48, TOKEN_US, quarter, 1.0, 1.0).saving_us_per_token == pytest.approx(37.3008)


def test_11_overhead_and_traffic_turn_a_saving_into_a_loss() -> None:
    change = Change(saving_us=3.1084, overhead_us=2.5, extra_bytes=2 * 2**20, bandwidth_gbps=1_200)
    got = on(decode(12.936), change)
    assert got.saving.expected.mean() / US == pytest.approx(-1.13923, abs=5e-6)
    assert got.limits.expected / US == pytest.approx(-54.683, abs=5e-4)
    assert got.pct.high == pytest.approx(-0.124, abs=5e-4)
    assert (got.verdict.verdict, got.verdict.reason) == ("NO-GO", "regression")


def test_12_a_saving_beyond_the_kernel_is_refused_or_cut() -> None:
    trace = decode(5.0)
    refused = on(trace, Change(saving_us=6))
    assert refused.verdict.verdict == "INVALID"
    assert "exceeds the kernel's own 5.000 us" in refused.verdict.why
    cut = on(trace, Change(saving_us=6, clip=True))
    assert cut.saving.expected.mean() == 5 * US
    assert cut.limits.naive == 48 * 5 * US


APART = (("a", 4), ("b", 3), ("c", 2))
FUSED = Candidate("f", Change(new_us=5.5), None, Sequence(("a", "b", "c"), 5.5))


def fused(of: Program) -> Projection:
    return project_candidate(found(of), FUSED, TokenInput(), Policy())


def test_13_fusion_saves_the_gaps_between_the_kernels_too() -> None:
    parts = [k(name, us, gap_us=1.2) for _ in range(48) for name, us in APART]
    got = fused(program(Cpu(50 * US), k("head", 1_000, cost_us=5), *parts, Sync(0, None, US, 2 * US), steps=3))
    assert got.match.calls_per_step == 48
    assert got.saving.expected.mean() / US == pytest.approx(5.9)
    assert per_step_us(got) == pytest.approx((283.2, 283.2, 283.2))


def test_13_fusion_of_a_launch_bound_part_saves_its_launches() -> None:
    parts = [k(name, us, cost_us=6) for _ in range(10) for name, us in APART]
    chain = tuple(node("n", 5, (i - 1,) if i else ()) for i in range(40))
    # The graph shows what gaps the device leaves by itself.
    end = (GraphLaunch(chain, 0, 9 * US), Sync(0, None, US, 2 * US))
    got = fused(program(*parts, *end, steps=3, machine=Machine(latency_ns=5 * US)))
    low, expected, high = per_step_us(got)
    assert expected == pytest.approx(120)
    assert low <= 120 <= high


@pytest.mark.parametrize(("name", "saving", "saved"), [("A", 3, 3), ("B", 5, 5), ("B", 9, 8)])
def test_14_a_dependent_launch_counts_from_where_the_kernel_ahead_ended(name: str, saving: float, saved: float) -> None:
    second = Launch(Kernel("B", 8 * US), 0, 0, pdl=Pdl(0.8, 1 * US))
    got = saved_us(program(k("A", 10), second), name, saving)
    assert got.expected == saved
    assert got.naive == min(saving, 8 if name == "B" else 10)
    assert got.low <= saved <= got.high


def ranks(first_us: float, second_us: float) -> Program:
    """Two ranks that meet in an all-reduce of 10 us in each of three steps."""

    def rank(us: float) -> tuple[Step, ...]:
        def reduce(number: int) -> Launch:
            return Launch(Kernel("all_reduce", 10 * US, collective=number), 0, 2 * US)

        # The wait is long enough that both hosts are back before the next step.
        return tuple(Step((k("k", us, cost_us=2), reduce(n), Sync(0, None, US, 2 * US))) for n in range(3))

    return Program("vector", (rank(first_us), rank(second_us)))


def both_ranks(of: Program, kernel: str, saving: float, first: int = 0) -> Projection:
    run = simulate(of)
    seen = [found(to_trace(run, rank)) for rank in (first, 1 - first)]
    change = Change(saving_us=saving, clip=True)
    return project(seen[0], Selection(kernel), change, TokenInput(), Policy(), seen[1:])


@pytest.mark.parametrize("saving", [15, 30])
@pytest.mark.parametrize("first", [0, 1])
def test_15_ranks_that_all_gain_save_all(saving: float, first: int) -> None:
    late = ranks(100, 120)
    assert true_saving_ns(late, "k", round(saving * US)) == saving * US
    got = both_ranks(late, "k", saving, first)
    assert per_step_us(got) == pytest.approx((saving, saving, saving), abs=1e-6)


def test_15_one_rank_alone_proves_nothing() -> None:
    run = simulate(ranks(100, 120))
    got = asked(to_trace(run, 0), "k", Change(saving_us=15))
    assert got.limits.low <= 0
    assert got.limits.expected / US == pytest.approx(15)
    assert "one_rank" in {caveat.code for caveat in got.caveats}


def test_16_a_faster_all_reduce_saves_at_most_what_the_last_rank_spends_in_it() -> None:
    late = ranks(100, 120)
    assert true_saving_ns(late, "all_reduce", 10 * US) == 10 * US
    got = both_ranks(late, "all_reduce", 30)
    assert got.limits.expected / US == pytest.approx(10)
    assert got.limits.low / US <= 10 <= got.limits.high / US


def test_17_tokens_per_step_divide_time_and_leave_percent_alone() -> None:
    got = on(decode(12.936), Change(saving_us=3.1084), tokens_per_step=2.5)
    assert got.token.token_ns / US == 17_600
    assert got.limits.expected / got.token.tokens_per_step / US == pytest.approx(59.681, abs=5e-4)
    assert got.pct.expected == pytest.approx(0.33910, abs=5e-6)


def test_18_steps_without_the_kernel_dilute_the_saving() -> None:
    chain = [part for _ in range(48) for part in (("gdn", 12.936), ("rest", 800.0))]
    chains = [chain] * 9 + [[("other", 70_000.0)]] * 2 + [chain]
    names = [ANNOTATION] * 9 + ["execute_context_2(300)_generation_8(8)"] * 2 + [ANNOTATION]
    trace = repeated_steps(chains, [44_000.0] * 9 + [80_000.0] * 2 + [44_000.0], names)
    weights = {"decode": 0.9, "mixed": 0.1}
    phases = [Phase(phase, share, api.analyse(trace, Scope(phase=phase))) for phase, share in weights.items()]
    got = mix(phases, Candidate("", Change(saving_us=3.1084), Selection("gdn")), TokenInput(), Policy())
    assert [share.step_ns / US for share in got.shares] == [44_000, 80_000]
    assert got.shares[1].projection is None
    assert got.step_ns / US == pytest.approx(47_600)
    assert sum(share.weight * share.saved_ns.expected for share in got.shares) / US == pytest.approx(134.283, abs=5e-4)
    assert got.pct.expected == pytest.approx(0.28211, abs=5e-6)


def test_18_the_same_by_a_hit_rate_and_the_mean_token() -> None:
    change = Change(saving_us=3.1084, hit_rate=Range(0.9, 0.9))
    got = on(decode(12.936), change, token_ms=47.6)
    assert got.limits.expected / US == pytest.approx(134.283, abs=5e-4)
    assert got.pct.expected == pytest.approx(0.28211, abs=5e-6)


def test_19_contention_gives_back_more_than_order_alone() -> None:
    shared = program(k("a", 10), k("b", 10, 1), machine=Machine(contention=1.0))
    plan = planned(shared)
    ends = [simulate(plan, deltas(plan, "a", d)).op_times()[1].max() / US for d in (0, 4 * US)]
    assert ends == [20, 16]
    got = asked(shared, "a", Change(saving_us=4))
    assert got.limits.low <= 4 * US <= got.limits.high
    assert got.limits.high >= got.limits.naive
    assert "contention_unmodelled" in {caveat.code for caveat in got.caveats}


def test_20_a_launch_that_comes_late_bounds_the_saving() -> None:
    late = program(
        k("A", 20, cost_us=20), k("B", 10, cost_us=3, gap_us=1.2), Sync(0, None, US), machine=Machine(latency_ns=5 * US)
    )
    got = saved_us(late, "A", 15)
    assert (got.naive, got.low, got.expected) == (15, 1.2, 1.2)
    assert got.high >= 1.2


def test_21_a_graph_handed_over_node_by_node_becomes_launch_bound() -> None:
    nodes = tuple(node("n", 4.4, (i - 1,) if i else ()) for i in range(100))
    streamed = saved_us(program(GraphLaunch(nodes, 0, 0, node_cost_ns=2_890), shown=Shown("rocm")), "n", 2)
    assert (streamed.naive, streamed.low, streamed.expected) == (200, 151.49, 151.49)
    whole = saved_us(program(GraphLaunch(nodes, 0, 0)), "n", 2)
    assert (whole.low, whole.expected, whole.high) == (200, 200, 200)


def test_22_calls_are_counted_in_the_trace() -> None:
    layer = [("attention", 9.0), ("all_reduce", 6.0), ("mlp", 12.0), ("all_reduce", 6.0)]
    trace = graph_steps([*layer * 61, ("all_reduce", 6.0), ("lm_head", 40.0)], 3_000)
    got = asked(trace, "all_reduce", Change(saving_us=1))
    assert (got.match.calls_per_step, got.match.layers, got.match.layers_hit) == (123, 61, 61)
    assert got.limits.naive / US == pytest.approx(123)
