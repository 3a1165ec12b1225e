"""The score tells good estimates from bad ones: judged with estimates whose score is known beforehand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from gpu_simulator import KINDS
from trace_budget.schema.trace import Trace

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "projection_truth.py"
CALM = [kind for kind in KINDS if not kind.startswith("contention")]


@pytest.fixture(scope="module")
def truth() -> ModuleType:
    spec = importlib.util.spec_from_file_location("projection_truth", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["projection_truth"] = module
    spec.loader.exec_module(module)
    return module


def test_the_ceiling_covers_every_case_without_contention(truth: ModuleType) -> None:
    table = truth.score(truth.ceiling_estimate, CALM, n=2)
    assert table["kind"].to_list() == [*CALM, "all"]
    assert table["coverage"].to_list() == [1.0] * len(table)
    assert table["width"].to_list() == pytest.approx([1.0] * len(table))
    assert table["mae_naive"].to_list() == table["mae_expected"].to_list()


def test_naive_is_exact_for_a_chain_in_a_graph_and_wrong_beside_other_work(truth: ModuleType) -> None:
    table = truth.score(truth.naive_estimate, ["linear_graph", "eager_2streams"], n=4)
    chain, streams, _ = table.iter_rows(named=True)
    assert (chain["coverage"], chain["mae_expected"]) == (1.0, pytest.approx(0.0, abs=1e-6))
    assert streams["mae_expected"] > 0.05
    assert streams["missed_low"] > 0
    assert streams["missed_high"] == 0


def test_the_truth_itself_scores_perfectly_and_a_blind_go_does_not(truth: ModuleType) -> None:
    known = {(c.kind, c.trace.path, c.kernel, c.saving_us): c for c in truth.cases(["async_loop"], n=6)}

    def oracle(trace: Trace, kernel: str, saving_us: float) -> object:
        case = known["async_loop", trace.path, kernel, saving_us]
        return truth.Estimate(case.true_ns, case.true_ns, case.true_ns, case.naive_ns, "GO")

    row = truth.score(oracle, ["async_loop"], n=6).row(0, named=True)
    assert (row["coverage"], row["width"], row["mae_expected"], row["mae_pp"]) == (1.0, 0.0, 0.0, 0.0)
    small = sum(100 * case.true_ns / case.step_ns < 1.0 for case in known.values())
    assert (row["go"], row["false_go"]) == (6, small)
    assert small > 0


def test_the_questions_do_not_change_between_runs(truth: ModuleType) -> None:
    first, again = (list(truth.cases(["pdl", "tp2"], n=2)) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert (one.kernel, one.saving_us, one.true_ns, one.step_ns) == (
            other.kernel,
            other.saving_us,
            other.true_ns,
            other.step_ns,
        )
        assert one.trace.gpu_ops.equals(other.trace.gpu_ops.with_columns(pl.col("name")))
