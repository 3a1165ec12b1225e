"""The answer of `project --weights`: what stands first is the weighted figure, and a phase's figures name the phase."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from trace_budget import api
from trace_budget.projection.candidates import Candidate
from trace_budget.questions import project as project_question
from trace_budget.render import as_csv, as_json
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.report import Report

TRACE = Path(__file__).parents[2] / "sample_traces" / "kineto" / "hybrid_once_per_step.json.gz"
WEIGHTS = {"decode": 0.9, "mixed": 0.1}
# Steps of 4087.5155 and 15949.442 us save 534.912 and 2139.648 us: weighted before they are divided.
WHOLE_PCT = 100 * (0.9 * 534.912 + 0.1 * 2139.648) / (0.9 * 4087.5155 + 0.1 * 15949.442)
MIXED_PCT = 100 * 2139.648 / 15949.442


def answer(change: Change) -> Report:
    candidate = Candidate("", change, Selection("fused_moe_kernel"))
    return project_question.mixture_report(api.open_trace(TRACE), candidate, WEIGHTS)


@pytest.fixture(scope="module")
def weighted() -> Report:
    return answer(Change(speedup=1.5))


def test_csv_has_a_row_for_each_phase_and_one_for_all(weighted: Report) -> None:
    text = as_csv.render(weighted).decode()
    rows = {row["phase"]: row for row in csv.DictReader(io.StringIO(text))}
    assert list(rows) == ["decode", "mixed", "all phases, weighted"]
    assert float(rows["all phases, weighted"]["pct_of_step"]) == pytest.approx(WHOLE_PCT, abs=1e-3)
    assert float(rows["mixed"]["pct_of_step"]) == pytest.approx(MIXED_PCT, abs=1e-3)
    assert (rows["decode"]["share"], rows["all phases, weighted"]["share"]) == ("0.9", "1.0")


def test_json_gives_the_weighted_percentage_and_names_the_phase_of_the_rest(weighted: Report) -> None:
    told: dict[str, Any] = json.loads(as_json.render(weighted))
    assert told["phase"] == "mixed"
    assert told["pct"] == told["mixture"]["pct"]
    assert told["pct"]["expected"] == pytest.approx(WHOLE_PCT, abs=1e-3)
    assert told["saving_us_per_step"]["expected"] == pytest.approx(2139.648, abs=1e-3)
    assert [row["phase"] for row in told["mixture"]["rows"]] == ["decode", "mixed"]


def test_the_first_line_is_the_weighted_answer_and_the_next_names_the_phase(weighted: Report) -> None:
    texts = [line.text for line in weighted.lines]
    assert "13.19 % of a token expected" in texts[0]
    assert "fused_moe_kernel" in texts[0]
    whole = next(at for at, text in enumerate(texts) if text.startswith("all phases, weighted: 13.19 % of a mean step"))
    assert texts[whole + 1].startswith("phase mixed, ")
    assert "to see 10.81 %" in texts[-1]


def test_a_saving_one_phase_cannot_have_makes_the_whole_invalid() -> None:
    refused = answer(Change(saving_us=500.0))
    assert refused.document["verdict"] == "INVALID"
    assert "exceeds the kernel's own" in str(refused.document["why"])
    assert len(refused.lines) == 2
