"""The api: every question answered on one trace, and refusals in words."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import trace_budget as tb
from builders import decode_steps
from trace_budget import api
from trace_budget.errors import InputError, NotInTraceError, UsageError
from trace_budget.schema import build
from trace_budget.schema.options import Change, Scope, Selection
from trace_budget.schema.report import Report
from trace_budget.schema.trace import Trace, empty_trace

SAMPLE = Path(__file__).parents[1] / "sample_traces" / "kineto" / "cuda_two_streams_pdl.json.gz"


def hand() -> Trace:
    return decode_steps(4, "embed " + "norm qkv attn out up down " * 6 + "head").trace()


def sums() -> Trace:
    columns = {"name": ["a", "b"], "calls": [3, 1], "total_ns": [900, 100], "mean_ns": [300.0, 100.0]}
    rows = pl.DataFrame({**columns, "min_ns": [200, 100], "max_ns": [400, 100]})
    frame = rows.with_columns(build.names_from_text(rows["name"]).alias("name"))
    return Trace("stats.csv", "hand_stats", empty_trace("stats.csv", "hand_stats").gpu_ops, aggregates=frame)


QUESTIONS: dict[str, Callable[[Trace], Report]] = {
    "kernels": tb.kernels,
    "steps": tb.steps,
    "layers": tb.layers,
    "overlap": tb.overlap,
    "threshold": tb.threshold,
    "check": lambda trace: tb.check([trace]),
    "verdict": lambda trace: tb.project(trace, Selection("attn"), Change(saving_us=1.0)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_an_answer_that_says_what_it_is(question: str) -> None:
    report = QUESTIONS[question](hand())
    assert report.schema == f"trace-budget/{question}/1"
    assert report.trace is not None
    assert report.trace["path"] == "hand.json"
    assert report.tables
    assert all({c.key for c in table.columns} <= set(table.frame.columns) for table in report.tables)


def test_figures_of_the_kernels_report_are_in_microseconds() -> None:
    row = next(r for r in tb.kernels(hand()).document["rows"] if r["kernel"] == "attn")  # type: ignore[attr-defined]
    # Six calls of 10 us in each step, 400 us apart (38 kernels and 20 us of idle time).
    assert (row["calls_per_step"], row["us_per_step"], row["median_us"]) == (6.0, 60.0, 10.0)
    assert row["pct_of_step"] == pytest.approx(15.0)


def test_steps_and_layers_reports() -> None:
    steps = tb.steps(hand()).document
    assert (steps["method"], steps["step_us"], len(steps["rows"])) == ("annotations", 400.0, 4)  # type: ignore[arg-type]
    layers = tb.layers(hand()).document
    assert (layers["layers"], layers["method"], len(layers["sites"])) == (6, "period", 6)  # type: ignore[arg-type]
    only = tb.layers(hand(), kernel="attn").document["rows"]
    assert {row["kernel"] for row in only} == {"attn"}  # type: ignore[attr-defined]
    assert len(only) == 6  # type: ignore[arg-type]


def test_call_sites_weigh_layers_by_their_calls() -> None:
    from trace_budget.reports.structure import call_sites

    rows = pl.DataFrame(
        {
            "kernel": ["a", "a"], "layer_index": [0, 1], "position": [2, 2], "calls": [1.0, 0.25],
            "mean_us": [10.0, 20.0],
        }
    )  # fmt: skip
    (site,) = call_sites(rows).rows(named=True)
    assert site == {"position": 2, "kernel": "a", "layers_hit": 2, "calls_per_step": 1.25, "mean_us": 12.0}


def test_a_trace_without_device_work_is_refused() -> None:
    for question in ("kernels", "steps", "layers", "overlap"):
        with pytest.raises(InputError, match="no GPU kernels in this trace"):
            QUESTIONS[question](empty_trace("cpu.json", "hand"))


def test_sums_per_kernel_answer_kernels_only() -> None:
    report = tb.kernels(sums())
    rows = {row["kernel"]: row for row in report.document["rows"]}  # type: ignore[attr-defined]
    assert (rows["a"]["total_us"], rows["a"]["mean_us"], rows["a"]["pct_of_total"]) == (0.9, 0.3, 90.0)
    for question in ("steps", "layers", "overlap", "threshold"):
        with pytest.raises(NotInTraceError, match=r"no timeline.*trace-budget kernels"):
            QUESTIONS[question](sums())


def test_sums_of_no_time_have_no_shares() -> None:
    trace = sums()
    assert trace.aggregates is not None
    nothing = trace.aggregates.with_columns(pl.lit(0, dtype=pl.Int64).alias("total_ns"))
    rows = tb.kernels(Trace("s", "hand_stats", trace.gpu_ops, aggregates=nothing)).tables[0].frame
    assert rows["pct_of_total"].null_count() == 2


def test_check_goes_on_where_other_questions_stop() -> None:
    partial = decode_steps(1, "a b c").trace(complete=False)
    with pytest.raises(NotInTraceError):
        tb.steps(partial)
    report = tb.check([partial])
    assert report.document["trust"] == "broken"
    assert "no_countable_step" in {f["code"] for f in report.document["findings"]}  # type: ignore[attr-defined]
    assert tb.check([hand()]).document["trust"] == "good"


def test_scopes_reach_the_analysis() -> None:
    assert api.analyse(hand(), Scope(steps="1:3")).steps.used.tolist() == [1, 2]
    assert api.analyse(hand(), Scope(layers=3)).layers.layers == 3
    with pytest.raises(UsageError, match="not a step range"):
        api.analyse(hand(), Scope(steps="x"))


def test_a_file_is_opened_by_content() -> None:
    trace = api.open_trace(SAMPLE)
    assert (trace.format, trace.device_name) == ("kineto", "NVIDIA H100 80GB HBM3")
    with pytest.raises(InputError):
        api.open_trace(Path(__file__))
    with pytest.raises(InputError):
        api.open_trace(SAMPLE.with_name("absent.json"))
