"""The Kineto samples are what their generator makes, and hold what their truth says: read here with the json module."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zlib
from collections import defaultdict
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from shared_traces import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
HEALTHY = (
    "gdn_decode_gfx936",
    "cuda_two_streams_pdl",
    "hybrid_once_per_step",
    "integer_us_epoch",
    "decimal_us_epoch",
    "list_root",
)
GPU = ("kernel", "gpu_memcpy")
Event = dict[str, Any]


def events_of(path: Path) -> list[Event]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    document = json.loads(text, parse_float=Decimal)
    events: list[Event] = document if isinstance(document, list) else document["traceEvents"]
    return events


@cache
def case_events(case: str) -> tuple[Event, ...]:
    return tuple(events_of(SAMPLES / "kineto" / f"{case}.json.gz"))


def truth_of(case: str, folder: str = "kineto") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SAMPLES / folder / f"{case}.truth.json").read_text())
    return document


def ns(us: object) -> int:
    value = Decimal(str(us)) * 1000
    assert value == int(value)
    return int(value)


def start_end(event: Event) -> tuple[int, int]:
    start = ns(event["ts"])
    return start, start + ns(event["dur"])


@cache
def ops_by_step(case: str) -> dict[int, list[Event]]:
    """Device ops of each step, by the annotation around the host call with the op's correlation."""
    events = case_events(case)
    steps = sorted(start_end(e) for e in events if e.get("cat") == "user_annotation")
    called = {
        e["args"]["correlation"]: start_end(e)[0]
        for e in events
        if e.get("cat") == "cuda_runtime" and re.search("Launch|Memcpy", e["name"])
    }
    found: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.get("cat") in GPU:
            at = called[event["args"]["correlation"]]
            # The copy of the tokens may be enqueued just after the annotation closed: it belongs to the step before.
            found[max(i for i, (start, _) in enumerate(steps) if start <= at)].append(event)
    return found


def union_ns(intervals: list[tuple[int, int]]) -> int:
    marks = sorted([(s, 1) for s, _ in intervals] + [(e, -1) for _, e in intervals])
    total = depth = last = 0
    for at, change in marks:
        total += at - last if depth else 0
        depth, last = depth + change, at
    return total


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("samples"))


