"""Kernels named after the range around them are told and never projected on; kernels of several shapes are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_traces.make import rocprofv3_text

import same_run as run
from trace_budget import Change, Selection, open_trace, project
from trace_budget.errors import NotInTraceError
from trace_budget.schema.trace import Trace

NAMES = tuple(dict.fromkeys(op.name for op in run.RUN.ops if op.kernel))
LAYER = NAMES[:5]


def renamed(folder: Path, names: dict[str, str], ranges: str = "") -> Trace:
    (folder / "out_kernel_trace.csv").write_text(rocprofv3_text.kernel_trace(run.RUN, names))
    if ranges:
        (folder / "out_marker_api_trace.csv").write_text(ranges)
    return open_trace(folder / "out_kernel_trace.csv")


def codes(trace: Trace) -> set[str]:
    return {caveat.code for caveat in trace.caveats}


@pytest.mark.parametrize(
    "text", ["decoder layer forward", "layer", "model.layers.3", "execute_context_0(0)_generation_1(1)"]
)
def test_a_layer_under_one_name(tmp_path: Path, text: str) -> None:
    trace = renamed(tmp_path, dict.fromkeys(LAYER, text))
    assert "kernels_renamed" in codes(trace)
    assert f"<in {text}>" in trace.gpu_ops["name"].cast(str).to_list()
    with pytest.raises(NotInTraceError, match="without a name of their own"):
        project(trace, Selection(text), Change(saving_us=1.0))
    assert project(trace, Selection(NAMES[5]), Change(saving_us=1.0)).document["verdict"] != "INVALID"


def test_one_kernel_under_the_text_of_its_range(tmp_path: Path) -> None:
    ranges = rocprofv3_text.marker_api_trace(run.RUN).replace("execute_context_0(0)_generation_1(1)", "mlp")
    assert "kernels_renamed" in codes(renamed(tmp_path, {NAMES[1]: "mlp"}, ranges))
    inductor = rocprofv3_text.marker_api_trace(run.RUN).replace("execute_context_0(0)_generation_1(1)", "triton_poi_0")
    assert "kernels_renamed" not in codes(renamed(tmp_path, {NAMES[1]: "triton_poi_0"}, inductor))


def test_one_kernel_at_several_places_keeps_its_name(tmp_path: Path) -> None:
    """Two products of a layer by one kernel of two grids, and the last of a layer beside the first of the next."""
    for pair in ((NAMES[1], NAMES[3]), (NAMES[4], NAMES[0])):
        trace = renamed(tmp_path, dict.fromkeys(pair, "gemm"))
        assert "kernels_renamed" not in codes(trace)
        assert trace.gpu_ops["name"].cast(str).to_list().count("gemm") == 24
