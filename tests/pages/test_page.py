"""The numbers of the pictures against the truth of the sample and by hand, and what each page is made of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.pages import pictures
from trace_budget.projection.candidates import Candidate, Sequence, parse_candidates
from trace_budget.questions import report as report_question
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.page import Histogram, KernelBars, LayerMap, Mark, Page, StepTimes, Strip, Waterfall
from trace_budget.schema.trace import Trace

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
TRUTH = json.loads(SEED.with_name("gdn_decode_gfx936.truth.json").read_text())
KERNELS = {row["name"]: row for row in TRUTH["kernels"]}
FILE = """
schema = "trace-budget/candidates/1"
[[candidate]]
id = "fused"
match = {kernel = "gdn_fused"}
saving_us = 3.228
[[candidate]]
id = "split"
match = {kernel = "gdr_split"}
new_us = 9.827
"""

BRANCHES = """
schema = "trace-budget/candidates/1"
[[candidate]]
id = "fused"
match = {kernel = "k", mode = "exact"}
saving_us = 12
[[candidate]]
id = "split"
match = {kernel = "c", mode = "exact"}
saving_us = 12
"""


@pytest.fixture(scope="module")
def seed() -> Page:
    return report_question.candidate_page(
        api.open_trace(SEED), Candidate("", Change(saving_us=3.228), Selection("gdn_fused"))
    )


def picture(page: Page, kind: type) -> Any:
    (found,) = [figure.picture for figure in page.figures if isinstance(figure.picture, kind)]
    return found


def test_a_page_has_its_figures_in_order_with_text_and_table(seed: Page) -> None:
    keys = ["curve", "cascade", "tornado", "strip", "layers", "layer", "kernels", "durations", "steps"]
    assert [figure.key for figure in seed.figures] == keys
    for figure in seed.figures:
        assert len(figure.text) > 80
        assert figure.table.frame.height > 0
        assert {column.key for column in figure.table.columns} <= set(figure.table.frame.columns)
    assert seed.title == "gdn_fused"
    assert seed.curve is seed.figures[0].picture
    assert len(seed.notes) == 7


def test_kernel_bars_are_those_of_the_truth(seed: Page) -> None:
    bars: KernelBars = picture(seed, KernelBars)
    rows = {row["kernel"]: row for row in bars.frame.to_dicts()}
    named = set(rows) & set(KERNELS)
    assert len(named) == 20
    for name in named:
        assert rows[name]["us_per_step"] == pytest.approx(KERNELS[name]["total_ns"] / 5 / 1000)
        assert rows[name]["calls_per_step"] == KERNELS[name]["calls_per_step"]
        assert rows[name]["pct_of_step"] == pytest.approx(KERNELS[name]["total_ns"] / 5 / 440_000)
    assert bars.others == len(KERNELS) + 2 - 20  # and two kinds of copies
    assert bars.frame["kernel"][-1] == f"{bars.others} other kernels"
    assert bars.frame["cumulative_pct"][-1] == pytest.approx(100)
    assert [name for name, row in rows.items() if row["matched"]] == ["gdn_fused"]


def test_the_layer_map_hits_what_the_truth_hits(seed: Page) -> None:
    layers: LayerMap = picture(seed, LayerMap)
    assert layers.layers == 64
    hit = layers.sites.group_by("kernel").agg(pl.col("layers_hit").max(), pl.col("matched").any())
    for name, count, matched in hit.rows():
        assert count == KERNELS[name]["layers_hit"]
        assert matched == (name == "gdn_fused")
    site = layers.sites.with_row_index("site").filter(pl.col("matched"))["site"].item()
    cells = layers.cells.filter(pl.col("site") == site)
    assert cells["us"].mean() == pytest.approx(20.272, rel=1e-4)
    assert cells["calls"].to_list() == [1.0] * 48
    # Three layers of linear attention, then one of the other kind.
    assert [index % 4 for index in cells["layer_index"].to_list()] == [0, 1, 2] * 16


def test_the_histogram_counts_every_kernel_of_the_counted_steps(seed: Page) -> None:
    histogram: Histogram = picture(seed, Histogram)
    assert int(histogram.bins["matched"].sum()) == 240
    assert int(histogram.bins["others"].sum()) == 5 * 773 - 240
    inside = histogram.bins.filter(pl.col("matched") > 0)
    assert inside["low_us"][0] <= KERNELS["gdn_fused"]["min_ns"] / 1000
    assert inside["high_us"][-1] > KERNELS["gdn_fused"]["max_ns"] / 1000
    assert histogram.bins["high_us"].to_list()[:-1] == pytest.approx(histogram.bins["low_us"].to_list()[1:])
    marks = {mark.title: mark.us for mark in histogram.marks}
    assert marks["median today"] == 20.272
    assert marks["with the candidate"] == pytest.approx(20.272 - 3.228)


def test_step_times_are_those_of_the_truth_with_the_warm_up_marked(seed: Page) -> None:
    steps: StepTimes = picture(seed, StepTimes)
    told = [row for row in TRUTH["steps"] if row["interval_ns"]]
    assert steps.frame["step_index"].to_list() == [row["step_index"] for row in told]
    assert steps.frame["us"].to_list() == pytest.approx([row["interval_ns"] / 1000 for row in told])
    assert (steps.frame["why_out"] != "").to_list() == [row["warm_up"] for row in told]
    assert (steps.median_us, steps.measure, steps.left_out) == (44_000.0, "interval", 0)


def test_a_page_without_a_candidate_marks_the_heaviest_kernel() -> None:
    page = report_question.trace_page(api.open_trace(SEED))
    heaviest = max(KERNELS.values(), key=lambda row: row["total_ns"])["name"]
    assert page.curve is None
    assert page.answer.schema == "trace-budget/threshold/1"
    assert picture(page, KernelBars).frame.filter(pl.col("matched"))["kernel"].to_list() == [heaviest]
    assert picture(page, Strip).rows == ("measured, stream 0", "measured, stream 3")


def test_a_page_of_candidates_tells_what_they_save_together() -> None:
    page = report_question.ranking_page(api.open_trace(SEED), parse_candidates(FILE))
    waterfall: Waterfall = picture(page, Waterfall)
    assert dict(waterfall.frame.select("candidate", "expected_us").rows()) == pytest.approx(
        {"fused": 48 * 3.228, "split": 48 * (12.936 - 9.827)}, rel=1e-3
    )
    assert waterfall.remainder_us == 0
    assert "savings do not add" in next(figure.text for figure in page.figures if figure.key == "waterfall")
    assert page.answer.schema == "trace-budget/rank/1"
    assert picture(page, KernelBars).frame.filter(pl.col("matched"))["kernel"].to_list() == ["gdn_fused", "gdr_split"]
    assert page.figures[2].title == "What a saving is worth: fused"
    ends = picture(page, Strip).ends_us
    assert ends[0] - ends[2] == pytest.approx(waterfall.together_us, rel=1e-3)


def sharing(steps: int = 3) -> Trace:
    """A graph a step, waited for: k(30) beside c(22), joined by j(5)."""
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = 200.0 * step, 10 * step + 1
        ranges.append(Range(at - 20, at + 10))
        calls += [
            Call("cudaGraphLaunch", at - 15, at - 5, graph),
            Call("cudaStreamSynchronize", at - 4, at + 60, graph + 1),
        ]
        ops += [Op("a", at, 10, 7, graph, node=1), Op("k", at + 10, 30, 7, graph, node=2)]
        ops += [Op("c", at + 10, 22, 8, graph, node=3), Op("j", at + 40, 5, 7, graph, node=4)]
    return hand_trace(ops, calls, ranges)


def test_branches_that_wait_for_each_other_add_more_together() -> None:
    page = report_question.ranking_page(sharing(), parse_candidates(BRANCHES))
    waterfall: Waterfall = picture(page, Waterfall)
    alone = dict(waterfall.frame.select("candidate", "expected_us").rows())
    # k alone is stopped by c after 8 us, c alone hides behind k; together the join comes 12 us earlier.
    assert alone == pytest.approx({"fused": 8.0, "split": 0.0}, abs=0.01)
    assert waterfall.together_us == pytest.approx(12.0, abs=0.01)
    assert waterfall.remainder_us == pytest.approx(4.0, abs=0.02)


def test_a_fused_sequence_has_no_curve_and_no_layers_no_map() -> None:
    fused = Candidate("", Change(new_us=12.0), None, Sequence(("re:^a$", "re:^k$"), 12.0))
    page = report_question.candidate_page(sharing(), fused)
    assert [figure.key for figure in page.figures] == ["cascade", "strip", "kernels", "durations", "steps"]
    assert any("No repeated layers" in note.text for note in page.notes)


def test_calls_of_one_position_are_marked_alone() -> None:
    asked = Candidate("", Change(saving_us=1.0), Selection("fused_add_rms_norm", position=16))
    page = report_question.candidate_page(api.open_trace(SEED), asked)
    sites = picture(page, LayerMap).sites.filter(pl.col("matched"))
    assert sites["position"].to_list() == [16]
    assert int(picture(page, Histogram).bins["matched"].sum()) == 64 * 5


def test_thousands_of_steps_are_thinned_but_none_left_out_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_STEPS", 2)
    steps = pictures.step_times(api.analyse(api.open_trace(SEED)))
    assert steps.frame.filter(pl.col("why_out") == "").height <= 2
    assert steps.frame.filter(pl.col("why_out") != "")["step_index"].to_list() == [0]
    assert steps.left_out == 5 - steps.frame.height


def test_too_many_call_sites_keep_the_marked_and_the_heaviest(monkeypatch: pytest.MonkeyPatch, seed: Page) -> None:
    monkeypatch.setattr(pictures, "MOST_SITES", 4)
    found = api.analyse(api.open_trace(SEED))
    ids = found.trace.gpu_ops.filter(pl.col("name").cast(pl.String) == "gdn_fused")["op_id"].to_numpy()
    small = pictures.layer_picture(found, pictures.Marked("gdn_fused", ids, ("gdn_fused",)))
    whole: LayerMap = picture(seed, LayerMap)
    assert small is not None
    assert small.sites.height == 4
    assert small.left_out == whole.sites.height - 4
    assert "gdn_fused" in small.sites["kernel"].to_list()


def test_zero_durations_are_counted_apart() -> None:
    trace = sharing()
    ops = trace.gpu_ops.with_columns(
        pl.when(pl.col("name").cast(pl.String) == "a").then("start_ns").otherwise("end_ns").alias("end_ns")
    )
    found = api.analyse(Trace(trace.path, trace.format, ops, trace.calls, trace.markers))
    histogram = pictures.duration_histogram(found, pictures.Marked("a", np.array([0]), ("a",)), (Mark("x", 1.0),))
    assert histogram is not None
    assert histogram.zero == 3
    assert int(histogram.bins["others"].sum()) + int(histogram.bins["matched"].sum()) == 9


def test_pages_hold_the_pictures_that_need_no_script(seed: Page) -> None:
    one = {figure.key: figure for figure in seed.figures}
    left = one["cascade"].table.frame
    assert left["left_us"].to_list()[4:] == pytest.approx([154.944, 0.82 * 154.944, 0.82 * 154.944])
    assert one["tornado"].table.frame.height == 7
    assert "gdn_fused" in one["layer"].table.frame.filter(pl.col("matched"))["kernel"].to_list()
    many = report_question.ranking_page(api.open_trace(SEED), parse_candidates(FILE))
    assert many.figures[0].key == "forest"
    assert many.figures[0].table.frame["candidate"].to_list() == ["fused", "split"]
    alone = report_question.trace_page(api.open_trace(SEED))
    assert alone.figures[0].key == "needed"
    assert alone.figures[0].table.frame.filter(pl.col("kernel") == "gdn_fused")["can"].item() == "yes"
    invalid = Candidate("", Change(saving_us=300.0), Selection("gdn_fused"))
    keys = [figure.key for figure in report_question.candidate_page(api.open_trace(SEED), invalid).figures]
    assert not {"cascade", "tornado"} & set(keys)
