"""`project --bench`: times of a file stand in for --new-us and --baseline-us, with what must be known of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.fakes import FakeApi
from trace_budget.asking import one_candidate
from trace_budget.schema.options import Change

Run = Callable[..., Any]
TIMES = "name,us\ngdn_old,20.27239\ngdn_new,17.04439\n"
SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
PROJECT = ("project", "t.json", "--kernel", "gdn_fused", "--bench", "times.csv")


@pytest.fixture(autouse=True)
def times(tmp_path: Path) -> Path:
    path = tmp_path / "times.csv"
    path.write_text(TIMES, encoding="utf-8")
    return path


def change_of(api: FakeApi) -> Change:
    """The change that was asked about, with the times of its file."""
    asked = api.asked["project"]
    return one_candidate(asked["selection"], asked["change"], asked["bench"]).candidate.change


def test_times_of_a_file_become_new_and_baseline(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--bench-old", "gdn_old", "--bench-new", "gdn_new", "--overhead-us", "1").code == 0
    assert change_of(api) == Change(new_us=17.04439, baseline_us=20.27239, overhead_us=1.0)


def test_without_an_old_kernel_there_is_no_control(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--bench-new", "gdn_new").code == 0
    assert change_of(api) == Change(new_us=17.04439)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--bench-new"),
        (("--bench-new", "gdn_new", "--saving-us", "3"), "--bench gives the times itself"),
        (("--bench-new", "gdn_new", "--free"), "--bench gives the times itself"),
        (("--bench-new", "gdn_new", "--baseline-us", "20"), "--bench gives the times itself"),
        (("--bench-new", "gdn"), "several benchmarks"),
        (("--bench-new", "gdn_new", "--unit", "ms"), "says its unit"),
        (("--bench-new", "gdn_new", "--extra-bytes", "8"), "--bandwidth-gbps"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(run: Run, api: FakeApi, words: tuple[str, ...], says: str) -> None:
    told = run(*PROJECT, *words)
    assert told.code == 2
    assert says in told.line


@pytest.mark.parametrize("value", ["nan", "inf", "-5", "0"])
def test_what_is_no_time_is_refused_with_the_file_and_the_name(run: Run, api: FakeApi, times: Path, value: str) -> None:
    times.write_text(f"name,us\nold,20.27\nnew,{value}\n", encoding="utf-8")
    told = run(*PROJECT, "--bench-old", "old", "--bench-new", "new")
    assert told.code == 3
    assert "times.csv: the time of 'new' is not a finite number above 0" in told.line
    assert f"found {value} us" in told.line


def test_options_of_the_file_need_the_file(run: Run, api: FakeApi) -> None:
    told = run("project", "t.json", "--kernel", "gdn_fused", "--saving-us", "3", "--unit", "us")
    assert (told.code, "go with --bench" in told.line) == (2, True)


def test_the_answer_says_what_standalone_times_leave_out(run: Run) -> None:
    words = ("--bench-old", "gdn_old", "--bench-new", "gdn_new", "--format", "json")
    told = run("project", str(SAMPLE), *PROJECT[2:], *words)
    assert told.code == 0
    document = json.loads(told.out)
    assert document["saving_us_per_call"]["expected"] == pytest.approx(3.228, abs=1e-3)
    assert document["saving_us_per_call"]["kappa"] == pytest.approx(1.0, abs=1e-3)
    codes = {caveat["code"] for caveat in document["caveats"]}
    assert {"warm_benchmark", "untraced_benchmark"} <= codes
