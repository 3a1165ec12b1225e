"""Real and sample traces through the api: every annotation, replay, layer and kernel against independent figures."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.analysis.kernels import kernel_table
from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.steps import find_steps
from trace_budget.errors import NotInTraceError
from trace_budget.intervals import union_length
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace

SAMPLES = Path(__file__).parents[1] / "sample_traces" / "kineto"
CASES = sorted(
    p.name.removesuffix(".truth.json") for p in SAMPLES.glob("*.truth.json") if "medians" in json.loads(p.read_text())
)
ANNOTATED = (
    "alexnet_integer_us", "b200_moe_eager_pdl", "mi250_train_stream0", "mi300_qwen_eager", "sglang_decode_full_graph",
    "sglang_extend_eager", "torch_compile_triton", "vllm_decode_full_graph", "vllm_mixed_piecewise",
    "xdit_sd35_62mb", "two_ranks/rank-0", "two_ranks/rank-1",
)  # fmt: skip


@cache
def real(name: str) -> Trace:
    return api.open_trace(SHARED / "kineto" / f"{name}.json.gz")


def facts(name: str) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((SHARED / "kineto" / "facts.json").read_text())[f"kineto/{name}.json.gz"]
    return known


@needs_shared
@pytest.mark.parametrize("name", ANNOTATED)
def test_every_annotation_owns_what_was_launched_inside_it(name: str) -> None:
    trace, checked = real(name), 0
    for text, known in windows(name).items():
        steps = find_steps(trace, Scope(step_pattern=f"^{re.escape(text)}$"))
        if steps.method != "annotations":
            continue  # it encloses no kernel, only copies
        rows = set(steps.frame.select("gpu_ops", "window_ns", "busy_ns").rows())
        listed = trace.markers.filter((pl.col("kind") == "annotation") & (pl.col("name").cast(pl.String) == text))
        # Of annotations that come often the figures list the first ones only.
        assert rows == known if listed.height == len(known) else rows & known
        assert steps.frame["name"].unique().to_list() == [text]
        checked += 1
    assert checked > 0


def windows(name: str) -> dict[str, set[tuple[int, ...]]]:
    """(gpu_ops, window, busy) of the annotations that enclose launches, by text."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for row in facts(name)["annotations"]:
        if row["gpu_ops"]:
            values = tuple(row[key] for key in ("gpu_ops", "gpu_window_ns", "gpu_busy_ns"))
            found.setdefault(row["name"], set()).add(values)
    return found


@needs_shared
@pytest.mark.parametrize("name", ["vllm_decode_full_graph", "sglang_decode_full_graph", "vllm_mixed_piecewise"])
def test_kernels_of_each_replay(name: str) -> None:
    trace, known = real(name), facts(name)["replays"]
    launches = trace.calls.filter(pl.col("kind") == "graph_launch")["launch_id"]
    found = []
    for launch in launches:
        ops = trace.gpu_ops.filter((pl.col("launch_id") == launch) & (pl.col("kind") == "kernel"))
        start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
        span = int(end.max() - start.min())
        found.append((ops.height, int((end - start).sum()), union_length(start, end), span))
    assert found == [tuple(r[k] for k in ("kernels", "sum_ns", "union_ns", "span_ns")) for r in known]


@needs_shared
def test_the_token_of_sglang_is_the_replay_not_the_wait_before_it() -> None:
    steps = find_steps(real("sglang_decode_full_graph"))
    assert steps.step_ns == 10_366_887
    outer = find_steps(real("sglang_decode_full_graph"), Scope(step_pattern="^execute_32_"))
    assert outer.step_ns == 473_749_943


@needs_shared
@pytest.mark.parametrize(
    ("name", "once", "twice", "layers"),
    [("sglang_decode_full_graph", 9, 3, 36), ("vllm_decode_full_graph", 13, 1, 24)],
)
def test_how_many_kernels_run_once_and_twice_a_layer(name: str, once: int, twice: int, layers: int) -> None:
    found = api.analyse(real(name))
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap)
    rows = rows.filter(pl.col("kind") == "kernel")
    assert rows.filter(pl.col("calls_per_step") == layers).height == once
    assert rows.filter(pl.col("calls_per_step") == 2 * layers).height == twice
    every = rows.filter((pl.col("calls_per_step") == layers) & (pl.col("layers_hit") >= layers - 1))
    assert every.height == once
    assert rows.filter(pl.col("calls_per_step") == 1)["layers_hit"].max() <= 1


