"""Packets of a Perfetto trace that were changed: whatever is lost with them, the trace is PARTIAL and says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from formats.answers import SAMPLES
from fuzz.protobuf_level import packets_of, trace_of, written_varint
from trace_budget import api
from trace_budget.schema.trace import Trace

SAMPLE = "perfetto/rocprof_sys.proto"
KERNELS = 63


def changed(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    path = folder / "changed.proto"
    path.write_bytes(change((SAMPLES / SAMPLE).read_bytes()))
    return path


def kernels(trace: Trace) -> int:
    return int((trace.gpu_ops["kind"] == "kernel").sum())


def texts(trace: Trace) -> dict[str, str]:
    return {caveat.code: caveat.text for caveat in trace.caveats}


def test_a_perfetto_packet_before_time_began_makes_the_trace_partial(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        packets = packets_of(data)
        packets[len(packets) // 2] += b"\x40" + written_varint(2**64 - 1)
        return trace_of(packets)

    trace = api.open_trace(changed(tmp_path, damaged))
    assert not trace.complete
    assert {"partial_file", "trace_processor_stat"} <= set(texts(trace))


BEGINS = b"H\x01P\x07X"  # of a kernel: type = TYPE_SLICE_BEGIN, then its name and track


@pytest.mark.parametrize("lost", [1, 2])
def test_kernels_whose_packet_has_a_changed_byte_are_told(tmp_path: Path, lost: int) -> None:
    """The framing is whole, so trace_processor leaves the packet out without a word."""
    places: list[int] = []

    def damaged(data: bytes) -> bytes:
        packets = packets_of(data)
        for number in [index for index, packet in enumerate(packets) if BEGINS in packet][-lost:]:
            places.append(len(trace_of(packets[:number])))
            packets[number] = packets[number].replace(BEGINS, BEGINS.replace(b"\x01", b"\xb4"))
        return trace_of(packets)

    trace = api.open_trace(changed(tmp_path, damaged))
    assert kernels(trace) == KERNELS - lost
    assert not trace.complete
    which = "1 packet is damaged, at" if lost == 1 else "2 packets are damaged, the first at"
    assert f"({which} byte {places[0]}; whole packets after it were read)" in texts(trace)["partial_file"]
