"""The documents are what their structs declare: every answer is built as one, and its figures are of their types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import trace_budget as tb
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.schema.documents import compared, plain, project, structure
from trace_budget.schema.report import Report

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SEED = SAMPLES / "kineto" / "gdn_decode_gfx936.json.gz"
WITHOUT_LAYERS = SAMPLES / "rocprof_v1_csv" / "same_run.csv"
SUMS = SAMPLES / "kernel_stats_csv" / "rocprofv3_kernel_stats.csv"
GDN = tb.Change(saving_us=3.228)
ONE = Candidate("one", GDN, tb.Selection(kernel="gdn_fused"))
SET = CandidateSet((ONE,), tb.Policy(), tb.TokenInput())


def as_declared(report: Report) -> None:
    """Converting checks every value against its declared type; back as plain values nothing is lost or added."""
    assert isinstance(report.answer, msgspec.Struct)
    typed = msgspec.convert(report.document, type(report.answer))
    assert plain(typed) == report.document


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"token": tb.TokenInput(token_ms=44.0, tokens_per_step=2.0)},
        {"weights": {"decode": 1.0}},
        {"scope": tb.Scope(steps="2")},
    ],
)
def test_project(more: dict[str, Any]) -> None:
    report = tb.project(SEED, "gdn_fused", GDN, **more)
    as_declared(report)
    assert report.answered(project.Verdict).matched.calls_per_step == 48
    assert ("mixture" in report.document) is ("weights" in more)


def test_project_without_layers_or_calls() -> None:
    as_declared(tb.project(WITHOUT_LAYERS, "paged_attention_kernel", tb.Change(free=True), tb.Scope(steps="0")))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tb.kernels(SEED),
        lambda: tb.kernels(SUMS),
        lambda: tb.steps(SEED),
        lambda: tb.layers(SEED),
        lambda: tb.overlap(SEED),
        lambda: tb.threshold(SEED),
        lambda: tb.check(SEED),
        lambda: tb.check(SUMS),
        lambda: tb.compare(SEED, SEED),
        lambda: tb.rank(SEED, SET),
        lambda: tb.estimate(3.1, calls=48, token_ms=44.0),
        tb.formats,
        tb.schema,
        tb.doctor,
        tb.explain,
    ],
)
def test_every_answer_is_a_struct(ask: Callable[[], Report]) -> None:
    as_declared(ask())


def test_figures_are_taken_from_the_struct() -> None:
    assert tb.compare(SEED, SEED).answered(compared.Compared).realised.pct == 0
    with pytest.raises(TypeError, match="answered with Kernels, not with Verdict"):
        tb.kernels(SEED).answered(project.Verdict)
    assert tb.kernels(SUMS).answered(structure.Kernels).step_us is None


def test_a_figure_of_another_type_breaks_the_contract() -> None:
    document = tb.project(SEED, "gdn_fused", GDN).document
    with pytest.raises(msgspec.ValidationError, match="pace"):
        msgspec.convert({**document, "pace": 3}, project.Verdict)