@needs_shared
def test_sliding_and_full_attention_take_turns() -> None:
    found = api.analyse(real("vllm_decode_full_graph"))
    names = found.trace.gpu_ops["name"].cast(pl.String)
    for kernel, parity in (("kernel_unified_attention_2d", {0}), ("kernel_unified_attention_3d", {1})):
        layers = found.layers.op_layer[(names == kernel).to_numpy()]
        assert len(set(layers.tolist())) == layers.size == 12
        assert len({layer % 2 for layer in layers.tolist()}) == len(parity)


@needs_shared
def test_one_gemm_of_two_call_sites_has_two_positions() -> None:
    found = api.analyse(real("sglang_extend_eager"))
    ops = found.trace.gpu_ops.with_columns(
        pl.Series("position", found.layers.op_position), (pl.col("end_ns") - pl.col("start_ns")).alias("dur_ns")
    ).filter((pl.col("kind") == "kernel") & (pl.col("position") >= 0))
    gemm = (
        ops.filter(pl.col("name").cast(pl.String).str.starts_with("Cijk_"))
        .group_by("name", "position")
        .agg(pl.len().alias("calls"), pl.col("dur_ns").median())
    )
    sites = gemm.filter(pl.len().over("name") == 2).sort("dur_ns")
    assert sites["calls"].to_list() == [36, 36]
    assert (sites["dur_ns"] / 1000).round().to_list() == pytest.approx([819, 2651], rel=0.02)


@needs_shared
@pytest.mark.parametrize("name", ["b200_moe_eager_pdl", "mi300_qwen_eager", "sglang_extend_eager"])
def test_repetition_puts_every_kernel_into_the_layer_that_its_module_names(name: str) -> None:
    trace = real(name)
    steps = find_steps(trace)
    named = find_layers(trace, steps)
    bare = replace(trace, markers=trace.markers.filter(pl.col("kind") != "module"))
    found = find_layers(bare, steps)
    kernels = (trace.gpu_ops["kind"] == "kernel").to_numpy()
    assert (named.method[:7], found.method) == ("modules", "period")
    assert np.count_nonzero(named.op_layer[kernels] >= 0) > 500
    assert found.op_layer[kernels].tolist() == named.op_layer[kernels].tolist()


@needs_shared
def test_a_run_of_graph_launches_without_step_ranges() -> None:
    trace = api.open_trace(SHARED / "rpd" / "vllm_fp8_graph.rpd.gz")
    found = api.analyse(trace)
    assert (found.steps.method, found.steps.frame.height, found.layers.layers) == ("graph launches", 20, 32)
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap)
    attention = rows.filter(pl.col("kernel").str.contains("paged_attention_ll4mi_QKV")).row(0, named=True)
    assert (attention["calls_per_step"], attention["layers_hit"]) == (32.0, 32)


@needs_shared
def test_tokens_of_llama_cpp_begin_where_the_device_waited() -> None:
    trace = api.open_trace(SHARED / "rocprofv3_csv" / "llamacpp_decode_kernel_trace.csv")
    steps = find_steps(trace)
    firsts = [int(np.flatnonzero(steps.op_step == step)[0]) for step in range(steps.frame.height)]
    assert firsts == [24, 48, 72, 96, 120]
    assert steps.frame["kernels"].to_list() == [24] * 5
    assert steps.confidence == "low"


@needs_shared
def test_a_training_step_tells_of_its_backward_pass() -> None:
    steps = find_steps(real("mi250_train_stream0"))
    outside = next(c for c in steps.caveats if c.code == "ops_outside_steps")
    assert (outside.count, outside.severity) == (7, "warning")
    assert "7 launched by other threads while a step ran" in outside.text


@needs_shared
def test_orphans_are_told() -> None:
    outside = next(c for c in find_steps(real("mi300_qwen_eager")).caveats if c.code == "ops_outside_steps")
    assert (outside.count, outside.severity) == (463, "warning")
    assert "463 launched before the recording began" in outside.text


