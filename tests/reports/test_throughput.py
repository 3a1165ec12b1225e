"""Tokens per second beside a token's time, the same figure in every answer, by division."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from trace_budget import api
from trace_budget.questions import compare, project, rank, steps, threshold
from trace_budget.reports.throughput import Served, gain_pct, served
from trace_budget.schema.band import Band
from trace_budget.schema.options import Change, Scope, TokenInput

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
CANDIDATES = """schema = "trace-budget/candidates/1"
[[candidate]]
id = "one"
match = {kernel = "gdn_fused"}
saving_us = 3.228
"""


def test_every_answer_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CANDIDATES)
    one = project.project(SEED, "gdn_fused", Change(saving_us=3.228))
    answers = [one, steps.steps(SEED), threshold.threshold(SEED), rank.rank(SEED, tmp_path / "c.toml")]
    told = [answer.document["throughput"] for answer in answers]
    assert [each["tokens_per_s_per_sequence"] for each in told] == pytest.approx([1 / 0.044] * 4)  # type: ignore[index]
    assert told[0]["gain_pct"] == pytest.approx(told[3]["gain_pct"])  # type: ignore[index]
    assert all("serves  22.727 " in answer.text() for answer in answers)
    both = compare.compare(SEED, SEED)
    assert both.document["throughput"]["after"]["tokens_per_s_per_sequence"] == pytest.approx(1 / 0.044)  # type: ignore[index]
    assert "serves  22.727 -> 22.727 tokens/s a sequence (+0.000 %)" in both.text()


def test_a_stated_token_time_is_what_counts() -> None:
    told = threshold.threshold(SEED, token=TokenInput(token_ms=10.0)).document["throughput"]
    assert told["tokens_per_s_per_sequence"] == 100.0  # type: ignore[index]


def test_devices_share_the_sequences_of_a_step() -> None:
    found = api.analyse(api.open_trace(SEED), Scope())
    frame = found.steps.frame.with_columns(pl.lit(32).alias("batch_size"))
    many = replace(
        found, steps=replace(found.steps, frame=frame), trace=replace(found.trace, world_size=4)
    )  # fmt: skip
    rate = served(many, 10e6)
    assert rate == Served(100.0, 32, 4)
    assert rate.per_device == 800.0
    assert rate.line_with(50.0).text == (
        "serves  100.00 -> 200.00 tokens/s a sequence (+100.00 %), 800.00 -> 1,600.0 a device (batch 32)"
    )
    assert served(many, float("nan")) is None
    unknown = replace(many, steps=replace(found.steps, frame=frame.with_columns(pl.lit(None).alias("batch_size"))))
    assert (served(unknown, 10e6), served(unknown, 10e6, 8)) == (Served(100.0, None, 4), Served(100.0, 8, 4))


def test_prefill_serves_no_token_a_step() -> None:
    found = api.analyse(api.open_trace(SEED), Scope())
    from trace_budget.reports.structure import steps_report

    other = steps_report(replace(found, steps=replace(found.steps, phase="prefill")))
    assert other.document["throughput"] is None
    assert "serves" not in other.text()


@pytest.mark.parametrize(("saved", "gain"), [(0.0, 0.0), (50.0, 100.0), (-100.0, -50.0), (100.0, float("inf"))])
def test_a_saving_of_time_is_a_larger_gain_in_rate(saved: float, gain: float) -> None:
    assert gain_pct(saved) == gain
    assert Served(10.0, None, 1).document_with(Band(saved, saved, saved)).gain_pct.expected == gain
