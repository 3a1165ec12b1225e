"""The command `layers`: names of replayed kernels only when a capture is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.fakes import FakeApi
from shared_traces import SHARED, needs_shared

TRACE = SHARED / "kineto" / "vllm_decode_full_graph.json.gz"
CAPTURE = SHARED / "kineto" / "vllm_graph_capture_sidecar.json.gz"
Run = Callable[..., Any]


def test_the_capture_reaches_the_core(run: Run, api: FakeApi) -> None:
    assert run("layers", "a.json", "--capture", "side.json").code == 0
    assert api.asked["layers"]["capture"] == Path("side.json")


@needs_shared
def test_operators_are_shown_only_when_a_capture_is_given(run: Run) -> None:
    plain, named = run("layers", TRACE), run("layers", TRACE, "--capture", CAPTURE)
    assert (plain.code, named.code) == (0, 0)
    assert b"vllm::moe_forward" not in plain.out
    assert b"vllm::moe_forward" in named.out


@needs_shared
def test_a_trace_that_captured_nothing_is_no_capture(run: Run) -> None:
    done = run("layers", TRACE, "--capture", TRACE)
    assert done.code == 3
    assert "no graph capture in this file" in done.line
