"""What the pictures of a page hold, against the JSON of `project` and the truth of the sample."""

import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trace_budget as tb
from browser.pages import CANDIDATES, graph_steps
from trace_budget.projection.candidates import parse_candidates
from trace_budget.render import as_html

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
CHANGE = tb.Change(saving_us=3.228)
ANSWER = re.compile(r'id="answer">(.*?)</script>')


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """The document that `project --format json` prints."""
    document: dict[str, Any] = tb.project(SEED, "gdn_fused", CHANGE).document
    return document


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    """The pictures of the page by the key of their figure."""
    return {figure.key: figure.picture for figure in tb.report(SEED, "gdn_fused", CHANGE).figures}


def test_the_page_holds_the_document_of_project(answer: dict[str, Any]) -> None:
    found = ANSWER.search(as_html.render(tb.report(SEED, "gdn_fused", CHANGE)).decode())
    assert found is not None
    held = json.loads(found[1])
    assert set(answer) <= set(held)
    assert held["verdict"] == answer["verdict"] == "NO-GO"
    for key in ("pct", "required", "detect"):
        assert held[key] == pytest.approx(answer[key], rel=1e-5)


def test_the_curve_is_the_projection_at_every_saving(drawn: dict[str, Any], answer: dict[str, Any]) -> None:
    curve = drawn["curve"]
    assert curve.stated.saving_us == pytest.approx(3.228)
    for bound in ("low", "expected", "high"):
        assert getattr(curve.stated, f"{bound}_pct") == pytest.approx(answer["pct"][bound], abs=1e-4)
    assert curve.target_pct == answer["required"]["target_pct"]
    assert curve.ceiling_pct == pytest.approx(answer["pct"]["ceiling"], abs=1e-4)
    assert curve.mde_pct == pytest.approx(answer["detect"]["mde_pct"], abs=1e-4)
    # One stream, back to back: every us saved on each of 48 calls reaches the step, up to the shortest call.
    slope = 100 * 48 / answer["token"]["token_us"]
    for us, pct in curve.points.select("saving_us", "expected_pct").rows():
        assert pct == pytest.approx(us * slope, abs=0.01) or us > 19.5
    assert curve.points["saving_us"][0] == 0
    assert curve.points["saving_us"][-1] == pytest.approx(answer["required"]["ceiling_us_per_call"], abs=1e-4)


def test_the_strip_holds_each_call_once_before_and_after(drawn: dict[str, Any], answer: dict[str, Any]) -> None:
    strip = drawn["strip"]
    matched = strip.bars.filter(pl.col("matched"))
    before, after = (matched.filter(pl.col("row") == row)["width_us"] for row in (0, 2))
    assert len(before) == len(after) == answer["matched"]["calls_per_step"] == 48
    assert before.sum() - after.sum() == pytest.approx(48 * 3.228, abs=0.2)
    assert before.sum() == pytest.approx(answer["matched"]["us_per_step"], rel=0.02)
    assert strip.ends_us[0] - strip.ends_us[2] == pytest.approx(answer["saving_us_per_step"]["expected"], abs=0.5)
    assert set(matched["kernel"]) == {"gdn_fused"}


def test_the_layer_map_shows_48_of_64_layers(drawn: dict[str, Any]) -> None:
    layers = drawn["layers"]
    (site,) = layers.sites.with_row_index("site").filter(pl.col("kernel") == "gdn_fused")["site"]
    cells = layers.cells.filter(pl.col("site") == site)
    assert (cells["layer_index"].n_unique(), layers.layers) == (48, 64)
    assert cells["us"].mean() == pytest.approx(20.27, rel=0.02)


def test_kernel_bars_add_up_to_all_kernel_time(drawn: dict[str, Any], answer: dict[str, Any]) -> None:
    bars = drawn["kernels"].frame
    assert bars["us_per_step"].sum() == pytest.approx(answer["token"]["busy_us"], rel=0.01)
    assert bars["cumulative_pct"][-1] == pytest.approx(100)
    (own,) = bars.filter(pl.col("kernel") == "gdn_fused")["us_per_step"]
    assert own == pytest.approx(answer["matched"]["us_per_step"], rel=1e-6)
    assert bars["us_per_step"][:-1].is_sorted(descending=True)


def test_durations_count_every_call_and_mark_the_median(drawn: dict[str, Any], answer: dict[str, Any]) -> None:
    histogram = drawn["durations"]
    assert histogram.bins["matched"].sum() == answer["matched"]["calls"]
    marks = {mark.title: mark.us for mark in histogram.marks}
    assert marks["median today"] == pytest.approx(answer["matched"]["dur_us"]["median"], rel=1e-4)
    assert marks["with the candidate"] == pytest.approx(marks["median today"] - 3.228, rel=1e-4)
    assert "dispatch floor" in marks


def test_steps_hold_the_median_and_what_was_left_out(drawn: dict[str, Any], answer: dict[str, Any]) -> None:
    steps = drawn["steps"]
    assert steps.median_us == pytest.approx(answer["token"]["step_us"], rel=1e-6)
    assert set(steps.frame["step_index"]) <= set(range(6))
    assert (steps.frame["why_out"] == "outlier").any()
    assert all(math.isfinite(value) for value in steps.frame["us"])


def test_the_waterfall_ends_at_what_all_save_together() -> None:
    page = tb.report(SEED, parse_candidates(CANDIDATES))
    (picture,) = [figure.picture for figure in page.figures if figure.key == "waterfall"]
    joint: Any = page.answer.document["joint"]
    alone = page.answer.document["rows"]
    assert picture.together_us == pytest.approx(joint["saving_us_per_token"]["expected"], abs=0.01)
    assert picture.frame.height == len(alone)  # type: ignore[arg-type]
    assert picture.frame["expected_us"].is_sorted(descending=True)
    assert picture.frame["expected_us"].sum() >= picture.together_us - 0.01


@pytest.mark.parametrize(("steps", "kernels"), [(100, 1_000), (2, 5_000)])
def test_very_many_kernels_are_counted_in_full(steps: int, kernels: int) -> None:
    names = [f"void kernel_{index:02d}<float, 128, 64>(Params<float> const&, int, int)" for index in range(40)]
    page = tb.report(graph_steps(steps, kernels, names), "kernel_07", tb.Change(saving_us=1.0))
    figures = {figure.key: figure for figure in page.figures}
    durations: Any = figures["durations"].picture
    strip: Any = figures["strip"].picture
    assert durations.bins["matched"].sum() + durations.bins["others"].sum() == steps * kernels
    assert strip.bars["ops"].sum() == 2 * kernels
    merged = strip.bars.height < 2 * kernels
    assert merged == (kernels > 3_000) == ("merged" in figures["strip"].text)
