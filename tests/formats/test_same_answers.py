"""One run in every format gives the same answers: kernels, steps, layers and projection, worked out by hand.

Three steps of 1 ms: a copy, then 4 layers of 5 kernels and a head, back to back. What a format cannot hold is listed in
LOSSES and asserted, so that nothing else can go missing unseen.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from sample_traces.make import run_description as described

from formats.answers import KERNEL, ONE_EACH, QUESTIONS, SAME_RUN, SAMPLES, SAVING_US, about, ask, said

# no copies, no calls, no ranges; calls that are not linked to kernels; no ranges alone; whole microseconds
BARE, UNLINKED, NO_RANGES, WHOLE_US = "device work alone", "calls without links", "no ranges", "whole us"
WITH_COPIES = "device work alone, copies too"
LOSSES = {
    "rocprof_v1_csv/old_registers.csv": BARE,
    "rocprof_v1_csv/same_run.csv": BARE,
    "rocprof_v1_csv/timestamp_only.csv": BARE,
    "rocprof_v1_json/same_run.json": UNLINKED,
    "rocprofv2_csv/hcc_ops_trace_4242.csv": NO_RANGES,
    "rocprofv2_csv/results_4242.csv": BARE,
    "rocprofv3_csv/rocm62_kernel_trace.csv": BARE,
    "rpd_json/same_run.json": WHOLE_US,
    "plain_table/same_run.csv": WITH_COPIES,
    "plain_table/same_run.jsonl": WITH_COPIES,
}
METHODS = {
    None: ("annotations", "high"),
    BARE: ("once-per-step kernel lm_head_gemm_kernel", "medium"),
    WITH_COPIES: ("once-per-step kernel lm_head_gemm_kernel", "medium"),
    UNLINKED: ("annotations by time", "low"),
    NO_RANGES: ("graph launches", "high"),
    WHOLE_US: ("annotations", "high"),
}
LAYER_NS = {kernel.name: kernel.duration_ns for kernel in described.LAYER_KERNELS}
HEAD = described.HEAD_KERNEL.name
SUFFIXES = (" [clone .kd]", ".kd")


def plain(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def rows_of(name: str, command: str) -> dict[str, dict[str, Any]]:
    """Rows by kernel, copies left out."""
    rows = about(name, command).document["rows"]
    return {plain(row["kernel"]): row for row in rows if row.get("kind", "kernel") == "kernel"}


def median_us(kernel: str, losses: str | None) -> float:
    """The attention kernel grows by 7 ns a step, so its median is that of the second step."""
    ns = described.HEAD_KERNEL.duration_ns if kernel == HEAD else LAYER_NS[kernel] + 7 * (kernel == KERNEL)
    return ns // 1000 if losses == WHOLE_US else ns / 1000


@pytest.mark.parametrize("name", SAME_RUN)
def test_kernels(name: str) -> None:
    rows = rows_of(name, "kernels")
    assert set(rows) == {*LAYER_NS, HEAD}
    for kernel, row in rows.items():
        calls = 1 if kernel == HEAD else 4
        assert (row["calls_per_step"], row["calls"], row["steps_hit"]) == (calls, 3 * calls, 3)
        assert row["layers_hit"] == (0 if kernel == HEAD else 4)
        assert row["median_us"] == pytest.approx(median_us(kernel, LOSSES.get(name)))
        # nothing else runs beside them
        assert row["exposed_us_per_step"] == pytest.approx(row["us_per_step"])


@pytest.mark.parametrize("name", SAME_RUN)
def test_steps_and_how_they_are_found(name: str) -> None:
    losses = LOSSES.get(name)
    document = about(name, "steps").document
    method, confidence = METHODS[losses]
    assert (plain(document["method"]), document["confidence"]) == (method, confidence)
    assert document["phase"] == ("other" if losses in (BARE, WITH_COPIES, NO_RANGES) else "decode")
    assert document["step_us"] == 1000
    assert [row["kernels"] for row in document["rows"]] == [21, 21, 21]
    assert [row["interval_us"] for row in document["rows"]] == [1000, 1000, None]
    kernels_us = (4 * sum(LAYER_NS.values()) + described.HEAD_KERNEL.duration_ns) / 1000
    if losses == BARE:
        assert [row["gpu_ops"] for row in document["rows"]] == [21, 21, 21]
        windows = [kernels_us + 4 * 7 * step / 1000 for step in range(3)]
        assert [row["window_us"] for row in document["rows"]] == pytest.approx(windows)
    elif losses in (None, UNLINKED, WITH_COPIES):
        # the copy begins 4 us before the first kernel
        windows = [4 + kernels_us + 4 * 7 * step / 1000 for step in range(3)]
        assert [row["window_us"] for row in document["rows"]] == pytest.approx(windows)
        assert [row["gpu_ops"] for row in document["rows"]] == [22, 22, 22]


@pytest.mark.parametrize("name", SAME_RUN)
def test_layers(name: str) -> None:
    document = about(name, "layers").document
    assert (document["layers"], document["method"], document["confidence"]) == (4, "period", "high")
    sites = {plain(site["kernel"]): site for site in document["sites"] if site["position"] >= 0}
    assert set(sites) == set(LAYER_NS)
    assert {site["layers_hit"] for site in sites.values()} == {4}
    positions = [kernel for kernel, _ in sorted(sites.items(), key=lambda item: item[1]["position"])]
    begin = positions.index(described.LAYER_KERNELS[0].name)
    assert positions[begin:] + positions[:begin] == list(LAYER_NS)


@pytest.mark.parametrize("name", SAME_RUN)
def test_projection(name: str) -> None:
    losses = LOSSES.get(name)
    document = about(name, "project").document
    matched, token = document["matched"], document["token"]
    assert (plain(matched["kernel"]), matched["calls_per_step"], matched["layers_hit"]) == (KERNEL, 4, 4)
    assert (token["token_us"], token["measure"]) == (1000, "interval")
    saved = 4 * SAVING_US
    assert document["pct"]["naive"] == document["pct"]["high"] == pytest.approx(saved / 1000 * 100)
    assert document["saving_us_per_step"]["expected"] == pytest.approx(saved)
    # Without calls and links nothing proves that the host does not set the pace; with them both sides are seen to do
    # nothing for most of the step, so that something outside of the recording sets it.
    host_unknown = losses in (BARE, WITH_COPIES, UNLINKED)
    assert document["saving_us_per_step"]["low"] == 0
    grades = {key: answer["grade"] for key, answer in document["evidence"].items()}
    confidence = METHODS[losses][1]
    assert grades["Q2"] == {"high": "A", "medium": "B", "low": "D"}[confidence]
    assert grades["Q5"] == ("D" if host_unknown else "C")
    assert document["pace"] == ("unknown" if host_unknown else "outside")
    assert document["required"]["us_per_call"] == pytest.approx(1000 * 0.01 / 4)
    assert (document["verdict"], document["reason"]) == (
        "MARGINAL", "host_invisible" if host_unknown else "bound_gap",
    )  # fmt: skip


@pytest.mark.parametrize("name", SAME_RUN)
def test_thresholds(name: str) -> None:
    rows = rows_of(name, "threshold")
    for kernel, row in rows.items():
        calls = 1 if kernel == HEAD else 4
        assert row["required_us_per_call"] == pytest.approx(1000 * 0.01 / calls)
        assert row["attainable"] == (median_us(kernel, LOSSES.get(name)) >= 1000 * 0.01 / calls)


@pytest.mark.parametrize("name", SAME_RUN)
def test_what_a_format_cannot_tell_is_told(name: str) -> None:
    losses = LOSSES.get(name)
    document = about(name, "check").document
    codes = {finding["code"] for finding in document["findings"]}
    assert document["trust"] == "usable"
    # the device waits two thirds of every step, in all formats
    assert "mostly_idle" in codes
    told = {BARE: "no_calls", WITH_COPIES: "no_calls", UNLINKED: "launches_unknown", WHOLE_US: "coarse_times"}
    for code in set(told.values()):
        assert (code in codes) == (told.get(losses) == code)


FILES = [name for name in SAME_RUN if not (SAMPLES / name).is_dir()]
BESIDE = ("beside", "same_run_kernel_trace", "of_rocpd", "hcc_ops")  # read together with other files
ALONE = [name for name in FILES if not any(part in name for part in BESIDE)]


@pytest.mark.parametrize("name", FILES)
def test_a_name_tells_nothing(name: str, tmp_path: Path) -> None:
    """Renamed, a file gives what it gave; only what lay beside it under its name is gone."""
    unknown = tmp_path / "unknown"
    shutil.copyfile(SAMPLES / name, unknown)
    answers = {command: ask(command, str(unknown), *QUESTIONS[command]) for command in ("kernels", "project")}
    assert {answer.code for answer in answers.values()} == {0}
    kernels = answers["kernels"].document
    assert kernels["trace"]["format"] == about(name, "kernels").document["trace"]["format"]
    if name in ALONE:
        assert kernels["rows"] == about(name, "kernels").document["rows"]
        assert answers["project"].document["pct"] == about(name, "project").document["pct"]
    else:
        assert {row["calls_per_step"] for row in kernels["rows"] if row["kind"] == "kernel"} == {1, 4}


@pytest.mark.parametrize("name", [name for name in ONE_EACH if name in FILES])
def test_packed_files_give_the_same(name: str, tmp_path: Path) -> None:
    data = (SAMPLES / name).read_bytes()
    packed = {"gzip": gzip.compress(data, mtime=0), "zstd": zstandard.compress(data)}
    for kind, content in packed.items():
        path = tmp_path / f"{kind}.packed"
        path.write_bytes(content)
        rows = ask("kernels", str(path)).document["rows"]
        assert {row["calls_per_step"] for row in rows if row["kind"] == "kernel"} == {1, 4}
        if name in ALONE:
            assert rows == about(name, "kernels").document["rows"]


@pytest.mark.parametrize("name", ONE_EACH)
def test_the_format_can_be_named(name: str) -> None:
    told = about(name, "kernels").document
    named = about(name, "kernels", "--from", told["trace"]["format"]).document
    assert named == told


def test_the_run_survives_ingestion(tmp_path: Path) -> None:
    """The tables of our own format hold all that was read."""
    source, out = SAMPLES / "rocpd/same_run.db", tmp_path / "out"
    assert said("ingest", str(source), "-o", str(out), "--quiet").code == 0
    for command in ("kernels", "steps", "project"):
        again, before = (ask(command, str(place), *QUESTIONS[command]).document for place in (out, source))
        assert {k: v for k, v in again.items() if k != "trace"} == {k: v for k, v in before.items() if k != "trace"}
