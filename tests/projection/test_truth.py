"""Projections against simulated truth: the interval holds it, the expected value is close, no GO is false."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gpu_simulator import KINDS

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "projection_truth.py"
SEEDS = 12
# Mean error of the expected saving as a share of naive: what these seeds reach, with some room.
ERROR = {
    "forkjoin_graph": 0.05,
    "streams_hidden": 0.08,
    "pdl_late_trigger": 0.05,
    "tp2": 0.2,
    "tp2_all_ranks": 0.01,
}
# The interval itself: closed where the trace shows all there is.
WIDTH = {"eager_1stream": 0.03, "linear_graph": 0.03, "piecewise": 0.03, "hybrid": 0.03, "tp2_all_ranks": 0.05}
CALM = [kind for kind in (*KINDS, "tp2_all_ranks") if not kind.startswith("contention")]


@pytest.fixture(scope="module")
def truth() -> ModuleType:
    name = "projection_truth_of_projections"
    spec = importlib.util.spec_from_file_location(name, PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", CALM)
def test_the_interval_holds_the_truth(truth: ModuleType, kind: str) -> None:
    row = truth.score(truth.report_estimate, [kind], n=SEEDS).row(0, named=True)
    assert (row["cases"], row["coverage"]) == (SEEDS, 1.0)
    assert row["mae_expected"] <= ERROR.get(kind, 0.001)
    assert row["width"] <= WIDTH.get(kind, 1.1)
    assert (row["false_go"], row["missed_go"]) == (0, 0)
    assert row["exact"] == 1.0
    assert row["hit_exact"] >= (0.9 if kind == "hybrid" else 1.0)


@pytest.mark.parametrize(("kind", "coverage"), [("contention_0.3", 1.0), ("contention_1.0", 0.9)])
def test_kernels_that_slow_each_other_down(truth: ModuleType, kind: str, coverage: float) -> None:
    row = truth.score(truth.report_estimate, [kind], n=SEEDS).row(0, named=True)
    assert row["missed_low"] == 0
    assert row["coverage"] >= coverage
    assert row["false_go"] == 0


def test_go_is_said_where_it_is_true(truth: ModuleType) -> None:
    row = truth.score(truth.report_estimate, ["linear_graph"], n=SEEDS).row(0, named=True)
    assert row["go"] >= 3
