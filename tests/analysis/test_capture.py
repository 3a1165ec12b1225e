"""Names of replayed ops from a capture: hand-made graphs, misfits, and the real decode replay of 24 layers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from captures import KERNELS, capture_file
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.analysis.capture import capture_caveats, captured_names
from trace_budget.readers.kineto.graph_capture import read_capture
from trace_budget.schema import build
from trace_budget.schema.capture import CapturedNames
from trace_budget.schema.findings import Layers, Steps
from trace_budget.schema.trace import Trace

LAYERS = 4


def replay(layers: int, replays: int = 2, swapped: bool = False) -> tuple[Trace, Steps, Layers]:
    """Replays, one step each: an embedding, then layers of three kernels; `swapped` in another time order."""
    order = (1, 0, 2) if swapped else (0, 1, 2)
    names = ["embedding_kernel", *[KERNELS[place] for _ in range(layers) for place in order]] * replays
    size = 1 + 3 * layers
    start = np.arange(len(names)) * 10 + 1
    calls = build.calls(
        pl.DataFrame(
            {
                "name": ["hipGraphLaunch"] * replays,
                "start_ns": [1 + i * size * 10 for i in range(replays)],
                "end_ns": [5 + i * size * 10 for i in range(replays)],
                "correlation": list(range(replays)),
            }
        )
    )
    columns = {"kind": ["kernel"] * len(names), "name": names, "start_ns": start, "end_ns": start + 9}
    ops = build.gpu_ops(pl.DataFrame({**columns, "correlation": np.arange(len(names)) // size}), calls)
    step = (np.arange(len(names)) // size).astype(np.int32)
    inside = np.arange(len(names)) % size
    layer = np.where(inside == 0, -1, (inside - 1) // 3).astype(np.int32)
    position = np.where(inside == 0, -1, (inside - 1) % 3).astype(np.int32)
    frame = pl.DataFrame({"step_index": range(replays), "used": [True] * replays})
    steps = Steps(frame, step, None, "decode", "graph launches", "high")
    return Trace("replay.json", "kineto", ops, calls), steps, Layers(layer, position, layers, (), "period", "high")


def named(path: Path, layers: int = LAYERS, swapped: bool = False) -> CapturedNames:
    return captured_names(*replay(layers, swapped=swapped), read_capture(path))


def test_every_replayed_call_gets_the_names_of_its_launch(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", LAYERS))
    assert (found.named, found.replayed, found.method, found.why_not) == (26, 26, "names", "")
    rows = {row["op_id"]: row for row in found.names.to_dicts()}
    assert (rows[0]["module"], rows[0]["operator"], rows[0]["shapes"]) == (
        "Model_0",
        "aten::embedding",
        "[[32], [1000, 64]]",
    )
    assert rows[1 + 3 * 2 + 1]["module"] == "Model_0 > DecoderLayer_2"
    assert rows[1 + 3 * 2 + 1]["operator"] == "aten::linear"
    assert rows[1 + 3 * 2 + 2]["shapes"] == "[[32, 66]]"
    assert rows[13 + 6]["operator"] == rows[6]["operator"]


def test_the_order_of_the_replay_does_not_matter_while_names_tell(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", LAYERS), swapped=True)
    operators = found.names.sort("op_id")["operator"].to_list()
    assert operators[:4] == ["aten::embedding", "aten::linear", "aten::rms_norm", "vllm::attention"]


def test_what_is_called_once_a_layer_is_checked_against_the_layers_of_the_replay(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", LAYERS))
    assert found.modules_tell
    assert all((hit, of) == (LAYERS, LAYERS) for _, hit, of in found.layers_by)
    assert "DecoderLayer" in [mark for mark, _, _ in found.layers_by]


def test_a_compiled_model_is_numbered_by_the_replay_and_says_so(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", LAYERS, modules=False))
    modules = found.names.sort("op_id")["module"].to_list()
    assert modules[:4] == [None, "layer 0", "layer 0", "layer 0"]
    assert modules[12] == "layer 3"
    assert "layers_numbered_by_order" in [c.code for c in capture_caveats(found)]


def test_a_capture_without_kernel_names_pairs_by_order_when_it_is_as_long(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", LAYERS, named=False))
    assert (found.method, found.named) == ("count", 26)
    assert found.names.sort("op_id")["operator"].to_list()[3] == "vllm::attention"
    assert capture_caveats(found)[0].severity == "warning"


@pytest.mark.parametrize("with_names", [True, False])
def test_a_capture_of_another_graph_names_nothing_and_says_why(tmp_path: Path, with_names: bool) -> None:
    path = capture_file(tmp_path / "a.json", LAYERS + 2, named=with_names)
    found = named(path)
    assert (found.names.is_empty(), found.named, found.replayed) == (True, 0, 26)
    assert "launches 19 operations, a replay runs 13" in found.why_not
    (caveat,) = capture_caveats(found)
    assert (caveat.code, caveat.severity) == ("capture_does_not_fit", "warning")


def test_of_several_captures_the_one_that_fits_is_taken(tmp_path: Path) -> None:
    found = named(capture_file(tmp_path / "a.json", 9, extra_size=LAYERS))
    assert (found.label, found.named) == ("capture_other_4", 26)


def test_eager_steps_need_no_capture(tmp_path: Path) -> None:
    trace, steps, layers = replay(LAYERS)
    eager = Trace(trace.path, trace.format, trace.gpu_ops, trace.calls.clear())
    found = captured_names(eager, steps, layers, read_capture(capture_file(tmp_path / "a.json", LAYERS)))
    assert "no graph replay" in found.why_not


@needs_shared
def test_the_real_sidecar_names_all_24_layers_of_the_decode_replay() -> None:
    capture = SHARED / "kineto" / "vllm_graph_capture_sidecar.json.gz"
    trace = api.open_trace(SHARED / "kineto" / "vllm_decode_full_graph.json.gz")
    found = api.analyse(trace)
    names = captured_names(trace, found.steps, found.layers, read_capture(capture))
    assert (names.named, names.replayed, names.method) == (421, 421, "names")
    assert all((hit, of) == (24, 24) for _, hit, of in names.layers_by)
    assert not names.modules_tell
    last = names.names["module"].str.extract(r"GptOssForCausalLM_0 > layer (\d+)$", 1)
    assert sorted(set(last.drop_nulls().cast(pl.Int64))) == list(range(24))
    ops = trace.gpu_ops.join(names.names, on="op_id").with_columns(pl.col("name").cast(pl.String))
    experts = ops.filter(pl.col("name").str.ends_with("_swiglu"))
    assert Counter(experts["operator"]) == {"vllm::moe_forward": 24}
    attention = ops.filter(pl.col("name").str.starts_with("kernel_unified_attention"))
    assert Counter(attention["operator"]) == {"vllm::unified_attention_with_output": 24}
    assert attention["shapes"].str.starts_with("[[32, 64, 64], [32, 8, 64]").all()


@needs_shared
def test_the_real_sidecar_does_not_fit_another_model() -> None:
    capture = read_capture(SHARED / "kineto" / "vllm_graph_capture_sidecar.json.gz")
    trace = api.open_trace(SHARED / "kineto" / "sglang_decode_full_graph.json.gz")
    found = api.analyse(trace)
    names = captured_names(trace, found.steps, found.layers, capture)
    assert (names.named, names.replayed) == (0, 544)
    assert "launches 421 operations, a replay runs 544" in names.why_not
