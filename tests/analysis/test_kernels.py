"""The kernels table and the layer map: counts, times and shares worked out by hand."""

from dataclasses import replace

import polars as pl
import pytest

from builders import DECODE, US, Tape
from trace_budget import api
from trace_budget.analysis.kernels import kernel_table, layer_map, op_table
from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.overlap import find_overlap
from trace_budget.analysis.steps import find_steps
from trace_budget.projection.match import match
from trace_budget.projection.target import prepared_rank
from trace_budget.schema.options import Selection
from trace_budget.schema.trace import Trace


def analysed(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    steps = find_steps(trace)
    found = (trace, steps, find_layers(trace, steps), find_overlap(trace))
    return kernel_table(*found), layer_map(op_table(*found))


def row(rows: pl.DataFrame, kernel: str) -> dict[str, object]:
    return rows.row(by_predicate=pl.col("kernel") == kernel, named=True)


def decode() -> Tape:
    """Five steps: a copy, 4 layers of a 10 us norm, a 20 us attention (12 hidden under a copy) and two 5 us gemms."""
    tape = Tape()
    for step in range(5):
        with tape.range(DECODE):
            tape.launch("embed")
            for _ in range(4):
                tape.graph("norm", dur=10 * US).graph("attn", dur=20 * US)
                start = tape.clock[(0, 7)] - 12 * US
                tape.graph("gather", kind="memcpy", stream=9, at=start, dur=12 * US)
                tape.graph("gemm gemm", dur=5 * US).graph("extra", dur=(1 + step) * US)
            if step == 2:
                tape.launch("rare")
        tape.idle(10 * US)
    return tape


def test_counts_times_and_shares() -> None:
    rows, _ = analysed(decode().trace())
    # Steps: embed 10, layers 4 x (10 + 20 + 10 + 1 … 5), rare 10 in the third, idle 10: 184, 188, 202, 196 us apart.
    attn = row(rows, "attn")
    assert (attn["calls"], attn["calls_per_step"], attn["steps"], attn["steps_hit"]) == (20, 4.0, 5, 5)
    assert (attn["layers"], attn["layers_hit"], attn["calls_per_layer"]) == (4, 4, 1.0)
    assert (attn["ns_per_step"], attn["exposed_ns_per_step"]) == (80 * US, 32 * US)
    assert attn["pct_of_step"] == pytest.approx(100 * 80 / 192)
    gemm = row(rows, "gemm")
    assert (gemm["calls_per_step"], gemm["layers_hit"], gemm["calls_per_layer"]) == (8.0, 4, 2.0)
    extra = row(rows, "extra")
    assert (extra["mean_ns"], extra["median_ns"], extra["min_ns"], extra["max_ns"]) == (3000, 3000, 1000, 5000)
    rare = row(rows, "rare")
    assert (rare["calls_per_step"], rare["calls"], rare["steps_hit"], rare["layers_hit"]) == (0.2, 1, 1, 0)
    assert (rare["ns_per_step"], rare["mean_ns"], rare["calls_per_layer"]) == (2 * US, 10 * US, None)
    copies = row(rows, "gather")
    assert (copies["kind"], copies["calls_per_step"], copies["exposed_ns_per_step"]) == ("memcpy", 4.0, 0.0)
    assert rows["ns_per_step"].is_sorted(descending=True)


def test_the_layer_map_counts_calls_per_counted_step() -> None:
    tape = Tape()
    for step in range(4):
        with tape.range(DECODE):
            for layer in range(6):
                tape.graph("norm qkv attn" + (" odd" if step == 1 and layer == 2 else "") + " out up down")
        tape.idle(10 * US)
    rows, sites = analysed(tape.trace())
    assert row(rows, "odd")["calls_per_step"] == 0.25
    assert sites.filter(pl.col("kernel") == "odd").select("layer_index", "calls").rows() == [(2, 0.25)]
    assert sites.filter(pl.col("kernel") == "attn")["calls"].to_list() == [1.0] * 6
    per_step = sites.group_by("kernel").agg(pl.col("calls").sum())
    counted = dict(per_step.iter_rows())
    assert counted == {name: row(rows, name)["calls_per_step"] for name in counted}


def test_layers_hit_is_the_median_over_the_steps_that_run_it() -> None:
    calls = {0: (2, 2), 1: (2, 2), 2: (1, 1, 1, 1), 3: (2, 2), 4: (2, 2)}  # step: of the expert in its first layers
    tape = Tape()
    for step in range(5):
        with tape.range(DECODE):
            for layer in range(6):
                often = calls[step][layer] if layer < len(calls[step]) else 0
                tape.graph("norm qkv attn" + often * " expert" + " out up down")
        tape.idle(10 * US)
    trace = tape.trace()
    expert = row(analysed(trace)[0], "expert")
    assert (expert["layers_hit"], expert["steps_hit"], expert["calls_per_step"]) == (2, 5, 4)
    analysis = api.analyse(trace)
    found = match(prepared_rank(analysis).ops, Selection("expert"), analysis.steps, analysis.layers, trace.path)
    assert found.layers_hit == 2


def test_unknown_layers_are_null_not_0() -> None:
    tape = Tape()
    with tape.range(DECODE):
        tape.launch("a b c")
    rows, sites = analysed(tape.trace())
    for column in ("layers", "layers_hit", "calls_per_layer"):
        assert rows[column].null_count() == 3
    assert sites.is_empty()


def test_unknown_times_are_null_not_0() -> None:
    tape = Tape()
    for _ in range(2):
        with tape.range(DECODE):
            tape.launch("a b c").launch("blind")
    trace = tape.trace()
    end = pl.when(pl.col("name").cast(pl.String) != "blind").then("end_ns").alias("end_ns")
    rows, _ = analysed(replace(trace, gpu_ops=trace.gpu_ops.with_columns(end)))
    blind = row(rows, "blind")
    assert (blind["calls_per_step"], blind["steps_hit"]) == (1.0, 2)
    for column in ("mean_ns", "median_ns", "min_ns", "max_ns", "ns_per_step", "pct_of_step", "exposed_ns_per_step"):
        assert blind[column] is None
    assert rows["kernel"].to_list()[-1] == "blind"


def test_a_step_without_any_time_has_no_shares() -> None:
    tape = Tape()
    with tape.range(DECODE):
        tape.launch("a b c", dur=0, at=200_000_000)
    rows, _ = analysed(tape.trace())
    assert rows["ns_per_step"].to_list() == [0.0] * 3
    assert rows["pct_of_step"].null_count() == 3


def test_a_copy_and_a_kernel_of_one_name_are_two_rows() -> None:
    tape = Tape()
    with tape.range(DECODE):
        tape.launch("same", kind="memcpy").launch("same")
    rows, _ = analysed(tape.trace())
    assert sorted(rows["kind"].to_list()) == ["kernel", "memcpy"]
