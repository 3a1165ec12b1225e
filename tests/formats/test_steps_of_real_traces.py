"""Steps of real traces without annotations, against computations that use neither the readers nor the analyses."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from formats.answers import ask
from shared_traces import SHARED, needs_shared

pytestmark = needs_shared
LLAMA = SHARED / "rocprofv3_csv/llamacpp_decode_kernel_trace.csv"
RPD = SHARED / "rpd/vllm_fp8_graph.rpd.gz"
TRAIN = SHARED / "rocprofv3_json/mi350_train_results.json.gz"
DISPATCHES = "buffer_records", "kernel_dispatch"


def answer(path: Path, command: str, *options: str) -> Any:
    said = ask(command, str(path), *options)
    assert said.code == 0, said.err
    return said.document


def codes(document: Any) -> dict[str, str]:
    return {caveat["code"]: caveat["severity"] for caveat in document["caveats"]}


def test_llama_cpp_five_tokens_after_the_warm_up() -> None:
    rows = sorted(
        (int(row["Start_Timestamp"]), int(row["End_Timestamp"]))
        for row in csv.DictReader(LLAMA.read_text().splitlines())
    )
    bursts, begin = [], 0
    for index in range(1, len(rows) + 1):
        # tokens are 17 ms apart and last less than 1 ms
        if index == len(rows) or rows[index][0] - rows[index - 1][1] > 10_000_000:
            bursts.append(rows[begin:index])
            begin = index
    tokens = [burst for burst in bursts if len(burst) == 24]
    assert len(tokens) == 5
    steps = answer(LLAMA, "steps")
    assert [row["kernels"] for row in steps["rows"]] == [24] * 5
    assert [row["window_us"] for row in steps["rows"]] == [(t[-1][1] - t[0][0]) / 1000 for t in tokens]
    # an excerpt of a token shows no layers, so nothing about it is certain
    assert steps["confidence"] == "low"
    assert codes(steps)["steps_maybe_layers"] == "warning"


def rpd_rows() -> list[tuple[int, int, int, str]]:
    """(launch start, op start, op end, op type) of what the graph launches own."""
    with tempfile.NamedTemporaryFile(suffix=".rpd") as file:
        file.write(gzip.decompress(RPD.read_bytes()))
        file.flush()
        query = (
            "SELECT a.start, o.start, o.end, t.string FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id"
            " JOIN rocpd_api_ops x ON x.api_id = a.id JOIN rocpd_op o ON o.id = x.op_id"
            " JOIN rocpd_string t ON t.id = o.opType_id WHERE n.string = 'hipGraphLaunch'"
        )
        with closing(sqlite3.connect(f"file:{file.name}?mode=ro&immutable=1", uri=True)) as connection:
            return connection.execute(query).fetchall()


def test_rpd_twenty_decode_steps_of_32_layers() -> None:
    """20 launches of 418 operations on one device; every replay runs 32 layers and a sampler follows it."""
    by_launch: dict[int, list[tuple[int, int]]] = {}
    for launch, start, end, _ in rpd_rows():
        by_launch.setdefault(launch, []).append((start, end))
    assert Counter(len(ops) for ops in by_launch.values()) == {418: 20}
    steps = answer(RPD, "steps")
    assert (steps["method"], steps["confidence"], len(steps["rows"])) == ("graph launches", "high", 20)
    begins = sorted(min(start for start, _ in ops) for ops in by_launch.values())
    intervals = [(later - begin) / 1000 for begin, later in pairwise(begins)]
    found = [row["interval_us"] for row in steps["rows"][:-1]]
    assert found == pytest.approx(intervals, abs=100)
    assert steps["step_us"] == pytest.approx(median(intervals), rel=0.001)
    assert answer(RPD, "layers")["layers"] == 32


def train_dispatches() -> list[tuple[int, int, int]]:
    """(start, end, kernel id) of every dispatch in time order."""
    document = json.loads(gzip.decompress(TRAIN.read_bytes()))
    (run,) = document["rocprofiler-sdk-tool"]
    rows = run[DISPATCHES[0]][DISPATCHES[1]]
    return sorted((r["start_timestamp"], r["end_timestamp"], r["dispatch_info"]["kernel_id"]) for r in rows)


def test_training_steps_repeat_every_822_kernels() -> None:
    rows = train_dispatches()
    assert len(rows) == 43_915
    ids = [row[2] for row in rows]
    # the sequence of names equals itself one step later, and at no near distance
    same = {shift: sum(a == b for a, b in zip(ids, ids[shift:], strict=False)) for shift in range(780, 860)}
    assert max(same, key=lambda shift: same[shift]) == 822
    steps = answer(TRAIN, "steps")
    assert Counter(row["kernels"] for row in steps["rows"]).most_common(1)[0][0] == 822
    assert steps["confidence"] == "medium"


def test_a_cut_out_of_one_step_is_no_step() -> None:
    path = SHARED / "pftrace/mi350_subset.pftrace"
    assert codes(answer(path, "steps"))["steps_unknown"] == "error"
    question = ("--kernel", "ncclDevKernel_Generic_1", "--speedup", "1.2")
    unknown, stated = answer(path, "project", *question), answer(path, "project", *question, "--steps", "0")
    assert unknown["verdict"] == "INVALID"
    assert "no step was found" in unknown["why"]
    assert stated["verdict"] != "INVALID"
    assert codes(stated)["step_stated"] == "warning"


@pytest.mark.parametrize(("name", "kernels"), [("before", (1993, 2017)), ("after", (1793, 1794))])
def test_two_devices_are_told_and_blocks_are_no_certain_steps(name: str, kernels: tuple[int, int]) -> None:
    path = SHARED / f"nsys_sqlite/mfu_2gpu_{name}.sqlite"
    query = "SELECT deviceId, COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY deviceId ORDER BY deviceId"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        assert tuple(count for _, count in connection.execute(query)) == kernels
    for device, count in enumerate(kernels):
        steps = answer(path, "steps", "--device", str(device))
        assert 0 < sum(row["kernels"] for row in steps["rows"]) <= count
        # what repeats is a block of a diffusion model: hardly any layers inside, so the steps are a guess
        assert steps["confidence"] == "low"
        assert codes(steps)["steps_maybe_layers"] == "warning"


@pytest.mark.parametrize("name", ["results.db", "results.csv", "results.json"])
def test_one_run_of_rocprof_in_three_outputs(name: str) -> None:
    rows = [
        (int(r["BeginNs"]), int(r["EndNs"]))
        for r in csv.DictReader((SHARED / "rocprof_v1/results.csv").read_text().splitlines())
    ]
    (step,) = answer(SHARED / "rocprof_v1" / name, "steps")["rows"]
    assert (step["kernels"], len(rows)) == (60, 60)
    assert step["window_us"] == (max(end for _, end in rows) - min(start for start, _ in rows)) / 1000
