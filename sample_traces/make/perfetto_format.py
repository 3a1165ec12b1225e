"""Perfetto samples as rocprofv3 and rocprof-sys lay them out, written with the perfetto package's own messages.

Run from the root of the repository: `python -m sample_traces.make.perfetto_format` (same bytes on every run). Layout
after rocprofiler-sdk source/lib/output/generatePerfetto.cpp (ROCm 7) and rocprofiler-systems perfetto_processor.cpp:
interned categories, event names and annotation names; BEGIN and END packets with absolute times; calls before ranges
before copies before kernels, whatever their times; one flow per correlation id.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder
from sample_traces.make.run_description import DEVICE, PID, QUEUE, STREAM, TID, Op, Run, described_run, truth

BOOTTIME = 6
SEQUENCE = 1
API_OF_KIND = {"memcpy": "hipMemcpyAsync", "graph_launch": "hipGraphLaunch", "sync": "hipStreamSynchronize"}
COPY_NAME = "MEMORY_COPY_HOST_TO_DEVICE"
PROCESS_TRACK, THREAD_TRACK, DEVICE_TRACK, COPY_TRACK = 0x42A7, TID, 0x57E4, 0xC0B7


@dataclass(frozen=True)
class Dispatch:
    """A kernel as the device recorded it, or as the writer left it."""

    name: str
    queue: int
    start_ns: int
    end_ns: int
    correlation: int


class PerfettoFile:
    """One packet sequence with its interned names."""

    def __init__(self) -> None:
        self._builder = TraceProtoBuilder()
        self._interned: dict[str, dict[str, int]] = {}
        self._open_sequence()

    def track(self, uuid: int, name: str, parent: int | None = None) -> None:
        """A track that belongs to no thread."""
        descriptor = self._packet().track_descriptor
        descriptor.uuid, descriptor.name = uuid, name
        if parent is not None:
            descriptor.parent_uuid = parent

    def process(self, uuid: int, pid: int, name: str) -> None:
        descriptor = self._packet().track_descriptor
        descriptor.uuid, descriptor.process.pid, descriptor.process.process_name = uuid, pid, name

    def thread(self, uuid: int, pid: int, tid: int) -> None:
        descriptor = self._packet().track_descriptor
        descriptor.uuid, descriptor.thread.pid, descriptor.thread.tid = uuid, pid, tid

    def slice(
        self, track: int, category: str, name: str, times: tuple[int, int], flow: int, notes: dict[str, int | str]
    ) -> None:
        """A BEGIN packet with all that is known, and an END packet."""
        packet = self._packet(times[0])
        event = packet.track_event
        event.type, event.track_uuid = TrackEvent.TYPE_SLICE_BEGIN, track
        event.category_iids.append(self._intern(packet, "event_categories", category))
        event.name_iid = self._intern(packet, "event_names", name)
        if flow:
            event.flow_ids.append(flow ^ PROCESS_TRACK)
        for key, value in notes.items():
            note = event.debug_annotations.add()
            note.name_iid = self._intern(packet, "debug_annotation_names", key)
            if isinstance(value, str):
                note.string_value = value
            else:
                note.uint_value = value
        end = self._packet(times[1]).track_event
        end.type, end.track_uuid = TrackEvent.TYPE_SLICE_END, track

    def content(self) -> bytes:
        """The bytes of the file."""
        return bytes(self._builder.serialize())

    def _open_sequence(self) -> None:
        packet = self._packet()
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.first_packet_on_sequence = True
        packet.trace_packet_defaults.timestamp_clock_id = BOOTTIME

    def _packet(self, time_ns: int | None = None) -> Any:
        packet = self._builder.add_packet()
        packet.trusted_packet_sequence_id, packet.trusted_pid = SEQUENCE, PID
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        if time_ns is not None:
            packet.timestamp = time_ns
        return packet

    def _intern(self, packet: Any, table: str, text: str) -> int:
        known = self._interned.setdefault(table, {})
        if text not in known:
            known[text] = len(known) + 1
            entry = getattr(packet.interned_data, table).add()
            entry.iid, entry.name = known[text], text
        return known[text]


def product(sizes: tuple[int, int, int]) -> int:
    return sizes[0] * sizes[1] * sizes[2]


def span(start_ns: int, end_ns: int) -> dict[str, int | str]:
    return {"begin_ns": start_ns, "end_ns": end_ns, "delta_ns": end_ns - start_ns}


def rocprofv3(run: Run) -> bytes:
    """The run as `rocprofv3 --output-format pftrace` (ROCm 7) writes it: one track per stream, copies among kernels."""
    file = PerfettoFile()
    file.process(PROCESS_TRACK, PID, "python3")
    file.track(THREAD_TRACK, f"THREAD 1 ({TID})")
    file.track(DEVICE_TRACK, f'STREAM [" {STREAM} "] ')
    for call in run.calls:
        notes = {**span(call.start_ns, call.end_ns), "tid": TID, "kind": 4, "operation": 1, "corr_id": call.correlation}
        times = (call.start_ns, call.end_ns)
        file.slice(THREAD_TRACK, "hip_api", API_OF_KIND[call.kind], times, call.correlation, notes)
    for number, marker in enumerate(run.markers, start=1000):
        notes = {**span(marker.start_ns, marker.end_ns), "tid": TID, "kind": 6, "operation": 2, "corr_id": number}
        file.slice(THREAD_TRACK, "marker_api", marker.name, (marker.start_ns, marker.end_ns), number, notes)
    for op in sorted(run.ops, key=lambda op: op.kind != "memcpy"):
        category, name, notes = _rocprofv3_op(op)
        file.slice(DEVICE_TRACK, category, name, (op.start_ns, op.end_ns), op.correlation, notes)
    return file.content()


def _rocprofv3_op(op: Op) -> tuple[str, str, dict[str, int | str]]:
    if op.kernel is None:
        agents = {"src_agent": "CPU-0", "dst_agent": f"GPU-{DEVICE}", "copy_bytes": op.bytes or 0}
        tail = {"corr_id": op.correlation, "tid": TID, "stream_ID": STREAM}
        return "memory_copy", COPY_NAME, {**span(op.start_ns, op.end_ns), "kind": 14, "operation": 1, **agents, **tail}
    place = {"agent": f"GPU-{DEVICE}", "agent_type": "GPU", "corr_id": op.correlation, "queue": QUEUE, "tid": TID}
    memory = {"Scratch_Size": 0, "LDS_Block_Size": 0, "VGPR_Count": 64, "Accum_VGPR_Count": 0, "SGPR_Count": 96}
    sizes = {"workgroup_size": product(op.kernel.block), "grid_size": product(op.kernel.grid_threads)}
    notes = {**span(op.start_ns, op.end_ns), "kind": 11, **place, "kernel_id": 7, **memory, **sizes}
    return "kernel_dispatch", op.name, {**notes, "stream_ID": STREAM}


def rocprof_sys(run: Run, node: int = 1) -> bytes:
    """The run as rocprof-sys writes it when grouping by queue: tracks per queue, shapes as text, no end of host ranges.

    Ranges close after the calls inside them: without annotated ends, others could not be read back. Kernels are on
    tracks of their GPU, copies on those of its logical `node`, which counts the CPUs before it.
    """
    file = PerfettoFile()
    file.process(PROCESS_TRACK, PID, "python3")
    file.thread(THREAD_TRACK, PID, TID)
    file.track(DEVICE_TRACK, f"GPU Kernel Dispatch [{DEVICE}] Queue {QUEUE}", parent=PROCESS_TRACK)
    file.track(COPY_TRACK, f"GPU Memory Copy to Agent [{node}] Thread 1", parent=PROCESS_TRACK)
    ranges = [("rocm_hip_api", API_OF_KIND[c.kind], c.start_ns, c.end_ns, c.correlation) for c in run.calls]
    closes = {call.step: call.end_ns + 1_000 for call in run.calls}
    ranges += [("rocm_marker_api", marker.name, marker.start_ns, closes[marker.step], 0) for marker in run.markers]
    for category, name, start_ns, end_ns, correlation in sorted(ranges, key=lambda row: row[2]):
        notes = {"begin_ns": start_ns, "corr_id": correlation}
        file.slice(THREAD_TRACK, category, name, (start_ns, end_ns), correlation, notes)
    for op in run.ops:
        track, category, name, notes = _rocprof_sys_op(op, node)
        file.slice(track, category, name, (op.start_ns, op.end_ns), op.correlation, notes)
    return file.content()


def _rocprof_sys_op(op: Op, node: int) -> tuple[int, str, str, dict[str, int | str]]:
    head = {"begin_ns": op.start_ns, "end_ns": op.end_ns, "corr_id": op.correlation, "stream_id": STREAM}
    if op.kernel is None:
        agents = {"bytes": op.bytes or 0, "src_agent_id": 0, "dst_agent_id": node - 1, "operation": COPY_NAME}
        return COPY_TRACK, "rocm_memory_copy", COPY_NAME, {**head, **agents}
    sizes = {"workgroup_size": shape(op.kernel.block), "grid_size": shape(op.kernel.grid_threads)}
    memory = {"private_segment_size": 0, "group_segment_size": 0}
    notes = {**head, "queue": QUEUE, "dispatch_id": op.node or 0, "kernel_id": 7, **memory, **sizes}
    return DEVICE_TRACK, "rocm_kernel_dispatch", op.name, notes


def shape(sizes: tuple[int, int, int]) -> str:
    return f"({sizes[0]},{sizes[1]},{sizes[2]})"


OVERLAPPING = (
    # queue 1: the second starts 100 before the first ends, the fifth lies inside the fourth, the sixth starts in both
    Dispatch("attention_kernel", 1, 1_000_000, 1_001_000, 1),
    Dispatch("reduce_kernel", 1, 1_000_900, 1_002_000, 2),
    Dispatch("norm_kernel", 1, 1_003_000, 1_003_500, 3),
    Dispatch("gemm_kernel", 1, 1_004_000, 1_008_000, 4),
    Dispatch("norm_kernel", 1, 1_005_000, 1_006_000, 5),
    Dispatch("reduce_kernel", 1, 1_005_200, 1_009_000, 6),
    # queue 2, on the same stream: the first two overlap kernels of queue 1, the last runs alone
    Dispatch("copy_kernel", 2, 1_001_500, 1_002_500, 7),
    Dispatch("copy_kernel", 2, 1_007_000, 1_010_000, 8),
    Dispatch("copy_kernel", 2, 1_020_000, 1_021_000, 9),
)


def cut(recorded: tuple[Dispatch, ...]) -> list[Dispatch]:
    """What rocprofv3 (ROCm 7) makes of the dispatches of one queue: each overlap with the next is cut at its middle."""
    queue = sorted(recorded, key=lambda dispatch: dispatch.start_ns)
    done: list[Dispatch] = []
    while queue:
        this = queue.pop(0)
        if queue and queue[0].start_ns < this.end_ns:
            following = queue.pop(0)
            end_ns = min(this.end_ns, following.end_ns)
            middle_ns = following.start_ns + (end_ns - following.start_ns) // 2
            this, following = replace(this, end_ns=middle_ns), replace(following, start_ns=middle_ns)
            place = sum(other.start_ns <= middle_ns for other in queue)
            queue.insert(place, following)
        done.append(this)
    return done


def overlaps_cut() -> tuple[bytes, dict[str, Any]]:
    """Overlapping kernels of two queues on one stream track, cut by the writer; and what was recorded and written."""
    queues = sorted({dispatch.queue for dispatch in OVERLAPPING})
    written = [d for queue in queues for d in cut(tuple(d for d in OVERLAPPING if d.queue == queue))]
    file = PerfettoFile()
    file.process(PROCESS_TRACK, PID, "python3")
    file.track(DEVICE_TRACK, f'STREAM [" {STREAM} "] ')
    for d in written:
        place = {"agent": f"GPU-{DEVICE}", "corr_id": d.correlation, "queue": d.queue, "tid": TID, "stream_ID": STREAM}
        times = (d.start_ns, d.end_ns)
        file.slice(DEVICE_TRACK, "kernel_dispatch", d.name, times, d.correlation, {**span(*times), **place})
    facts = {"recorded": [asdict(d) for d in OVERLAPPING], "written": [asdict(d) for d in written]}
    return file.content(), facts


def sample_files() -> dict[str, bytes]:
    """Every file by its path below sample_traces/."""
    run = described_run()
    facts = as_text(truth(run))
    overlapping, overlapping_facts = overlaps_cut()
    return {
        "perfetto/same_run.pftrace": rocprofv3(run),
        "perfetto/same_run.truth.json": facts,
        "perfetto/rocprof_sys.proto": rocprof_sys(run),
        "perfetto/rocprof_sys.truth.json": facts,
        "perfetto/rocprof_sys_node.proto": rocprof_sys(run, node=3),
        "perfetto/rocprof_sys_node.truth.json": facts,
        "perfetto/overlaps_cut.pftrace": overlapping,
        "perfetto/overlaps_cut.truth.json": as_text(overlapping_facts),
    }


def as_text(facts: dict[str, Any]) -> bytes:
    return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


def main() -> None:
    """Write the files below the folder given, by default the one this program lies in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent)
    out: Path = parser.parse_args().out
    for name, content in sample_files().items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{len(content):>9,} {path}")


if __name__ == "__main__":
    main()
