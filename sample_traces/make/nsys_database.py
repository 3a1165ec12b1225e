"""Nsight Systems SQLite exports: the tables and columns of export schema 3.x that carry a timeline."""

from __future__ import annotations

from dataclasses import dataclass, field

from sample_traces.make import run_description as described
from sample_traces.make.database import Content

_ACTIVITY = "start end deviceId contextId greenContextId streamId correlationId globalPid"
_TABLES = {
    "StringIds": "id value~",
    "META_DATA_EXPORT": "name~ value~",
    "TARGET_INFO_GPU": "vmId id name~ busLocation~ smCount cuDevice",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid~",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_ACTIVITY} demangledName shortName mangledName launchType cacheConfig"
    " registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory"
    " localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig graphId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_ACTIVITY} bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId"
    " dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_ACTIVITY} value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_ACTIVITY} deprecatedSyncType syncType eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp deviceId contextId greenContextId streamId correlationId globalPid"
    " eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_ACTIVITY} graphId graphExecId",
    "NVTX_EVENTS": "start end eventType rangeId category color text~ globalTid endGlobalTid textId domainId",
}
VM = 1 << 48
_NO_STREAM = 4_294_967_295


@dataclass
class Export:
    """Tables appear when something was recorded for them, as in the real export."""

    pid: int = described.PID
    device: int = described.DEVICE
    content: Content = field(default_factory=Content)
    ids: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, **values: object) -> None:
        if table not in self.content.tables:
            self.content.table(table, _TABLES[table])
        self.content.add(table, **values)

    def string(self, text: str) -> int:
        if text not in self.ids:
            # real files number their strings from anywhere
            self.ids[text] = 1_364_000 + 7 * len(self.ids)
            self.add("StringIds", id=self.ids[text], value=text)
        return self.ids[text]

    def of(self, pid: int, device: int) -> Export:
        """The same file, seen from another process."""
        return Export(pid, device, self.content, self.ids)

    @property
    def global_pid(self) -> int:
        return VM + self.pid * (1 << 24)

    @property
    def global_tid(self) -> int:
        return self.global_pid + described.TID

    def activity(self, table: str, start_ns: int, end_ns: int, correlation: int, **values: object) -> None:
        place = {"deviceId": self.device, "contextId": 1, "streamId": described.STREAM, "globalPid": self.global_pid}
        self.add(table, start=start_ns, end=end_ns, correlationId=correlation, **{**place, **values})

    def call(self, name: str, start_ns: int, end_ns: int, correlation: int) -> None:
        ids = {"globalTid": self.global_tid, "correlationId": correlation, "nameId": self.string(name)}
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start_ns, end=end_ns, eventClass=0, returnValue=0, **ids)

    def range(self, text: str, start_ns: int, end_ns: int | None, by_id: bool, event_type: int = 59) -> None:
        """A range; registered texts are stored by id."""
        words = {"textId": self.string(text)} if by_id else {"text": text}
        self.add("NVTX_EVENTS", start=start_ns, end=end_ns, eventType=event_type, globalTid=self.global_tid, **words)

    def kernel(self, op: described.Op, shift_ns: int = 0) -> None:
        kernel = op.kernel or described.HEAD_KERNEL
        sizes = {f"grid{axis}": n for axis, n in zip("XYZ", kernel.blocks, strict=True)}
        sizes |= {f"block{axis}": n for axis, n in zip("XYZ", kernel.block, strict=True)}
        names = {"demangledName": self.string(op.name), "shortName": self.string(op.name.split("_MT")[0])}
        graph = {"graphNodeId": op.node, "graphId": 1} if op.node else {}
        times = (op.start_ns + shift_ns, op.end_ns + shift_ns)
        self.activity("CUPTI_ACTIVITY_KIND_KERNEL", *times, op.correlation, **sizes, **names, **graph)


def _started() -> Export:
    export = Export()
    export.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")
    export.add("TARGET_INFO_GPU", vmId=VM, id=0, name=described.DEVICE_NAMES["cuda"], smCount=132, cuDevice=0)
    return export


