"""What the drawn figures hold, read back from the page, against the JSON of `project` and the truth of the sample."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trace_budget as tb
from browser.chromium import Browser
from browser.pages import SEED
from trace_budget import api
from trace_budget.render import as_json
from trace_budget.schema.options import Change, Selection

Page = Callable[[str], Path]
SAVING_US = 3.228


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """The document that `project --format json` prints."""
    report = tb.project(api.open_trace(SEED), Selection("gdn_fused"), Change(saving_us=SAVING_US))
    document: dict[str, Any] = json.loads(as_json.render(report))
    return document


@pytest.fixture
def drawn(chromium: Browser, page: Page) -> Callable[[str], list[dict[str, Any]]]:
    """The traces of a figure as Plotly holds them after drawing."""
    chromium.open(page("seed"))

    def data(key: str) -> list[dict[str, Any]]:
        traces: list[dict[str, Any]] = chromium.run("return document.getElementById(arguments[0] + '-plot').data", key)
        return traces

    return data


Drawn = Callable[[str], list[dict[str, Any]]]


def named(traces: list[dict[str, Any]], start: str) -> dict[str, Any]:
    """The one trace whose name starts so."""
    (found,) = [trace for trace in traces if trace.get("name", "").startswith(start)]
    return found


def test_the_page_holds_the_document_of_project(chromium: Browser, page: Page, answer: dict[str, Any]) -> None:
    chromium.open(page("seed"))
    held = json.loads(chromium.run("return document.getElementById('answer').textContent"))
    assert set(held) == set(answer)
    assert held["verdict"] == answer["verdict"] == "NO-GO"
    for key in ("pct", "required", "detect"):
        assert held[key] == pytest.approx(answer[key], rel=1e-5)


def test_verdict_and_arithmetic_stand_on_top(chromium: Browser, page: Page, answer: dict[str, Any]) -> None:
    chromium.open(page("seed"))
    lines = chromium.run("return [...document.querySelectorAll('header > *')].slice(0, 6).map(e => e.textContent)")
    assert lines[0] == "gdn_fused"
    assert lines[1] == f"{answer['verdict']}: {answer['why']}"
    assert any(line.startswith("3.228 us a call x 48 calls") for line in lines)


def test_the_curve_is_the_projection_at_every_saving(drawn: Drawn, answer: dict[str, Any]) -> None:
    traces = drawn("curve")
    stated = named(traces, "the candidate")
    assert stated["x"] == pytest.approx([SAVING_US])
    assert stated["y"] == pytest.approx([answer["pct"]["expected"]], abs=1e-4)
    assert stated["error_y"]["array"] == pytest.approx([answer["pct"]["high"] - answer["pct"]["expected"]], abs=1e-4)
    assert named(traces, "target")["y"] == [answer["required"]["target_pct"]] * 2
    assert named(traces, "ceiling")["y"] == pytest.approx([answer["pct"]["ceiling"]] * 2, abs=1e-4)
    assert named(traces, "noise")["y"] == pytest.approx([answer["detect"]["mde_pct"]] * 2, abs=1e-4)
    expected = named(traces, "expected")
    # One stream, back to back: every us saved on each of 48 calls reaches the step, up to the shortest call.
    slope = 100 * 48 / answer["token"]["token_us"]
    for us, pct in zip(expected["x"], expected["y"], strict=True):
        assert pct == pytest.approx(us * slope, abs=0.01) or us > 19.5
    assert expected["x"][0] == 0
    assert expected["x"][-1] == pytest.approx(answer["required"]["ceiling_us_per_call"], abs=1e-4)


def test_the_strip_holds_each_call_once_before_and_after(drawn: Drawn, answer: dict[str, Any]) -> None:
    matched = named(drawn("strip"), "gdn_fused")
    before = [width for row, width in zip(matched["y"], matched["x"], strict=True) if row == 0]
    after = [width for row, width in zip(matched["y"], matched["x"], strict=True) if row == 2]
    assert len(before) == len(after) == answer["matched"]["calls_per_step"] == 48
    assert sum(before) - sum(after) == pytest.approx(48 * SAVING_US, abs=0.2)
    assert sum(before) == pytest.approx(answer["matched"]["us_per_step"], rel=0.02)
    ends = named(drawn("strip"), "idle")["x"]
    assert ends[0] - ends[2] == pytest.approx(answer["saving_us_per_step"]["expected"], abs=0.5)
    assert set(matched["text"]) == {"gdn_fused"}


def test_the_layer_map_shows_48_of_64_layers(drawn: Drawn) -> None:
    (cells,) = drawn("layers")
    rows = [place for place, texts in enumerate(cells["text"]) if texts[0] == "gdn_fused"]
    (row,) = rows
    hit = [value for value in cells["z"][row] if value is not None]
    assert (len(hit), len(cells["z"][row])) == (48, 64)
    assert 10 ** (sum(hit) / len(hit)) == pytest.approx(20.27, rel=0.02)


def test_kernel_bars_add_up_to_all_kernel_time(drawn: Drawn, answer: dict[str, Any]) -> None:
    bars, shade = named(drawn("kernels"), "us per step"), named(drawn("kernels"), "cumulative")
    assert sum(bars["x"]) == pytest.approx(answer["token"]["busy_us"], rel=0.01)
    assert shade["x"][-1] == pytest.approx(100)
    assert bars["x"][bars["text"].index("gdn_fused")] == pytest.approx(answer["matched"]["us_per_step"], rel=1e-6)
    assert bars["x"][:-1] == sorted(bars["x"][:-1], reverse=True)


def test_durations_count_every_call_and_mark_the_median(drawn: Drawn, answer: dict[str, Any]) -> None:
    traces = drawn("durations")
    assert sum(named(traces, "gdn_fused")["y"]) == answer["matched"]["calls"]
    lines = [trace for trace in traces if trace["name"].startswith("median today")]
    assert 10 ** lines[0]["x"][0] == pytest.approx(answer["matched"]["dur_us"]["median"], rel=1e-4)
    new = [trace for trace in traces if trace["name"].startswith("with the candidate")]
    assert 10 ** new[0]["x"][0] == pytest.approx(answer["matched"]["dur_us"]["median"] - SAVING_US, rel=1e-4)
    assert any(trace["name"].startswith("dispatch floor") for trace in traces)


def test_steps_hold_the_median_and_what_was_left_out(drawn: Drawn, answer: dict[str, Any]) -> None:
    traces = drawn("steps")
    counted, outside = named(traces, "counted"), named(traces, "left out")
    assert named(traces, "median")["y"] == pytest.approx([answer["token"]["step_us"] / 1000] * 2, rel=1e-6)
    assert {*counted["x"], *outside["x"]} <= set(range(6))
    assert all(math.isfinite(value) for value in (*counted["y"], *outside["y"]))


def test_the_waterfall_ends_at_what_all_save_together(chromium: Browser, page: Page) -> None:
    chromium.open(page("candidates"))
    (bars,) = chromium.run("return document.getElementById('waterfall-plot').data")
    *alone, rest, together = bars["x"]
    assert sum(alone) + rest == pytest.approx(together, abs=0.01)
    assert bars["base"][1:4] == pytest.approx([alone[0], alone[0] + alone[1], sum(alone)], abs=0.01)
    joint = json.loads(chromium.run("return document.getElementById('answer').textContent"))["joint"]
    assert together == pytest.approx(joint["saving_us_per_token"]["expected"], abs=0.01)
    assert [place for place, shape in enumerate(bars["marker"]["pattern"]["shape"]) if shape] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("name", "counted"), [("many_steps", 100), ("long_steps", 2)])
def test_very_many_kernels_are_counted_in_full(chromium: Browser, page: Page, name: str, counted: int) -> None:
    chromium.open(page(name))
    durations = chromium.run("return document.getElementById('durations-plot').data.slice(0, 2).map(t => t.y)")
    total = sum(map(sum, durations))
    answer = json.loads(chromium.run("return document.getElementById('answer').textContent"))
    assert total == {"many_steps": 100_000, "long_steps": 10_000}[name]
    assert answer["token"]["steps"] == counted
    strip = chromium.run("return document.getElementById('strip-plot').data")
    assert sum(sum(trace["customdata"]) for trace in strip[1:]) == 2 * total / counted
    text = chromium.run("return document.getElementById('strip-text').textContent")
    merged = sum(len(trace["y"]) for trace in strip[1:]) < 2 * total / counted
    assert merged == (total / counted > 3_000) == ("merged" in text)
