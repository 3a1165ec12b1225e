"""The answer of `project`: what its lines and tables say beside the figures."""

from __future__ import annotations

import pytest

from projection.builders import Op, graph_steps, hand_trace
from trace_budget.projection.candidates import Candidate
from trace_budget.questions import project as project_question
from trace_budget.reports.project import FROM_STEP_ON
from trace_budget.schema.options import Change, Range, Scope, Selection
from trace_budget.schema.report import Report, Table
from trace_budget.schema.trace import Trace


def answered(trace: Trace, scope: Scope | None = None, **more: object) -> Report:
    return project_question.candidate_report(
        trace, Candidate("", Change(saving_us=4.0, **more), Selection("k")), scope or Scope()
    )


def savings(report: Report) -> Table:
    return next(table for table in report.tables if table.name == "saving")


def test_us_a_call_and_us_a_step_that_part_are_explained() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    assert savings(answered(closed)).title == ""
    for costs in ({"per_step_us": 3.0}, {"hit_rate": Range(0.5, 1.0)}, {"hit_rate": Range(0.5, 0.5)}):
        assert savings(answered(closed, **costs)).title == FROM_STEP_ON
    kernels_alone = hand_trace([Op("k", 100.0 * index, 40.0) for index in range(8)])
    assert savings(answered(kernels_alone, Scope(steps="0"))).title == FROM_STEP_ON


def line(report: Report, begin: str) -> str:
    return next(line.text for line in report.lines if line.text.startswith(begin))


def test_verdict_and_answer_come_first_and_the_product_multiplies() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    report = answered(closed, per_step_us=6.0, hit_rate=Range(0.5, 0.5))
    assert report.lines[0].text.startswith(f"{report.document['verdict']}   ")
    assert "of a token expected, 1.00 % wanted   k" in report.lines[0].text
    saves = line(report, "saves")
    assert "4.000 us x 8 calls" in saves
    assert " x hit 0.5 - 6.000 us a step = 10.000 of" in saves


def test_the_product_multiplies_also_where_calls_have_no_times() -> None:
    trace = hand_trace([Op("k", 100.0 * index, None if index == 2 else 40.0) for index in range(8)])
    assert "4.000 us x 8 calls = 32.000 of" in line(answered(trace, Scope(steps="0")), "saves")
    assert savings(answered(trace, Scope(steps="0"))).frame["us_per_step"][3] == pytest.approx(32.0)


def test_what_a_call_takes_and_the_needed_speed_up_fit_together() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    needs = line(answered(closed), "needs")
    # 1 % of a token of about 800 us in 8 calls is about 1 us a call of 20
    assert "a call takes 20.000 us" in needs
    required = float(needs.split()[1])
    assert f"({20 / (20 - required):.2f}x)" in needs


def test_an_invalid_saving_ends_with_its_reason() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    report = project_question.candidate_report(closed, Candidate("", Change(saving_us=40.0), Selection("k")))
    assert [line.text.split()[0] for line in report.lines] == ["INVALID", "the"]
    assert all(table.limit == 0 for table in report.tables)


def test_throughput_is_that_of_the_token() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    facts = answered(closed).document
    per_second = facts["throughput"]["tokens_per_s_per_sequence"]  # type: ignore[index]
    assert per_second == pytest.approx(1e6 / facts["token"]["token_us"])  # type: ignore[index]
    saved = facts["pct"]["expected"]  # type: ignore[index]
    assert facts["throughput"]["gain_pct"]["expected"] == pytest.approx(100 * saved / (100 - saved))  # type: ignore[index]
