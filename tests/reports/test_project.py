"""The answer of `project`: what its lines and tables say beside the figures."""

from __future__ import annotations

import pytest

from projection.builders import Op, graph_steps, hand_trace
from trace_budget import api
from trace_budget.projection.candidates import Candidate
from trace_budget.reports.project import FROM_STEP_ON
from trace_budget.schema.options import Change, Range, Scope, Selection
from trace_budget.schema.report import Report, Table
from trace_budget.schema.trace import Trace


def answered(trace: Trace, scope: Scope | None = None, **more: object) -> Report:
    return api.candidate_report(trace, Candidate("", Change(saving_us=4.0, **more), Selection("k")), scope or Scope())


def savings(report: Report) -> Table:
    return next(table for table in report.tables if table.name == "saving")


def test_us_a_call_and_us_a_step_that_part_are_explained() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    assert savings(answered(closed)).title == ""
    for costs in ({"per_step_us": 3.0}, {"hit_rate": Range(0.5, 1.0)}, {"hit_rate": Range(0.5, 0.5)}):
        assert savings(answered(closed, **costs)).title == FROM_STEP_ON
    kernels_alone = hand_trace([Op("k", 100.0 * index, 40.0) for index in range(8)])
    assert savings(answered(kernels_alone, Scope(steps="0"))).title == FROM_STEP_ON


def test_the_first_line_names_what_it_takes_off_and_multiplies() -> None:
    closed = graph_steps([("k", 20.0), ("rest", 80.0)] * 8, 1_000)
    first = answered(closed, per_step_us=6.0, hit_rate=Range(0.5, 0.5)).lines[1].text
    assert first.startswith("4.000 us a call x 8 calls")
    assert " x hit 0.5 - 6.000 us a step = 0.0100 ms of" in first


def test_the_median_is_of_the_calls_that_have_times() -> None:
    trace = hand_trace([Op("k", 100.0 * index, None if index < 3 else 40.0) for index in range(8)])
    assert "(median of 5)" in answered(trace, Scope(steps="0")).lines[2].text


def test_the_first_line_multiplies_also_where_calls_have_no_times() -> None:
    trace = hand_trace([Op("k", 100.0 * index, None if index == 2 else 40.0) for index in range(8)])
    first = answered(trace, Scope(steps="0")).lines[1].text
    assert first.startswith("4.000 us a call x 8 calls = 0.0320 ms of")
    assert savings(answered(trace, Scope(steps="0"))).frame["us_per_step"][3] == pytest.approx(32.0)
