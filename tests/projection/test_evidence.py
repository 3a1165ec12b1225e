"""The six questions and their grades, each from what the trace and the options say."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_simulator import Shown, random_program, simulate, to_trace
from projection.builders import graph_steps, repeated_steps
from trace_budget.projection.evidence import QUESTIONS, Graded
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Range, Scope, Selection
from trace_budget.schema.trace import Trace

LAYER = [("norm", 5.0), ("gdn", 13.0), ("mlp", 30.0)]


@pytest.fixture(scope="module")
def decode() -> Trace:
    return graph_steps([*LAYER * 12, ("lm_head", 90.0)], 900)


def answers(trace: Trace, scope: Scope | None = None, kernel: str = "gdn", **change: Any) -> dict[str, Graded]:
    change = change or {"saving_us": 2.0}
    return project_question.projection(trace, Selection(kernel), Change(**change), scope or Scope()).evidence


def grade(trace: Trace, key: str, **rest: Any) -> tuple[str, str]:
    answer = answers(trace, **rest)[key]
    return answer.grade, answer.source


def test_all_six_are_answered_in_words(decode: Trace) -> None:
    got = answers(decode)
    assert list(got) == list(QUESTIONS) == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    assert all(answer.text and answer.grade in "ABCD" for answer in got.values())
    assert {answer.source for answer in got.values()} <= {"trace", "user", "assumed"}


@pytest.mark.parametrize(
    ("change", "grade_"),
    [
        ({"free": True}, ("A", "trace")),
        ({"saving_us": 2.0, "baseline_us": 13.0}, ("B", "user")),
        ({"saving_us": 2.0, "baseline_us": 10.0}, ("C", "user")),
        ({"saving_us": 2.0}, ("C", "user")),
        ({"speedup": 1.2}, ("C", "user")),
    ],
)
def test_q1_asks_for_a_control(decode: Trace, change: dict[str, Any], grade_: tuple[str, str]) -> None:
    assert grade(decode, "Q1", **change) == grade_


def test_q2_is_counted_and_asserted(decode: Trace) -> None:
    got = answers(decode)["Q2"]
    assert (got.grade, got.source) == ("A", "trace")
    assert "12 calls per step counted over 3 step(s)" in got.text
    wrong = answers(decode, saving_us=2.0, calls=48.0, force=True)["Q2"]
    assert wrong.grade == "D"
    assert "48 were expected" in wrong.text


def test_q3_is_found_told_or_unknown(decode: Trace) -> None:
    assert answers(decode)["Q3"].text.startswith("12 of 12 layers")
    assert grade(decode, "Q3")[0] in "AB"
    assert grade(decode, "Q3", scope=Scope(layers=12))[1] == "user"
    single = graph_steps([("gdn", 13.0), ("x", 5.0), ("y", 9.0)], 60)
    assert grade(single, "Q3") == ("D", "assumed")


def test_q4_cannot_be_measured_without_a_marker(decode: Trace) -> None:
    assert grade(decode, "Q4") == ("C", "trace")
    assert grade(decode, "Q4", saving_us=2.0, hit_rate=Range(0.5, 1.0)) == ("C", "user")
    assert "0.5 to 1" in answers(decode, saving_us=2.0, hit_rate=Range(0.5, 1.0))["Q4"].text
    chains = [[("a", 10.0), ("gdn", 13.0)], [("a", 10.0), ("gdn", 13.0)], [("a", 10.0), ("a", 10.0)]]
    assert grade(repeated_steps(chains, 100), "Q4", scope=Scope(steps="0:3")) == ("D", "assumed")


@pytest.mark.parametrize(
    ("kind", "kernel", "shown", "grade_"),
    [
        ("linear_graph", "moe_sum", Shown(), "A"),
        ("linear_graph", "moe_sum", Shown(hide_host=True), "D"),
        ("eager_2streams", "shared_gate_up_gemm", Shown(), "C"),
    ],
)
def test_q5_depends_on_what_the_trace_shows(kind: str, kernel: str, shown: Shown, grade_: str) -> None:
    trace = to_trace(simulate(random_program(kind, 3)), shown=shown)
    assert grade(trace, "Q5", kernel=kernel) == (grade_, "trace")


@pytest.mark.parametrize("cost", [{"overhead_us": 0.0}, {"extra_bytes": 0.0}, {"per_step_us": 4.0}])
def test_q6_is_answered_by_any_cost_even_none(decode: Trace, cost: dict[str, float]) -> None:
    assert grade(decode, "Q6") == ("D", "assumed")
    assert grade(decode, "Q6", saving_us=2.0, **cost) == ("C", "user")
