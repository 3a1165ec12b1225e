"""Unlike call sites: which calls one stated time can be of, what picks them, and what that leaves proven."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projection.builders import graph_steps
from projection.programs import US
from trace_budget.projection.project import Projection
from trace_budget.projection.sites import unlike_sites
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Range, Selection

LAYERS = 12
SURE: dict[str, Any] = {"overhead_us": 0.0, "hit_rate": Range(1.0, 1.0)}
STRICT = Policy(target_pct=0.1, noise_pct=0.01, runs=50, dilution=1.0)


def calls(*kinds: tuple[float, int, int | None], steps: int = 1) -> pl.DataFrame:
    """Calls of one kernel: (us, how many, x of the grid) of each kind, in each step."""
    rows = [
        {"step_index": step, "dur_ns": round(us * 1000), "grid_x": grid, "position": -1}
        for step in range(steps)
        for us, count, grid in kinds
        for _ in range(count)
    ]
    same = {"name": pl.lit("k"), "grid_y": pl.lit(1), "grid_z": pl.lit(1)}
    return pl.DataFrame(rows, schema_overrides={"grid_x": pl.Int64}).with_columns(**same)


def decode(first_us: float, second_us: float, head_us: float | None = None) -> Projection | Any:
    layer = [("norm", 5.0), ("k", first_us), ("gate", 7.0), ("k", second_us), ("mlp", 30.0)]
    head = [("k", head_us)] if head_us else []
    return graph_steps([*layer * LAYERS, *head, ("head", 50.0)], 3_000)


def projected(trace: Any, position: int | None = None, **change: Any) -> Projection:
    return project_question.projection(
        trace, Selection("k", position=position), Change(**SURE, **change), policy=STRICT
    )


def test_share_of_time_decides_not_share_of_calls() -> None:
    many_small = unlike_sites(calls((10.0, 96, 1), (1_000.0, 1, 9)), 1)
    assert many_small is not None
    assert many_small.means_ns.tolist() == [10_000, 1_000_000]
    assert many_small.calls == (96, 1)
    assert unlike_sites(calls((10.0, 96, 1), (13.0, 1, 9)), 1) is None
    equal = unlike_sites(calls((10.0, 8, 1), (20.0, 8, 2)), 1)
    assert equal is not None
    assert equal.options == ("--grid 1,1,1", "--grid 2,1,1")


@pytest.mark.parametrize(("other_us", "unlike"), [(11.9, False), (12.1, True), (8.4, False), (8.2, True)])
def test_a_fifth_makes_sites_unlike(other_us: float, unlike: bool) -> None:
    assert (unlike_sites(calls((10.0, 8, 1), (other_us, 8, 2)), 1) is not None) == unlike


def test_without_grids_the_turn_in_the_step_tells_calls_apart() -> None:
    for steps in (1, 4):
        got = unlike_sites(calls((10.0, 8, None), (20.0, 8, None), steps=steps), steps)
        assert got is not None
        assert np.bincount(got.group).tolist() == [8 * steps, 8 * steps]
        assert got.options == ("", "")
    assert unlike_sites(calls((10.0, 8, None), (11.0, 8, None), steps=4), 4) is None


@pytest.mark.parametrize(("where", "apart"), [(None, False), (7, True)])
def test_steps_without_layers_are_no_site_of_their_own(where: int | None, apart: bool) -> None:
    # two steps of longer calls: in one without layers their place is unknown, at place 7 they are another site
    steps = calls((10.0, 8, None), steps=4)
    longer = pl.col("step_index") >= 2
    place = pl.when(longer).then(pl.lit(where, pl.Int64)).otherwise(3)
    ops = steps.with_columns(
        place.alias("position"), pl.when(longer).then(20_000).otherwise("dur_ns").cast(pl.Int64).alias("dur_ns")
    )
    assert (unlike_sites(ops, 4) is not None) is apart
    head = ops.with_columns(
        pl.when(pl.int_range(pl.len()).over("step_index") == 0).then(3).otherwise("position").alias("position")
    )
    assert unlike_sites(head, 4) is not None  # a call outside the layers of a step that has some


def test_a_new_time_is_of_one_site_until_the_user_says_which() -> None:
    got = projected(decode(12.0, 30.0), new_us=10.0)
    assert got.limits.low == pytest.approx(LAYERS * 2 * US)
    assert got.limits.high == pytest.approx(LAYERS * (20 + 12 * 2 / 3) * US)
    assert got.verdict.reason == "unlike_sites"
    assert got.verdict.blockers[0].option.startswith("--position")
    alone = projected(decode(12.0, 30.0), position=1, new_us=10.0)
    assert alone.limits.ends == pytest.approx([LAYERS * 2 * US] * 3)
    assert alone.verdict.verdict == "GO"


def test_a_control_says_which_site_was_measured() -> None:
    got = projected(decode(12.0, 30.0), new_us=24.0, baseline_us=30.0)
    assert got.saving.kappa == pytest.approx(1.0)
    assert got.limits.low == pytest.approx(LAYERS * 6 * US)
    assert got.limits.high == pytest.approx(LAYERS * (6 + 12 * 0.2) * US)
    assert not got.saving.invalid


def test_a_control_of_no_site_is_a_mismatch() -> None:
    assert "baseline mismatch" in projected(decode(12.0, 30.0), new_us=80.0, baseline_us=100.0).saving.invalid


def test_a_stated_saving_may_be_more_at_longer_calls() -> None:
    got = projected(decode(10.0, 10.0, head_us=1_000.0), saving_us=2.0, baseline_us=10.0)
    assert got.limits.low == pytest.approx(2 * LAYERS * 2 * US)
    assert got.limits.high == pytest.approx((2 * LAYERS * 2 + 200) * US)
    assert got.limits.naive == pytest.approx((2 * LAYERS + 1) * 2 * US)


def test_a_ratio_is_for_all_sites() -> None:
    got = projected(decode(12.0, 30.0), speedup=1.2)
    assert got.limits.ends == pytest.approx([LAYERS * 42 / 6 * US] * 3)
    assert got.verdict.verdict == "GO"


@given(
    first=st.floats(8, 60), second=st.floats(8, 60), share=st.floats(0.1, 0.95),
    way=st.sampled_from(["new", "saving", "both"]), which=st.booleans(),
)  # fmt: skip
def test_low_and_high_hold_the_truth_of_either_site(
    first: float, second: float, share: float, way: str, which: bool
) -> None:
    """The stated time is of one site; the other gains nothing, or the same ratio."""
    from trace_budget.projection.claimed_saving import saving_of

    ops = calls((first, 10, 1), (second, 6, 2))
    durations = ops["dur_ns"].to_numpy().astype(np.float64)
    old = first if which else second
    change = {
        "new": Change(new_us=old * share),
        "saving": Change(saving_us=old * (1 - share), clip=True),
        "both": Change(new_us=old * share, baseline_us=old, force=True),
    }[way]
    got = saving_of(change, durations, durations, None, unlike_sites(ops, 1))
    own = np.where(np.arange(16) < 10, which, not which)
    least, most = durations * (1 - share) * own, durations * (1 - share)
    if unlike_sites(ops, 1) is not None:
        assert got.low.sum() <= least.sum() + 2_000
        assert got.high.sum() >= most.sum() - 2_000
    assert np.all(got.low <= got.expected)
    assert np.all(got.expected <= got.high)
