"""The drawing of a step: its slices are the ops, tracks never overlap, waits and counters add up."""

from __future__ import annotations

import polars as pl
import pytest

import trace_budget as tb
from gpu_simulator import random_program, simulate, to_trace
from gpu_simulator.edited import heaviest
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.intervals import union_length
from trace_budget.pages.timeline import LEAST_WAIT_NS
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.schema.options import Change, Policy, Scope, Selection, TokenInput
from trace_budget.schema.timeline import Drawing
from trace_budget.schema.trace import Trace

KINDS = ("linear_graph", "forkjoin_graph", "eager_2streams", "pdl", "rocm_streamed_graph", "tp2")


def drawn(kind: str, scope: Scope | None = None) -> tuple[Trace, Drawing, str]:
    program = random_program(kind, 3)
    name, _ = heaviest(program)
    trace = to_trace(simulate(program))
    wanted = Candidate("", Change(saving_us=1.5), Selection(name))
    return trace, tb.timeline(trace, wanted, scope or Scope()), name


def of_process(drawing: Drawing, process: int) -> pl.DataFrame:
    slices = drawing.slices.join(drawing.tracks.rename({"name": "lane"}), on="track")
    return slices.filter(pl.col("process") == process)


@pytest.mark.parametrize("kind", KINDS)
def test_measured_slices_are_the_ops_of_the_step(kind: str) -> None:
    trace, drawing, _ = drawn(kind)
    ops = of_process(drawing, 0).filter(pl.col("lane") != "waits")
    recorded = trace.gpu_ops.filter(pl.col("op_id").is_in(ops["op_id"].implode()))
    assert ops["op_id"].n_unique() == ops.height == recorded.height
    lengths = ops.sort("op_id")["duration_ns"].to_list()
    assert lengths == (recorded["end_ns"] - recorded["start_ns"]).to_list()
    assert ops.sort("op_id")["start_ns"].to_list() == (recorded["start_ns"] - recorded["start_ns"].min()).to_list()
    assert ops["step"].n_unique() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_slices_of_one_track_never_overlap(kind: str) -> None:
    _, drawing, _ = drawn(kind)
    end = pl.col("start_ns") + pl.col("duration_ns")
    late = drawing.slices.with_columns(end.shift(1).over("track").alias("before")).drop_nulls("before")
    assert (late["start_ns"] >= late["before"]).all()
    assert drawing.slices["slice"].to_list() == list(range(drawing.slices.height))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("process", [0, 1])
def test_waits_are_when_the_device_does_nothing(kind: str, process: int) -> None:
    _, drawing, _ = drawn(kind)
    rows = of_process(drawing, process)
    ops, waits = rows.filter(pl.col("lane") != "waits"), rows.filter(pl.col("lane") == "waits")
    start, length = ops["start_ns"].to_numpy(), ops["duration_ns"].to_numpy()
    window = int((start + length).max() - start.min())
    idle = window - union_length(start, start + length)
    short = idle - int(waits["duration_ns"].sum())
    assert 0 <= short <= LEAST_WAIT_NS * ops.height
    assert (waits["duration_ns"] >= LEAST_WAIT_NS).all()
    changed = waits["categories"] == "wait,moved"
    assert (changed == (waits["was_ns"] != waits["duration_ns"])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_touched_kernels_are_marked_and_shorter(kind: str) -> None:
    _, drawing, name = drawn(kind)
    for process in (0, 1):
        affected = of_process(drawing, process).filter(pl.col("categories").str.contains("affected"))
        named = of_process(drawing, process).filter(pl.col("name") == name)
        assert affected["slice"].to_list() == named["slice"].to_list() != []
    shorter = of_process(drawing, 1).filter(pl.col("name") == name)["shorter_ns"]
    if kind not in ("pdl", "forkjoin_graph"):
        assert shorter.is_between(1_498, 1_502).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_counter_ends_with_what_the_step_saves(kind: str) -> None:
    _, drawing, _ = drawn(kind)
    last = {row["name"]: row["value"] for row in drawing.counters.sort("time_ns").to_dicts()}
    low, expected, high = (last[f"saved so far, {bound}"] for bound in ("low", "expected", "high"))
    measured, projected = drawing.ends_ns()
    assert expected == pytest.approx((measured - projected) / 1000, abs=0.002)
    assert low <= expected + 1e-6 <= high + 2e-6


@pytest.mark.parametrize("kind", KINDS)
def test_flows_are_the_critical_path(kind: str) -> None:
    _, drawing, _ = drawn(kind)
    rows = drawing.slices.join(drawing.tracks.select("track", "process"), on="track")
    ends = drawing.flows.join(rows, left_on="from_slice", right_on="slice").join(
        rows, left_on="to_slice", right_on="slice", suffix="_to"
    )
    assert (ends["process"] == ends["process_to"]).all()
    assert ends["categories"].str.contains("critical").all()
    assert ends["categories_to"].str.contains("critical").all()
    assert (ends["start_ns_to"] >= ends["start_ns"]).all()
    assert drawing.flows["to_slice"].is_unique().all()


def test_steps_that_are_asked_for_are_all_drawn() -> None:
    _, drawing, _ = drawn("linear_graph", Scope(steps="1:3"))
    assert of_process(drawing, 0)["step"].unique().sort().to_list() == [1, 2]
    assert drawing.processes[0] == "measured, steps 1 to 2"


def test_candidates_of_a_set_move_the_step_together() -> None:
    program = random_program("linear_graph", 2)
    name, beside = heaviest(program)
    trace = to_trace(simulate(program))
    candidates = tuple(Candidate(which, Change(saving_us=0.5), Selection(which)) for which in (name, beside))
    together = tb.timeline(trace, CandidateSet(candidates, Policy(), TokenInput()))
    marked = of_process(together, 1).filter(pl.col("categories").str.contains("affected"))
    assert set(marked["name"]) == {name, beside}
    measured, projected = together.ends_ns()
    assert measured - projected == pytest.approx(500 * marked.height, abs=50)
    assert together.processes[1].endswith(f"{name}, {beside}")


@needs_shared
def test_the_real_decode_step_is_shorter_by_the_product() -> None:
    trace = api.open_trace(SHARED / "kineto" / "vllm_decode_full_graph.json.gz")
    kernel = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"
    drawing = tb.timeline(trace, Candidate("", Change(saving_us=3.228), Selection(kernel)))
    assert drawing.ends_ns() == [10_743_181, 10_743_181 - 77_472]
    measured = of_process(drawing, 0).filter(pl.col("lane") != "waits")
    assert measured.height == 434
    assert measured["layer"].drop_nulls().unique().sort().to_list() == list(range(24))
    assert (measured.filter(pl.col("name") == kernel)["categories"] == "kernel,affected,critical").all()


@needs_shared
def test_kernels_that_start_early_get_a_lane_of_their_own() -> None:
    trace = api.open_trace(SHARED / "kineto" / "b200_moe_eager_pdl.json.gz")
    kernels = tb.kernels(trace).tables[0].frame
    most = kernels.filter(pl.col("kind") == "kernel")["kernel"][0]
    drawing = tb.timeline(trace, Candidate("", Change(free=True), Selection(most)))
    lanes = drawing.tracks.filter(pl.col("process") == 0)["name"].to_list()
    assert lanes == ["stream 7", "stream 7 (2)", "waits"]
    assert drawing.ends_ns()[1] <= drawing.ends_ns()[0] == 84_487_178