def generate(out: Path) -> Path:
    command = [sys.executable, "-m", "sample_traces.make.kineto", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return zlib.decompressobj(31).decompress(data) if path.suffix == ".gz" else data


def test_a_second_run_writes_the_same_bytes(regenerated: Path, tmp_path: Path) -> None:
    again = generate(tmp_path)
    names = sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    assert names
    assert [(regenerated / n).read_bytes() for n in names] == [(again / n).read_bytes() for n in names]


def test_the_files_in_the_tree_are_what_the_generator_writes(regenerated: Path) -> None:
    made = [p for p in regenerated.rglob("*") if p.is_file()]
    # Compressors differ between zlib builds, so what they pack is compared.
    differing = [p.name for p in made if unpacked(p) != unpacked(SAMPLES / p.relative_to(regenerated))]
    assert len(made) > 20
    assert differing == []


def test_the_readme_names_every_sample(regenerated: Path) -> None:
    readme = (SAMPLES / "README.md").read_text()
    names = [p.relative_to(regenerated).as_posix() for p in regenerated.rglob("*.json*")]
    assert [n for n in names if ".truth." not in n and f"`{n}`" not in readme] == []


@pytest.mark.parametrize("case", HEALTHY)
def test_samples_are_small(case: str) -> None:
    assert (SAMPLES / "kineto" / f"{case}.json.gz").stat().st_size < 150_000


@pytest.mark.parametrize("case", HEALTHY)
def test_steps_hold_what_the_truth_says(case: str) -> None:
    truth, found = truth_of(case), ops_by_step(case)
    assert len(found) == len(truth["steps"])
    for row in truth["steps"]:
        times = [start_end(e) for e in found[row["step_index"]]]
        window = max(end for _, end in times) - min(start for start, _ in times)
        assert (len(times), window, union_ns(times)) == (row["gpu_ops"], row["window_ns"], row["busy_ns"])
    starts = [min(start_end(e)[0] for e in found[i]) for i in range(len(found))]
    intervals = [b - a for a, b in pairwise(starts)]
    assert intervals == [row["interval_ns"] for row in truth["steps"]][:-1]


@pytest.mark.parametrize("case", HEALTHY)
def test_kernels_hold_what_the_truth_says(case: str) -> None:
    truth, found = truth_of(case), ops_by_step(case)
    for phase in {row["phase"] for row in truth["kernels"]}:
        steps = [r["step_index"] for r in truth["steps"] if r["phase"] == phase and not r["warm_up"]]
        durations: dict[str, list[int]] = defaultdict(list)
        for event in (e for i in steps for e in found[i] if e["cat"] == "kernel"):
            durations[event["name"]].append(ns(event["dur"]))
        rows = {row["name"]: row for row in truth["kernels"] if row["phase"] == phase}
        assert set(rows) == set(durations)
        for name, values in durations.items():
            row = rows[name]
            assert (row["calls"], row["total_ns"], row["median_ns"]) == (len(values), sum(values), median(values))
            assert row["calls_per_step"] * len(steps) == len(values)


@pytest.mark.parametrize("case", ["gdn_decode_gfx936", "cuda_two_streams_pdl"])
def test_exposed_time_is_what_is_left_of_the_step_when_the_kernel_vanishes(case: str) -> None:
    truth, found = truth_of(case), ops_by_step(case)
    steps = [r["step_index"] for r in truth["steps"] if not r["warm_up"]]
    for row in truth["kernels"]:
        if row["streams"] == [23] or row["name"].startswith(("gdn_", "gdr_", "fused_moe")):
            # Calls of these kernels never run beside each other, so the busy time lost is the time they ran alone.
            lost = 0
            for step in steps:
                all_times = [start_end(e) for e in found[step]]
                others = [start_end(e) for e in found[step] if e["name"] != row["name"]]
                lost += union_ns(all_times) - union_ns(others)
            assert row["exposed_ns"] == lost


def test_the_founding_cases_have_their_published_figures() -> None:
    truth = truth_of("gdn_decode_gfx936")
    rows = {row["name"]: row for row in truth["kernels"]}
    for name, us in (("gdn_fused", 20.272), ("gdr_split", 12.936), ("gdn_out_proj", 55.040)):
        assert (rows[name]["calls_per_step"], rows[name]["layers_hit"]) == (48, 48)
        assert rows[name]["median_ns"] == round(us * 1000)
    (decode,) = truth["medians"]
    assert decode["interval_ns"] == 44_000_000
    assert round(100 * 3.228 * 48 * 1000 / decode["interval_ns"], 3) == 0.352
    deviations = [abs(r["interval_ns"] - 44_000_000) for r in truth["steps"][1:-1]]
    assert 0 < max(deviations) < 0.005 * 44_000_000
    assert truth["steps"][0]["window_ns"] > 1.05 * decode["window_ns"]


def test_a_replay_shares_one_correlation_and_leaves_no_gap() -> None:
    launches = [e for e in case_events("gdn_decode_gfx936") if e.get("name") == "hipGraphLaunch"]
    assert len(launches) == 6
    for launch, step in zip(launches, range(6), strict=True):
        nodes = [e for e in ops_by_step("gdn_decode_gfx936")[step] if e["args"].get("kind") == "Dispatch Task"]
        assert {e["args"]["correlation"] for e in nodes} == {launch["args"]["correlation"]}
        assert len(nodes) == 1 + 64 * 12 + 1
        times = sorted(start_end(e) for e in nodes)
        assert all(end == start for (_, end), (start, _) in pairwise(times))


def test_the_annotation_closes_before_its_kernels_start() -> None:
    events = case_events("gdn_decode_gfx936")
    closed = sorted(start_end(e)[1] for e in events if e.get("cat") == "user_annotation")
    first = [min(start_end(e)[0] for e in ops_by_step("gdn_decode_gfx936")[i]) for i in range(6)]
    assert all(kernels > close for close, kernels in zip(closed, first, strict=True))


@pytest.mark.parametrize("case", HEALTHY)
def test_nothing_starts_before_it_was_launched(case: str) -> None:
    calls = {e["args"]["correlation"]: e for e in case_events(case) if e.get("cat") == "cuda_runtime"}
    ops = [e for e in case_events(case) if e.get("cat") in GPU]
    assert all(ns(e["ts"]) > ns(calls[e["args"]["correlation"]]["ts"]) for e in ops)


def test_programmatic_launches_overlap_by_at_most_three_us() -> None:
    truth, events = truth_of("cuda_two_streams_pdl"), case_events("cuda_two_streams_pdl")
    overlaps = []
    for stream in (7, 23):
        on_stream = sorted((e for e in events if e.get("cat") in GPU and e["tid"] == stream), key=lambda e: e["ts"])
        for before, after in pairwise(on_stream):
            overlap = start_end(before)[1] - ns(after["ts"])
            if overlap > 0:
                overlaps.append((overlap, after["args"]["correlation"]))
    assert (len(overlaps), max(overlaps)[0]) == (truth["same_stream_overlaps"], 3000)
    api = {e["args"]["correlation"]: e["name"] for e in events if e.get("cat") == "cuda_runtime"}
    assert {api[correlation] for _, correlation in overlaps} == {"cudaLaunchKernelExC"}


def test_waiting_streams_start_after_the_work_they_wait_for() -> None:
    events = case_events("cuda_two_streams_pdl")
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    ops = [e for e in events if e.get("cat") in GPU]
    waits = [e for e in events if e.get("name") == "Stream Wait Event"]
    assert len(waits) == 192
    for wait in waits[:60]:
        record, call = wait["args"]["wait_on_cuda_event_record_corr_id"], wait["args"]["correlation"]
        assert (calls[record]["name"], calls[call]["name"]) == ("cudaEventRecord", "cudaStreamWaitEvent")
        before = [e for e in ops if e["tid"] == wait["args"]["wait_on_stream"] and e["args"]["correlation"] < record]
        after = [e for e in ops if e["tid"] == wait["args"]["stream"] and e["args"]["correlation"] > call]
        assert min(ns(e["ts"]) for e in after) > max(start_end(e)[1] for e in before)


def test_decode_replays_have_node_ids_and_eager_steps_have_none() -> None:
    truth, found = truth_of("hybrid_once_per_step"), ops_by_step("hybrid_once_per_step")
    for row in truth["steps"]:
        nodes = [e["args"]["graph node id"] for e in found[row["step_index"]] if "graph node id" in e["args"]]
        assert nodes == (list(range(len(nodes))) if row["phase"] == "decode" else [])
    heads = [sum(e["name"] == "lm_head_fp8_gemm_kernel" for e in found[i]) for i in range(7)]
    assert heads == [1] * 7


@needs_shared
@pytest.mark.parametrize(
    ("case", "real", "kind"),
    [
        ("gdn_decode_gfx936", "vllm_decode_full_graph", "Dispatch Task"),
        ("cuda_two_streams_pdl", "b200_moe_eager_pdl", None),
    ],
)
def test_kernels_carry_the_arguments_that_real_profilers_write(case: str, real: str, kind: str | None) -> None:
    theirs = events_of(SHARED / "kineto" / f"{real}.json.gz")
    wanted = next(e for e in theirs if e.get("cat") == "kernel" and e["args"].get("kind") == kind)
    mine = next(e for e in case_events(case) if e.get("cat") == "kernel" and e["args"].get("kind") == kind)
    assert [k for k in wanted["args"] if k != "External id"] == list(mine["args"])