def truth_of(case: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SAMPLES / f"{case}.truth.json").read_text())
    return document


@cache
def sample(case: str, phase: str | None = None) -> Findings:
    return api.analyse(api.open_trace(SAMPLES / f"{case}.json.gz"), Scope(phase=phase))


@pytest.mark.parametrize("case", CASES)
def test_steps_of_the_samples(case: str) -> None:
    truth, steps = truth_of(case), sample(case).steps
    assert steps.frame.height == len(truth["steps"])
    late = late_copies(case)
    for row, known in zip(steps.frame.rows(named=True), truth["steps"], strict=True):
        assert row["name"] == known["annotation"]
        for key in ("step_index", "phase", "kernels", "interval_ns"):
            assert row[key] == known[key], key
        begin, end = late.get(row["step_index"], (row["end_ns"], row["end_ns"]))
        assert row["gpu_ops"] + (end > begin) == known["gpu_ops"]
        assert max(row["end_ns"], end) - row["start_ns"] == known["window_ns"]
        assert row["busy_ns"] + end - begin == known["busy_ns"]
    warm_up = {known["step_index"] for known in truth["steps"] if known["warm_up"]}
    assert set(steps.frame.filter(pl.col("why_out") == "outlier")["step_index"].to_list()) == warm_up


def late_copies(case: str) -> dict[int, tuple[int, int]]:
    """Copies enqueued after the annotation of their step had closed: they are in no step (the truth counts them)."""
    found = sample(case)
    ops = found.trace.gpu_ops.filter(pl.Series(found.steps.op_step < 0))
    assert set(ops["kind"].to_list()) <= {"memcpy"}
    step = found.steps.frame["start_ns"].search_sorted(ops["start_ns"], side="right") - 1
    return dict(zip(step.to_list(), zip(ops["start_ns"], ops["end_ns"], strict=True), strict=True))


def test_late_copies_are_told() -> None:
    assert {case: len(late_copies(case)) for case in CASES if late_copies(case)} == {"hybrid_once_per_step": 7}
    outside = next(c for c in sample("hybrid_once_per_step").steps.caveats if c.code == "ops_outside_steps")
    assert (outside.count, outside.severity) == (7, "note")


PHASES = [(case, row["phase"]) for case in CASES for row in truth_of(case)["medians"]]


@pytest.mark.parametrize(("case", "phase"), PHASES)
def test_medians_and_layers_of_the_samples(case: str, phase: str) -> None:
    truth, found = truth_of(case), sample(case, phase)
    known = next(row for row in truth["medians"] if row["phase"] == phase)
    used = found.steps.frame.filter(pl.col("used"))
    assert used.height == known["steps"]
    assert used["interval_ns"].median() == known["interval_ns"]
    if not late_copies(case):
        assert used["window_ns"].median() == known["window_ns"]
        assert used["busy_ns"].median() == known["busy_ns"]
    assert found.layers.layers == truth["layers"]


@pytest.mark.parametrize(("case", "phase"), PHASES)
def test_kernels_of_the_samples(case: str, phase: str) -> None:
    found, count = sample(case, phase), 0
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap)
    table = {row["kernel"]: row for row in rows.rows(named=True) if row["kind"] == "kernel"}
    for known in truth_of(case)["kernels"]:
        if known["phase"] != phase:
            continue
        row, count = table[known["name"]], count + 1
        for key in ("calls", "calls_per_step", "steps_hit", "median_ns", "min_ns", "max_ns"):
            assert row[key] == known[key], key
        assert row["ns_per_step"] * row["steps"] == pytest.approx(known["total_ns"], rel=1e-12)
        assert row["exposed_ns_per_step"] * row["steps"] == pytest.approx(known["exposed_ns"], rel=1e-12)
        assert row["layers_hit"] == known["layers_hit"]
    assert count == len(table)


@needs_shared
def test_a_recording_without_a_device_is_refused_in_words() -> None:
    from trace_budget.errors import InputError

    with pytest.raises((InputError, NotInTraceError), match="no_gpu"):
        api.analyse(real("no_gpu"))
