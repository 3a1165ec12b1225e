"""RPD (rocmProfileData) databases of the schemas 2 and 3, as rpd_tracer writes them."""

from __future__ import annotations

from dataclasses import dataclass

from sample_traces.make import run_description as described
from sample_traces.make.database import Content

GPU = 2
# rpd_tracer offsets the ids of every session
OFFSET = 1 << 32
_KERNEL_API = (
    "api_ptr_id stream~ gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize privateSegmentSize"
    " kernelArgAddress~ aquireFence~ releaseFence~ codeObject_id kernelName_id"
)
_COPY_API = "api_ptr_id stream~ size width height kind dst~ src~ dstDevice srcDevice sync pinned"
_TABLES = {
    "rocpd_metadata": "id* tag~ value~",
    "rocpd_string": "id* string~",
    "rocpd_api": "id* pid tid start end apiName_id args_id",
    "rocpd_op": "id* gpuId queueId sequenceId completionSignal~ start end description_id opType_id",
    "rocpd_api_ops": "id* api_id op_id",
    "rocpd_kernelapi": _KERNEL_API,
    "rocpd_copyapi": _COPY_API,
    "rocpd_monitor": "id* deviceType~ deviceId monitorType~ start end value~",
}
_CHANGED_IN_3 = {
    "rocpd_ustring": "id* string~",
    "rocpd_api": "id* pid tid start end apiName_id category_id domain_id args_id",
    "rocpd_op": "id* gpuId queueId sequenceId start end description_id opType_id",
}
_KERNEL_VIEW = (
    "SELECT B.id, gpuId, queueId, start, end, D.string AS kernelName FROM rocpd_api_ops A JOIN rocpd_op B ON B.id ="
    " A.op_id JOIN rocpd_kernelapi C ON C.api_ptr_id = A.api_id JOIN rocpd_string D ON D.id = kernelName_id"
)


class Recorder:
    """Fills the tables; in schema 3 the texts of user ranges have a table of their own, whose ids begin again at 1."""

    def __init__(self, schema: int = 2) -> None:
        self.schema = schema
        self.gpu, self.first = GPU, OFFSET
        self.content = Content()
        for name, columns in {**_TABLES, **(_CHANGED_IN_3 if schema == 3 else {})}.items():
            self.content.table(name, columns)
        self.ids: dict[tuple[str, str], int] = {}
        self.content.add("rocpd_metadata", tag="schema_version", value=str(schema))
        self.string("")
        self.range_text("")

    def _text(self, table: str, text: str) -> int:
        if (table, text) not in self.ids:
            self.ids[table, text] = len(self.content.rows[table]) + 1
            self.content.add(table, id=self.ids[table, text], string=text)
        return self.ids[table, text]

    def string(self, text: str) -> int:
        return self._text("rocpd_string", text)

    def range_text(self, text: str) -> int:
        return self._text("rocpd_ustring" if self.schema == 3 else "rocpd_string", text)

    def api(self, number: int, name: str, text: str, start_ns: int, end_ns: int, domain: str = "hip") -> int:
        row: dict[str, object] = {"id": self.first + number, "pid": described.PID, "tid": described.TID}
        row |= {"start": start_ns, "end": end_ns, "apiName_id": self.string(name), "args_id": self.range_text(text)}
        if self.schema == 3:
            row |= {"category_id": self.string(""), "domain_id": self.string(domain)}
        self.content.add("rocpd_api", **row)
        return self.first + number

    def op(self, op_type: str, name: str, start_ns: int, end_ns: int, api_id: int | None) -> int:
        number = OFFSET + len(self.content.rows["rocpd_op"]) + 1
        times = {
            "start": start_ns,
            "end": end_ns,
            "description_id": self.string(name),
            "opType_id": self.string(op_type),
        }
        signal = {"completionSignal": ""} if self.schema == 2 else {}
        lane = {"gpuId": self.gpu, "queueId": described.QUEUE, "sequenceId": 0}
        self.content.add("rocpd_op", id=number, **lane, **signal, **times)
        if api_id is not None:
            self.content.add("rocpd_api_ops", api_id=api_id, op_id=number)
        return number

    def copy_api(self, api_id: int, size: int) -> None:
        # rpd_tracer leaves numbers it does not know as empty text
        place = {
            "dst": "0x7f59c1260000",
            "src": "0x7f5562b2a800",
            "dstDevice": 0,
            "srcDevice": 0,
            "sync": 0,
            "pinned": 0,
        }
        self.content.add(
            "rocpd_copyapi", api_ptr_id=api_id, stream="0x7", size=size, width="", height="", kind=1, **place
        )

    def kernel_api(self, api_id: int, kernel: described.Kernel) -> None:
        sizes = {f"grid{axis}": n for axis, n in zip("XYZ", kernel.grid_threads, strict=True)}
        sizes |= {f"workgroup{axis}": n for axis, n in zip("XYZ", kernel.block, strict=True)}
        unknown = {"kernelArgAddress": "", "aquireFence": "", "releaseFence": "", "codeObject_id": ""}
        memory = {"groupSegmentSize": 0, "privateSegmentSize": 0}
        name = {"kernelName_id": self.string(kernel.name)}
        self.content.add("rocpd_kernelapi", api_ptr_id=api_id, stream="0x7", **sizes, **memory, **unknown, **name)