def _run_of(export: Export, shift_ns: int = 0, kernels: bool = True) -> None:
    run = described.described_run()
    for call in run.calls:
        name = f"{described.API_NAMES['cuda'][call.kind]}_v3020"
        export.call(name, call.start_ns + shift_ns, call.end_ns + shift_ns, call.correlation)
    for marker in run.markers:
        export.range(marker.name, marker.start_ns + shift_ns, marker.end_ns + shift_ns, by_id=marker.step == 1)
    for op in run.ops:
        if op.kind == "memcpy":
            facts = {"bytes": op.bytes, "copyKind": 1, "copyCount": 1}
            times = (op.start_ns + shift_ns, op.end_ns + shift_ns)
            export.activity("CUPTI_ACTIVITY_KIND_MEMCPY", *times, op.correlation, **facts)
        elif kernels:
            export.kernel(op, shift_ns)


def same_run() -> Content:
    """The described run, recorded with --cuda-graph-trace=node."""
    export = _started()
    _run_of(export)
    return export.content


TWO_PROCESSES_SHIFT_NS = 777


def two_processes() -> Content:
    """Two ranks in one file: equal correlation ids in both processes; syncs and event records; an open range."""
    export = _started()
    export.add("TARGET_INFO_GPU", vmId=VM, id=1, name=described.DEVICE_NAMES["cuda"], smCount=132, cuDevice=1)
    _run_of(export)
    other = export.of(4343, 1)
    _run_of(other, TWO_PROCESSES_SHIFT_NS)
    t = described.T0_NS
    event = {"eventId": 18, "eventSyncId": 5}
    export.add(
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        **{"timestamp": 0, "deviceId": 0, "streamId": 9, "correlationId": 301, "globalPid": export.global_pid, **event},
    )
    for sync_type, stream, facts in ((2, 7, event), (3, 7, {}), (1, _NO_STREAM, event), (4, _NO_STREAM, {})):
        ids = {"syncType": sync_type, "streamId": stream, "eventId": 4_294_967_295, "eventSyncId": 0, **facts}
        export.activity(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", t + sync_type, t + 10 + sync_type, 400 + sync_type, **ids
        )
    other.activity("CUPTI_ACTIVITY_KIND_MEMSET", t + 900_000, t + 900_500, 500, value=0, bytes=64)
    export.range("never closed", t, None, by_id=False, event_type=60)
    export.range("a mark", t, None, by_id=False, event_type=34)
    return export.content


def visible_devices() -> Content:
    """Two ranks that see one GPU each (CUDA_VISIBLE_DEVICES): both call it 0; one table tells which it is."""
    export = _started()
    export.add("TARGET_INFO_GPU", vmId=VM, id=1, name=described.DEVICE_NAMES["cuda"], smCount=132, cuDevice=1)
    other = export.of(4343, 0)
    for gpu, rank in enumerate((export, other)):
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=rank.pid, uuid=f"GPU-{gpu}")
    _run_of(export)
    _run_of(other, TWO_PROCESSES_SHIFT_NS)
    return export.content


VISIBLE_DEVICES_TRUTH = {"processes": {"4242": 0, "4343": 1}, "kernels_per_device": 63}
TWO_PROCESSES_TRUTH = {
    "processes": {"4242": 0, "4343": 1},
    "kernels_per_device": 63,
    "shift_ns": TWO_PROCESSES_SHIFT_NS,
    "memsets": 1,
    "syncs": {"stream_wait": 1, "stream_sync": 1, "event_sync": 1, "context_sync": 1},
    "open_ranges": 1,
    "wait_stream": 9,
    "wait_correlation": 301,
}


def graph_level_only() -> Content:
    """The default of older nsys: each graph launch is one block, and the kernels inside it are not recorded."""
    export = _started()
    _run_of(export, kernels=False)
    run = described.described_run()
    for step in range(described.STEPS):
        inside = [op for op in run.ops if op.step == step and op.kind == "kernel"]
        times = (inside[0].start_ns, inside[-1].end_ns)
        graph = {"graphId": 1, "graphExecId": 2}
        export.activity("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", *times, inside[0].correlation, **graph)
    warm_up = described.Op("kernel", "fill_kernel", described.T0_NS - 9_000, described.T0_NS - 8_000, 1, 0)
    export.kernel(warm_up)
    return export.content


def no_kernels() -> Content:
    """A run without GPU work: the export makes no table of kernels."""
    export = _started()
    for call in described.described_run().calls:
        export.call("cudaFree_v3020", call.start_ns, call.end_ns, call.correlation)
    return export.content
