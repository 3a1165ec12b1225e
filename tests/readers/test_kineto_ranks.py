"""Ranks: told by the trace, the file name or the user; merged into one file; shared correlation ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kineto_texts import call, codes, document, kernel, names, read_bytes
from trace_budget.errors import InputError
from trace_budget.readers.kineto.origin import rank_in_name

LAUNCH = call("cudaLaunchKernel", 1, 1)
KERNEL = kernel("k", 5, 1)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.1773709742.pt.trace.json.gz", 3),
        ("host-rank-12.17.pt.trace.json.gz", 12),
        ("dp0_pp0_tp0_dcp0_ep0_rank7.1.pt.trace.json.gz", 7),
        ("1700000-TP-5-DECODE.trace.json.gz", 5),
        ("graph_capture_rank_2.177.pt.trace.json.gz", 2),
        ("frank3.json", None),
        ("host_4242.17.pt.trace.json.gz", None),
    ],
)
def test_the_file_name_tells_the_rank(name: str, rank: int | None) -> None:
    assert rank_in_name(Path("some-rank-9") / name) == rank


def test_the_trace_is_believed_before_the_name_and_the_user_before_both(tmp_path: Path) -> None:
    told = document([LAUNCH, KERNEL], {"schemaVersion": 1, "distributedInfo": {"rank": 1, "world_size": 8}})
    silent = document([LAUNCH, KERNEL])
    trace = read_bytes(tmp_path, told, name="rank3.json")
    assert (trace.rank, trace.world_size, "rank_mismatch" in codes(trace)) == (1, 8, True)
    assert "rank_mismatch" not in codes(read_bytes(tmp_path, told, name="rank1.json"))
    assert read_bytes(tmp_path, silent, name="rank3.json").rank == 3
    assert read_bytes(tmp_path, told, name="rank3.json", rank=5).rank == 5
    assert read_bytes(tmp_path, silent).rank is None


@pytest.mark.parametrize("info", [5, "x", [], {"rank": -1}, {"rank": True}, {"rank": None}, {"rank": "a"}])
def test_an_odd_job_description_tells_nothing(tmp_path: Path, info: object) -> None:
    trace = read_bytes(tmp_path, document([LAUNCH, KERNEL], {"schemaVersion": 1, "distributedInfo": info}))
    assert (trace.rank, trace.world_size) == (None, None)


def labelled(event: Any, label: str) -> dict[str, Any]:
    return {**event, "pid": f"[{label}] {event['pid']}"}


def test_merged_ranks_are_read_one_at_a_time(tmp_path: Path) -> None:
    events = []
    for rank in (1, 0, 2):
        for at in range(rank + 1):
            start = 100 * rank + 10 * at
            events += [
                labelled(call("cudaLaunchKernel", start, 1, correlation=at), f"TP0{rank}"),
                labelled(kernel(f"rank{rank}", start + 5, 1, correlation=at), f"TP0{rank}"),
            ]
    for wanted, rank in ((None, 0), (1, 1), (2, 2)):
        trace = read_bytes(tmp_path, document(events), rank=wanted)
        assert names(trace) == [f"rank{rank}"] * (rank + 1)
        assert trace.gpu_ops["launch_id"].to_list() == list(range(rank + 1))
        assert trace.gpu_ops["device"].to_list() == [0] * (rank + 1)
        assert trace.calls["pid"].to_list() == [100] * (rank + 1)
        assert (trace.rank, codes(trace)["merged_ranks"]) == (rank, 3)
    with pytest.raises(InputError, match=r"no such rank.*\[TP00\], \[TP01\], \[TP02\]"):
        read_bytes(tmp_path, document(events), rank=7)


def test_one_label_is_no_merge(tmp_path: Path) -> None:
    event = {**kernel("k", 5, 1), "pid": "GPU 3", "args": {"stream": 7, "correlation": 1}}
    trace = read_bytes(tmp_path, document([LAUNCH, event]))
    assert trace.gpu_ops["device"].to_list() == [3]
    assert "merged_ranks" not in codes(trace)


def test_launches_of_several_processes_with_one_correlation_id_are_not_guessed(tmp_path: Path) -> None:
    events = [
        call("cudaLaunchKernel", 1, 1, correlation=1),
        {**call("cudaLaunchKernel", 2, 1, correlation=1), "pid": 200},
        {**call("cudaLaunchKernel", 3, 1, correlation=2), "pid": 200},
        kernel("shared", 5, 1, correlation=1),
        kernel("sure", 6, 1, correlation=2),
    ]
    trace = read_bytes(tmp_path, document(events))
    assert trace.gpu_ops["launch_id"].to_list() == [None, 2]
    assert trace.gpu_ops["correlation"].to_list() == [1, 2]
    assert codes(trace)["several_processes"] == 2


@pytest.mark.parametrize(
    ("devices", "device", "name", "vendor"),
    [
        ([{"id": 0, "name": "NVIDIA H100"}, {"id": 1, "name": "NVIDIA H100"}], 5, "NVIDIA H100", "nvidia"),
        ([{"id": 0, "name": "NVIDIA A"}, {"id": 1, "name": "AMD B"}], 1, "AMD B", "amd"),
        ([{"id": 0, "name": "NVIDIA A"}, {"id": 1, "name": "AMD B"}], 9, None, "nvidia"),
        ([{"id": 0, "name": ""}], 0, None, "nvidia"),
        ([{"id": 0, "name": "BW1000"}], 0, "BW1000", "hygon"),
        ([{"id": 0, "name": "K100_AI"}], 0, "K100_AI", "hygon"),
        ("odd", 0, None, "nvidia"),
        ([5, {"name": None}, {"id": 0}], 0, None, "nvidia"),
    ],
)
def test_device_and_vendor(tmp_path: Path, devices: object, device: int, name: str | None, vendor: str) -> None:
    meta = {"schemaVersion": 1, "deviceProperties": devices}
    trace = read_bytes(tmp_path, document([LAUNCH, kernel("k", 5, 1, **{"device": device})], meta))
    assert (trace.device_name, trace.vendor) == (name, vendor)


def test_a_dcu_is_told_from_an_amd_card_by_its_kernels(tmp_path: Path) -> None:
    launch = call("hipModuleLaunchKernel", 1, 1)
    dcu = document([launch, kernel("Cijk_Alik_Bljk_ISA936_WG32", 5, 1)], {"hip_runtime_version": 1})
    amd = document([launch, kernel("Cijk_Alik_Bljk_ISA942_WG32", 5, 1)], {"hip_runtime_version": 1})
    assert read_bytes(tmp_path, dcu).vendor == "hygon"
    assert read_bytes(tmp_path, amd).vendor == "amd"
    assert read_bytes(tmp_path, dcu).dispatch_gap_in_duration
