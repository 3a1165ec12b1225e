"""`layers --capture`: names beside the rows, or none and the reason."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import trace_budget as tb
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.render import as_csv, as_json
from trace_budget.schema.report import Report

CAPTURE = SHARED / "kineto" / "vllm_graph_capture_sidecar.json.gz"


def layers_of(name: str) -> Report:
    return tb.layers(api.open_trace(SHARED / "kineto" / name), capture=CAPTURE)


def document(report: Report) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(as_json.render(report))
    return loaded


@needs_shared
def test_every_row_of_the_layer_map_is_named() -> None:
    report = layers_of("vllm_decode_full_graph.json.gz")
    answer = document(report)
    assert answer["capture"]["named"] == answer["capture"]["replayed"] == 421
    assert {row["module"] for row in answer["rows"]} == {f"GptOssForCausalLM_0 > layer {n}" for n in range(24)}
    assert all(row["operator"] for row in answer["rows"])
    sites = {row["kernel"]: row for row in answer["sites"]}
    assert sites["_topk_forward"]["operator"] == "vllm::moe_forward > TopK"
    rows = list(csv.DictReader(io.StringIO(as_csv.render(report).decode())))
    assert {"module", "operator", "shapes"} <= set(rows[0])
    assert len(rows) == len(answer["rows"])


@needs_shared
def test_a_capture_that_does_not_fit_leaves_rows_unnamed() -> None:
    answer = document(layers_of("sglang_decode_full_graph.json.gz"))
    assert {row["operator"] for row in answer["rows"]} == {None}
    assert "none of its captures fits" in answer["capture"]["why_not"]
    assert "capture_does_not_fit" in [caveat["code"] for caveat in answer["caveats"]]
    assert answer["layers"] == 36
