"""Numbers that no 64-bit integer holds, and what is none, in every integer field of the JSON formats, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from formats.answers import SAMPLES, said
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.schema.trace import Trace

KERNELS = 63
FILES = (
    "rocprofv3_json/same_run.json",
    "rocprof_v1_json/same_run.json",
    "hipprof_json/same_run.json",
    "rpd_json/same_run.json",
)
HUGE = "123456789012345678901234567890"
VALUES = (
    *(HUGE, f'"{HUGE}"', "9" * 5_000, str(2**63), str(-(2**63) - 1)),
    *("-1e30", "1e400", '"text"', "true", "[1]"),
)
HERE = "the value goes here"
Place = tuple[str | int, ...]


def _kind(element: Any) -> str:
    """Events of one phase, category and (of metadata) name have the same fields."""
    if not isinstance(element, dict) or "ph" not in element:
        return ""
    return f"{element['ph']} {element.get('cat')} {element.get('name') if element['ph'] == 'M' else ''}"


def _integers(node: Any, field: tuple[str, ...] = (), place: Place = ()) -> Iterator[tuple[tuple[str, ...], Place]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _integers(value, (*field, key), (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _integers(value, (*field, f"[{_kind(value)}]"), (*place, index))
    elif isinstance(node, int) or (isinstance(node, str) and node.lstrip("-").isdigit()):
        yield field, place


@cache
def fields(sample: str) -> dict[str, list[Place]]:
    """Where each integer field of a sample stands, texts that are integers included."""
    found: dict[str, list[Place]] = {}
    for field, place in _integers(json.loads((SAMPLES / sample).read_bytes())):
        found.setdefault(".".join(field), []).append(place)
    return found


def changed(sample: str, places: list[Place]) -> str:
    """The sample with a mark in these places."""
    document = json.loads((SAMPLES / sample).read_bytes())
    for place in places:
        node = document
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = HERE
    return json.dumps(document, separators=(",", ":"))


CASES = [(sample, field) for sample in FILES for field in fields(sample)]


def test_the_fields_of_every_format_are_there() -> None:
    found = {field.rpartition(".")[2] for _, field in CASES}
    assert {
        "pid",
        "tid",
        "ts",
        "dur",
        "BeginNs",
        "queueId",
        "logical_node_id",
        "handle",
        "internal",
        "kernel_id",
    } <= found
    assert len(CASES) > 150


@pytest.mark.parametrize(("sample", "field"), CASES)
def test_a_trace_or_a_refusal(sample: str, field: str, tmp_path: Path) -> None:
    """With each value in the first place where the field stands; an error of any other class would pass through."""
    text = changed(sample, fields(sample)[field][:1])
    path = tmp_path / "changed.json"
    for value in VALUES:
        path.write_text(text.replace(f'"{HERE}"', value), encoding="utf-8")
        try:
            trace = api.open_trace(path)
        except InputError:
            continue
        assert trace.gpu_ops.height, value[:40]


@pytest.mark.parametrize(("sample", "field"), CASES)
def test_an_answer_or_one_line_where_every_value_is_so(sample: str, field: str, tmp_path: Path) -> None:
    text = changed(sample, fields(sample)[field])
    path = tmp_path / "changed.json"
    for value in (HUGE, str(2**63)):
        path.write_text(text.replace(f'"{HERE}"', value), encoding="utf-8")
        answer = said("kernels", str(path), "--format", "json")
        assert answer.code in (0, 3, 4), value[:40]
        assert answer.code == 0 or answer.line


def opened(sample: str, field: str, value: str, folder: Path) -> tuple[Trace, dict[str, int]]:
    (places,) = (places for name, places in fields(sample).items() if name.endswith(field))
    path = folder / "changed.json"
    path.write_text(changed(sample, places[:1]).replace(f'"{HERE}"', value), encoding="utf-8")
    trace = api.open_trace(path)
    assert (trace.gpu_ops["kind"] == "kernel").sum() == KERNELS
    return trace, {caveat.code: caveat.count for caveat in trace.caveats}


V3, V1, HIPPROF, RPD = FILES


@pytest.mark.parametrize("value", [HUGE, str(2**64), str(-(2**63) - 1)])
@pytest.mark.parametrize(
    ("sample", "field", "column", "unknown"),
    [
        (V3, "kernel_dispatch.[].stream_id.handle", "stream", 1),
        (V3, "kernel_dispatch.[].correlation_id.internal", "correlation", 1),
        (V3, "kernel_dispatch.[].dispatch_info.queue_id.handle", "queue", 1),
        (V3, "kernel_dispatch.[].dispatch_info.agent_id.handle", "device", 1),
        (V3, "kernel_dispatch.[].dispatch_info.grid_size.x", "grid_x", 1),
        (V3, "metadata.pid", "pid", None),
        (V1, "[X None ].args.wgr", "block_x", 1),
        (HIPPROF, "[X HIPOPS ].args.queueId", "queue", 1),
        (HIPPROF, "[X HIPOPS ].args.index", "correlation", 1),
        (HIPPROF, "[X HIPOPS ].args.devId", "device", 0),  # the title of its track says it too
    ],
)
def test_they_are_unknown_and_told(
    sample: str, field: str, column: str, unknown: int | None, value: str, tmp_path: Path
) -> None:
    clean = api.open_trace(SAMPLES / sample).gpu_ops[column].null_count()
    trace, told = opened(sample, field, value, tmp_path)
    assert trace.gpu_ops[column].null_count() == clean + (trace.gpu_ops.height if unknown is None else unknown)
    assert told["numbers_out_of_range"] == 1


@pytest.mark.parametrize(
    ("sample", "field", "column"),
    [
        (V3, "kernel_dispatch.[].dispatch_info.workgroup_size.y", "block_y"),
        (V1, "[X None ].args.wgr", "block_x"),
        (HIPPROF, "[X HIPOPS ].args.devId", "device"),
    ],
)
def test_sizes_and_devices_beyond_32_bits_are_told_too(sample: str, field: str, column: str, tmp_path: Path) -> None:
    clean = api.open_trace(SAMPLES / sample).gpu_ops[column].null_count()
    trace, told = opened(sample, field, str(2**31), tmp_path)
    assert trace.gpu_ops[column].null_count() == clean + 1
    assert told["numbers_out_of_range"] == 1


def test_nothing_is_told_of_sound_files() -> None:
    for sample in (*FILES, "hipprof_json/same_run.html"):
        told = {caveat.code for caveat in api.open_trace(SAMPLES / sample).caveats}
        assert "numbers_out_of_range" not in told


def test_times_are_told_as_times(tmp_path: Path) -> None:
    for value in (HUGE, str(2**63)):
        trace, told = opened(V3, "kernel_dispatch.[].start_timestamp", value, tmp_path)
        assert trace.gpu_ops["start_ns"].null_count() == told["bad_start"] == 1
        assert "numbers_out_of_range" not in told


def test_the_largest_handles_still_find_each_other(tmp_path: Path) -> None:
    """Kernel ids and agents from 2^63 on are 64-bit numbers that Int64 does not hold."""
    for number in (10, 11):
        text = (SAMPLES / V3).read_text(encoding="utf-8")
        path = tmp_path / "changed.json"
        path.write_text(text.replace(f'"kernel_id":{number},', f'"kernel_id":{2**64 - 5},'), encoding="utf-8")
        clean, trace = api.open_trace(SAMPLES / V3), api.open_trace(path)
        assert trace.gpu_ops["name"].cast(pl.String).equals(clean.gpu_ops["name"].cast(pl.String))


def test_a_kernel_number_beyond_64_bits_is_no_other_kernel(tmp_path: Path) -> None:
    trace, told = opened(V3, "kernel_dispatch.[].dispatch_info.kernel_id", HUGE, tmp_path)
    assert told["numbers_out_of_range"] == told["nameless_kernels"] == 1
    assert (trace.gpu_ops["name"].cast(pl.String) == "<unnamed>").sum() == 1


def test_a_process_in_a_title_beyond_64_bits(tmp_path: Path) -> None:
    text = (SAMPLES / HIPPROF).read_text(encoding="utf-8")
    path = tmp_path / "changed.json"
    assert "pid:4242" in text
    path.write_text(text.replace("pid:4242", f"pid:{HUGE}"), encoding="utf-8")
    assert (api.open_trace(path).gpu_ops["kind"] == "kernel").sum() == KERNELS


def test_the_texts_of_rpd_are_told(tmp_path: Path) -> None:
    for value in (HUGE, f'"{HUGE}"', "-1e30"):
        _, told = opened(RPD, "[X None ].tid", value, tmp_path)
        assert told["numbers_out_of_range"] == 1
    _, told = opened(RPD, "[X None ].tid", '"main"', tmp_path)
    assert "numbers_out_of_range" not in told
