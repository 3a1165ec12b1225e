"""The answer of `compare`: its document, its words, and the pair of real recordings checked against plain SQL."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trace_budget as tb
from gpu_simulator import random_program, simulate, to_trace
from gpu_simulator.edited import edited, heaviest
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.comparison.compare import Asked
from trace_budget.projection.candidates import Candidate
from trace_budget.render import as_json, as_terminal
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.report import Report

MFU = [SHARED / "nsys_sqlite" / f"mfu_2gpu_{side}.sqlite" for side in ("before", "after")]
SUMS_NS = (535_200_650, 488_835_406)


def document(report: Report) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(as_json.render(report))
    return loaded


@pytest.fixture(scope="module")
def simulated() -> Report:
    program = random_program("linear_graph", 3)
    name, _ = heaviest(program)
    after = edited(program, lambda k: replace(k, name="brand_new", work_ns=k.work_ns // 2) if k.name == name else k)
    asked = Asked((Candidate("", Change(), Selection(name)),))
    return tb.compare(to_trace(simulate(program)), to_trace(simulate(after)), asked)


def test_the_document_adds_up(simulated: Report) -> None:
    answer = document(simulated)
    assert answer["schema"] == "trace-budget/compare/1"
    assert answer["verdict"] == "realised"
    step, kernels = answer["realised"]["step_us"], answer["kernel_us"]
    assert answer["realised"]["saving_us"] == pytest.approx(step["before"] - step["after"])
    assert answer["realised"]["pct"] == pytest.approx(100 * answer["realised"]["saving_us"] / step["before"])
    assert kernels["saved"] == pytest.approx(kernels["before"] - kernels["after"])
    rows = pl.DataFrame(answer["rows"])
    assert rows["us_per_step_before"].sum() == pytest.approx(kernels["before"])
    assert rows["us_per_step_after"].sum() == pytest.approx(kernels["after"])
    assert rows["difference_us"].sum() == pytest.approx(-kernels["saved"])
    assert answer["conversion"] == pytest.approx(answer["realised"]["saving_us"] / answer["predicted"]["expected"])
    assert answer["engagement"]["new_kernels"] == ["brand_new"]
    assert [each["verdict"] for each in answer["devices"]] == ["realised"]


def test_the_terminal_tells_verdict_engagement_and_what_moved(simulated: Report) -> None:
    text = as_terminal.render(simulated).decode()
    assert text.startswith("realised: kernel time fell by")
    assert "engaged: " in text
    assert "calls of brand_new in" in text
    sites = simulated.tables[0].frame
    assert text.count("vanished") == sites.filter(pl.col("change") == "vanished").height
    assert max(len(line) for line in text.splitlines()) <= 80


@needs_shared
def test_less_kernel_time_in_the_same_window_is_not_realised() -> None:
    before, after = (api.open_trace(path) for path in MFU)
    report = tb.compare(before, after)
    answer = document(report)
    assert answer["verdict"] == "not realised"
    for side, path, total in zip(("before", "after"), MFU, SUMS_NS, strict=True):
        sums, windows, count = by_sql(path)
        assert sum(sums) == total
        assert answer["recordings"][side]["kernel_us_per_gpu"] == pytest.approx(total / 2 / 1000)
        assert answer["recordings"][side]["kernels"] == count
        assert answer["recordings"][side]["window_us"] == pytest.approx(max(windows) / 1000, rel=2e-4)
    saved = answer["recordings"]["before"]["kernel_us_per_gpu"] - answer["recordings"]["after"]["kernel_us_per_gpu"]
    assert saved / 1000 == pytest.approx(23.18, abs=0.005)
    assert answer["realised"]["pct"] == pytest.approx(0.2, abs=0.05)
    assert [each["device"] for each in answer["devices"]] == [0, 1]
    text = as_terminal.render(report).decode()
    assert "23.18 ms less" in text.replace("\n  ", " ")
    assert "other_amount_of_work" in [caveat.code for caveat in report.caveats]


def by_sql(path: Path) -> tuple[list[int], list[int], int]:
    """Kernel time and window of each device, and the number of kernels, without any code of the package."""
    query = (
        'select sum("end" - start), max("end") - min(start), count(*)'
        " from CUPTI_ACTIVITY_KIND_KERNEL group by deviceId order by deviceId"
    )
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        rows = connection.execute(query).fetchall()
    finally:
        connection.close()
    return [row[0] for row in rows], [row[1] for row in rows], sum(row[2] for row in rows)
