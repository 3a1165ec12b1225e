"""Printed figures against the truth of the sample's program and the founding cases, worked out independently."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
TRUTH = json.loads((TRACE.parent / "gdn_decode_gfx936.truth.json").read_text())
STEPS = 5
STEP_US = 44_000.0

Run = Callable[..., Any]


def document(run: Run, *arguments: object) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(run(*arguments, "--format", "json").out)
    return loaded


def test_kernels_are_those_of_the_program(run: Run) -> None:
    rows = {row["kernel"]: row for row in document(run, "kernels", TRACE)["rows"] if row["kind"] == "kernel"}
    assert set(rows) == {kernel["name"] for kernel in TRUTH["kernels"]}
    for kernel in TRUTH["kernels"]:
        row = rows[kernel["name"]]
        assert row["calls_per_step"] == kernel["calls_per_step"]
        assert row["layers_hit"] == kernel["layers_hit"] or kernel["calls_per_step"] == 1
        assert row["median_us"] == pytest.approx(kernel["median_ns"] / 1000)
        assert row["mean_us"] == pytest.approx(kernel["total_ns"] / kernel["calls"] / 1000)
        assert (row["min_us"], row["max_us"]) == (kernel["min_ns"] / 1000, kernel["max_ns"] / 1000)
        assert row["us_per_step"] == pytest.approx(kernel["total_ns"] / STEPS / 1000)
        assert row["exposed_us_per_step"] == pytest.approx(kernel["exposed_ns"] / STEPS / 1000)


def test_steps_are_those_of_the_program(run: Run) -> None:
    rows = document(run, "steps", TRACE)["rows"]
    assert len(rows) == len(TRUTH["steps"])
    for row, step in zip(rows, TRUTH["steps"], strict=True):
        assert (row["phase"], row["gpu_ops"], row["kernels"]) == (step["phase"], step["gpu_ops"], step["kernels"])
        assert row["window_us"] == step["window_ns"] / 1000
        assert row["busy_us"] == step["busy_ns"] / 1000
        assert row["interval_us"] == (None if step["interval_ns"] is None else step["interval_ns"] / 1000)


@pytest.mark.parametrize(
    ("options", "saved_us", "calls"),
    [
        ("--kernel gdr_split --saving-us 3.1084", 3.1084, 48),
        ("--kernel gdn_fused --saving-us 3.228", 3.228, 48),
        ("--kernel gdn_out_proj --proxy-us 53.28", 55.04 - 53.28, 48),
    ],
)
def test_the_founding_cases_stay_below_one_percent(run: Run, options: str, saved_us: float, calls: int) -> None:
    answer = document(run, "project", TRACE, *options.split())
    per_step = saved_us * calls
    assert answer["matched"]["calls_per_step"] == calls
    assert answer["token"]["token_us"] == pytest.approx(STEP_US)
    assert answer["saving_us_per_step"]["naive"] == pytest.approx(per_step, rel=1e-3)
    assert answer["pct"]["naive"] == pytest.approx(100 * per_step / STEP_US, rel=1e-3)
    assert 0 <= answer["saving_us_per_step"]["low"] <= answer["saving_us_per_step"]["expected"]
    assert answer["saving_us_per_step"]["expected"] <= answer["saving_us_per_step"]["high"] <= per_step * 1.001
    assert answer["required"]["us_per_call"] == pytest.approx(0.01 * STEP_US / calls, rel=1e-3)
    assert answer["verdict"] == "NO-GO"


def test_the_heavier_layout_is_refused_as_another_kernel(run: Run) -> None:
    options = ["--kernel", "gdn_fused", "--new-us", "14.0568", "--baseline-us", "40.6752"]
    answer = document(run, "project", TRACE, *options)
    assert answer["verdict"] == "INVALID"


def test_estimate_is_the_product_and_its_inverse(run: Run) -> None:
    answer = document(run, "estimate", *["--saving-us", "3.1084", "--calls", "48", "--token-ms", "44"])
    assert answer["saving_us_per_token"] == pytest.approx(149.2032)
    assert answer["pct"] == pytest.approx(0.33910, abs=5e-6)
    assert answer["required_us_per_call"] == pytest.approx(9.1667, abs=5e-5)
