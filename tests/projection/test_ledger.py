"""What public integrations predicted and realised: the table agrees with itself and with the verdict."""

from __future__ import annotations

from importlib.resources import files

import polars as pl
import pytest

from trace_budget.projection.estimate import estimate
from trace_budget.projection.evidence import QUESTIONS, Graded
from trace_budget.projection.ledger import source, usual_dilution
from trace_budget.projection.verdict import Percent, dilution_of, judge
from trace_budget.schema.options import Policy, Range

LEDGER = files("trace_budget.projection") / "public_ledger.tsv"
ROWS = pl.read_csv(LEDGER.read_bytes(), separator="\t").to_dicts()
STATED = {key: Graded("C", "user", "") for key in QUESTIONS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['source']} {row['change']}")
def test_a_row_follows_from_its_own_figures(row: dict[str, float]) -> None:
    step_us = 1_000 * row["step_before_ms"]
    got = estimate(row["before_us"] - row["after_us"], row["calls_per_step"], step_us, Range(1, 1), 1.0, 1.0)
    assert got.saving_us_per_step == pytest.approx(1_000 * row["predicted_ms"], abs=0.051)
    assert got.pct == pytest.approx(row["predicted_pct"], abs=1e-3)
    realised = 100 * (row["step_before_ms"] - row["step_after_ms"]) / row["step_before_ms"]
    assert realised == pytest.approx(row["realised_pct"], abs=1e-3)
    assert row["realised_pct"] / row["predicted_pct"] == pytest.approx(row["converted"], abs=1e-3)


def test_what_was_predicted_and_did_not_come_is_never_go() -> None:
    """tokenspeed#1133: the plain product, 1.05 %, was realised as -0.04 %: never a GO at 1 %, whatever the range."""
    (row,) = (row for row in ROWS if row["source"] == "lightseekorg/tokenspeed#1133")
    pct = row["predicted_pct"]
    said = judge(Percent(pct, pct, pct, pct, 5.0), STATED, Policy(noise_pct=0.1))
    assert said.verdict == "MARGINAL"


def test_the_usual_dilution_and_its_range_are_those_of_the_table() -> None:
    """By sorting and counting: as many rows below as above each quartile's place."""
    converted = sorted(row["converted"] for row in ROWS)
    band = usual_dilution()
    assert band.expected == pytest.approx((converted[13] + converted[14]) / 2, abs=0.005)
    assert sum(share <= band.low + 0.005 for share in converted) >= len(converted) / 4
    assert sum(share >= band.high - 0.005 for share in converted) >= len(converted) / 4
    assert dilution_of(Policy()) == band.expected
    assert dilution_of(Policy(dilution=0.4)) == 0.4
    assert str(len(ROWS)) in source()