@dataclass(frozen=True)
class Source:
    """What a source of RPD calls kernels and copies, and whether it knows where copies ran."""

    kernel: str = "Task"
    copy: str = "CopyHostToDevice"
    places_copies: bool = True


ROCTRACER = Source()
# rocprofiler-sdk: every kernel alike, copies as of GPU 0 and queue 0
SDK = Source("KernelExecution", "MEMORY_COPY_HOST_TO_DEVICE", places_copies=False)


def same_run(schema: int = 2, source: Source = ROCTRACER) -> Content:
    """The described run: kernels inside the graph launches have no launch facts."""
    recorder = Recorder(schema)
    record(recorder, described.described_run(), source)
    recorder.content.after.append(f"CREATE VIEW kernel AS {_KERNEL_VIEW}")
    return recorder.content


def record(recorder: Recorder, run: described.Run, source: Source = ROCTRACER) -> None:
    """Calls, ranges and work of a run."""
    apis, gpu = described.API_NAMES["hip"], recorder.gpu
    for call in run.calls:
        recorder.api(call.correlation, apis[call.kind], "", call.start_ns, call.end_ns)
    for number, marker in enumerate(run.markers, start=1 << 31):
        recorder.api(number, "UserMarker", marker.name, marker.start_ns, marker.end_ns, "roctx")
    for op in run.ops:
        launch = recorder.first + op.correlation
        if op.kernel is not None:
            recorder.op(source.kernel, op.name, op.start_ns, op.end_ns, launch)
            continue
        recorder.gpu = gpu if source.places_copies else 0
        recorder.op(source.copy, "", op.start_ns, op.end_ns, launch)
        recorder.copy_api(launch, described.COPY_BYTES)
        recorder.gpu = gpu


def of_clr() -> Content:
    """HIP's own runtime as source: kernels without names, copies by the engine that made them."""
    recorder, run = Recorder(3), described.described_run()
    for call in run.calls:
        recorder.api(call.correlation, described.API_NAMES["hip"][call.kind], "", call.start_ns, call.end_ns)
    for op in run.ops:
        kind, name = ("KernelExecution", "") if op.kernel else ("Memcpy", "SDMA")
        recorder.op(kind, name, op.start_ns, op.end_ns, recorder.first + op.correlation)
    return recorder.content


def odd_rows() -> Content:
    """An eager launch, a fill, a graph copy, a barrier, a mark without length, an orphan and times that cannot be."""
    recorder, t = Recorder(), described.T0_NS
    kernel = described.LAYER_KERNELS[1]
    launch = recorder.api(1, "hipLaunchKernel", "", t, t + 100)
    recorder.kernel_api(launch, kernel)
    recorder.op("KernelExecution", kernel.name, t + 1_000, t + 22_013, launch)
    fill = recorder.api(2, "hipMemsetAsync", "", t + 200, t + 300)
    recorder.op("FillBuffer", "", t + 22_013, t + 23_000, fill)
    graph = recorder.api(3, "hipGraphLaunch", "", t + 400, t + 500)
    recorder.op("CopyDeviceToDevice", "", t + 23_000, t + 24_000, graph)
    recorder.op("Task", kernel.name, t + 24_000, t + 45_013, graph)
    recorder.op("Barrier", "", t + 45_013, t + 45_014, graph)
    recorder.op("KernelExecution", "launched_before_tracing", t - 5_000, t - 4_000, None)
    recorder.op("Task", "ends_before_it_starts", t + 50_000, t + 49_000, graph)
    recorder.op("Task", "never_timed", 0, 0, graph)
    recorder.api(1 << 31, "UserMarker", "a mark, not a range", t + 10, t + 10)
    recorder.api((1 << 31) + 1, "UserMarker", "range \x1b[31mred", t, t + 600)
    return recorder.content


ODD_ROWS_TRUTH = {
    "kernels": 5,
    "memcpys": 1,
    "memsets": 1,
    "barriers_left_out": 1,
    "orphans": 1,
    "without_start": 1,
    "without_end": 1,
    "markers": 1,
    "kernel_sum_ns": 21_013 + 21_013 + 1_000,
}
