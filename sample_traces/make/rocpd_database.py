"""rocpd databases as rocprofv3 writes them: schema 3.0 (times and places in the rows) and 4.0 (tracks, timestamps)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from sample_traces.make import run_description as described
from sample_traces.make.database import Content

GUID = "0195a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b"
OTHER_GUID = "0195a1b2-c3d4-7e5f-8a6b-ffffffffffff"
NODE = 1_574_819_130
GPU, CPU = 4, 0
_SIZES = "workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z"
_TABLES = {
    "metadata": "id* tag~ value~",
    "string": "id* guid~ string~",
    "info_node": "id* guid~ hash machine_id~ system_name~ hostname~ release~ version~ hardware_name~ domain_name~",
    "info_process": "id* guid~ nid ppid pid init fini start end command~ environment{ extdata{",
    "info_thread": "id* guid~ nid ppid pid tid name~ start end extdata{",
    "info_agent": "id* guid~ nid pid type~ absolute_index logical_index type_index uuid name~ model_name~ vendor_name~"
    " product_name~ user_name~ extdata{",
    "info_queue": "id* guid~ nid pid name~ extdata{",
    "info_stream": "id* guid~ nid pid name~ extdata{",
    "info_pmc": "id* guid~ nid pid agent_id target_arch~ event_code instance_id name~ symbol~ description~"
    " long_description~ component~ units~ value_type~ block~ expression~ is_constant is_derived extdata{",
    "info_code_object": "id* guid~ nid pid agent_id uri~ load_base load_size load_delta storage_type~ extdata{",
    "info_kernel_symbol": "id* guid~ nid pid code_object_id kernel_name~ display_name~ kernel_object"
    " kernarg_segment_size kernarg_segment_alignment group_segment_size private_segment_size sgpr_count"
    " arch_vgpr_count accum_vgpr_count extdata{",
    "track": "id* guid~ nid pid tid name_id extdata{",
    "event": "id* guid~ category_id stack_id parent_stack_id correlation_id call_stack{ line_info{ extdata{",
    "arg": "id* guid~ event_id position type~ name~ value~ extdata{",
    "pmc_event": "id* guid~ event_id pmc_id value# extdata{",
    "region": "id* guid~ nid pid tid start end name_id event_id extdata{",
    "sample": "id* guid~ track_id timestamp event_id extdata{",
    "kernel_dispatch": "id* guid~ nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end"
    f" private_segment_size group_segment_size {_SIZES} region_name_id event_id extdata{{",
    "memory_copy": "id* guid~ nid pid tid start end name_id dst_agent_id dst_address src_agent_id src_address size"
    " queue_id stream_id region_name_id event_id extdata{",
    "memory_allocate": "id* guid~ nid pid tid agent_id type~ level~ start end address size queue_id stream_id event_id"
    " extdata{",
}
_CHANGED_IN_4 = {
    "info_category": "id* guid~ name~ extdata{",
    "info_agent": _TABLES["info_agent"].replace("user_name", "generic_name"),
    "track": "id* guid~ nid ppid pid tid agent_id queue_id stream_id name_id extdata{",
    "timestamp": "id* guid~ value phase track_id",
    "event": "id* guid~ category_id stack_id parent_stack_id correlation_id extdata{",
    "region": "id* guid~ track_id name_id start_id end_id event_id extdata{",
    "kernel_dispatch": "id* guid~ track_id kernel_id dispatch_id start_id end_id private_segment_size"
    f" group_segment_size {_SIZES} region_name_id event_id extdata{{",
    "memory_copy": "id* guid~ track_id start_id end_id name_id dst_agent_id dst_address src_agent_id src_address size"
    " region_name_id event_id extdata{",
}
CATEGORIES = {
    3: {"api": "HIP_RUNTIME_API_EXT", "marker": "MARKER_CORE_API", "kernel": "KERNEL_DISPATCH", "copy": "MEMORY_COPY"},
    4: {"api": "hip_api", "marker": "marker_api", "kernel": "kernel_dispatch", "copy": "memory_copy"},
}
COPY_NAME = "MEMORY_COPY_HOST_TO_DEVICE"


@dataclass
class Process:
    """What one process writes; the second process of a merged file has another guid, pid, device and clock offset."""

    guid: str = GUID
    pid: int = described.PID
    tid: int = described.TID
    gpu: int = GPU
    schema: int = 3
    shift_ns: int = 0
    content: Content = field(default_factory=Content)
    strings: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[object, ...], int] = field(default_factory=dict)

    def name(self, base: str) -> str:
        return f"rocpd_{base}_{self.guid.replace('-', '_')}"

    def add(self, base: str, /, **values: object) -> int:
        rows = self.content.rows[self.name(base)]
        row = {"id": len(rows) + 1, **({} if base == "metadata" else {"guid": self.guid}), **values}
        self.content.add(self.name(base), **row)
        return int(str(row["id"]))

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def event(self, kind: str, stack_id: int, extra: str = "{}") -> int:
        text = CATEGORIES[self.schema][kind]
        category = self.string(text) if self.schema == 3 else list(CATEGORIES[4].values()).index(text) + 1
        ids = {"stack_id": stack_id, "parent_stack_id": stack_id, "correlation_id": 0}
        return self.add("event", category_id=category, extdata=extra, **ids)

    def place(self, start_ns: int, end_ns: int, tid: int, **where: int) -> dict[str, object]:
        """Where and when, in the columns of this schema."""
        start, end = start_ns + self.shift_ns, end_ns + self.shift_ns
        if self.schema == 3:
            return {"nid": NODE, "pid": self.pid, "tid": tid, "start": start, "end": end, **where}
        key = (tid, *where.items())
        if key not in self.places:
            self.places[key] = self.add("track", nid=NODE, ppid=1, pid=self.pid, tid=tid, **where)
        track = self.places[key]
        stamps = [self.add("timestamp", value=at, phase=phase, track_id=track) for phase, at in ((1, start), (2, end))]
        return {"track_id": track, "start_id": stamps[0], "end_id": stamps[1]}


def process_tables(process: Process, run: described.Run) -> Content:
    """All tables of one process."""
    tables = {**_TABLES, **(_CHANGED_IN_4 if process.schema == 4 else {})}
    for base, columns in tables.items():
        process.content.table(process.name(base), columns)
    _info(process)
    _host(process, run)
    _device(process, run)
    return process.content


def _info(process: Process) -> None:
    version = "3" if process.schema == 3 else "4.0.0"
    for tag, value in (("schema_version", version), ("uuid", process.guid.replace("-", "_")), ("guid", process.guid)):
        process.add("metadata", tag=tag, value=value)
    process.string("")
    process.add("info_node", id=NODE, hash=NODE, machine_id="0123456789abcdef", system_name="Linux", hostname="node")
    owner = {"nid": NODE, "pid": process.pid}
    process.add("info_process", id=process.pid, ppid=1, command="python -m vllm", **owner)
    process.add("info_thread", id=process.tid, ppid=1, tid=process.tid, **owner)
    for agent, kind, product in ((CPU, "CPU", "AMD EPYC"), (process.gpu, "GPU", described.DEVICE_NAMES["hip"])):
        index = {"absolute_index": agent, "logical_index": agent, "type_index": 0}
        names = {"name": "gfx942" if kind == "GPU" else product, "vendor_name": "AMD", "product_name": product}
        process.add("info_agent", id=agent, type=kind, **index, **names, **owner)
    process.add("info_queue", id=described.QUEUE, name="Queue 0", **owner)
    process.add("info_stream", id=described.STREAM, name="Stream 0", **owner)
    process.add("info_code_object", id=1, agent_id=process.gpu, uri="file:///opt/kernels.so", **owner)
    for symbol, kernel in enumerate((*described.LAYER_KERNELS, described.HEAD_KERNEL), start=8):
        names = {"kernel_name": f"{kernel.name}.kd", "display_name": kernel.name}
        process.add("info_kernel_symbol", id=symbol, code_object_id=1, **names, **owner)
    if process.schema == 4:
        for text in CATEGORIES[4].values():
            process.add("info_category", name=text)


def _host(process: Process, run: described.Run) -> None:
    apis = described.API_NAMES["hip"]
    for call in run.calls:
        event = process.event("api", call.correlation)
        where = process.place(call.start_ns, call.end_ns, process.tid)
        process.add("region", id=call.correlation, name_id=process.string(apis[call.kind]), event_id=event, **where)
    first = max(1_000, *(call.correlation + 1 for call in run.calls))  # ids of calls and ranges share a table
    for number, marker in enumerate(run.markers, start=first):
        # older writers name the range after the call and keep the text in the event; newer ones swap the two
        text = marker.name if process.schema == 3 else "roctxRangePushA"
        name = "roctxRangePushA" if process.schema == 3 else marker.name
        event = process.event("marker", number, json.dumps({"message": text}))
        where = process.place(marker.start_ns, marker.end_ns, process.tid)
        process.add("region", id=number, name_id=process.string(name), event_id=event, **where)


def _device(process: Process, run: described.Run) -> None:
    symbols = [kernel.name for kernel in (*described.LAYER_KERNELS, described.HEAD_KERNEL)]
    lanes = {"agent_id": process.gpu, "queue_id": described.QUEUE, "stream_id": described.STREAM}
    for op in run.ops:
        if op.kernel is None:
            _copy(process, op)
            continue
        sizes = zip("xyz", op.kernel.block, op.kernel.grid_threads, strict=True)
        shape = {f"{k}_size_{axis}": n for axis, b, g in sizes for k, n in (("workgroup", b), ("grid", g))}
        event = process.event("kernel", op.correlation)
        where = process.place(op.start_ns, op.end_ns, process.tid, **lanes)
        number = len(process.content.rows[process.name("kernel_dispatch")]) + 1
        ids = {"kernel_id": symbols.index(op.name) + 8, "dispatch_id": number, "region_name_id": 1, "event_id": event}
        process.add("kernel_dispatch", private_segment_size=0, group_segment_size=0, **shape, **where, **ids)


def _copy(process: Process, op: described.Op) -> None:
    event = process.event("copy", op.correlation)
    where = process.place(op.start_ns, op.end_ns, process.tid, stream_id=described.STREAM)
    agents = {"dst_agent_id": process.gpu, "src_agent_id": CPU, "dst_address": 4096, "src_address": 8192}
    facts = {"name_id": process.string(COPY_NAME), "size": op.bytes, "event_id": event}
    process.add("memory_copy", **where, **agents, **facts)


def with_views(content: Content, guids: Sequence[str]) -> Content:
    """Add the views that the writer adds last: one per table, over all guids, and the readable ones on top."""
    suffixes = [guid.replace("-", "_") for guid in guids]
    for base in _TABLES:
        parts = " UNION ALL ".join(f"SELECT * FROM `rocpd_{base}_{suffix}`" for suffix in suffixes)  # noqa: S608
        content.after.append(f"CREATE VIEW `rocpd_{base}` AS {parts}")
    content.after.append(
        "CREATE VIEW `kernels` AS SELECT K.id, K.guid, S.display_name AS name, K.start, K.end, K.queue_id, K.stream_id "
        "FROM `rocpd_kernel_dispatch` K JOIN `rocpd_info_kernel_symbol` S ON S.id = K.kernel_id AND S.guid = K.guid"
    )
    return content


def merged(first: Content, second: Content) -> Content:
    """One file with the tables of two processes, as `rocpd merge` leaves it."""
    return Content({**first.tables, **second.tables}, {**first.rows, **second.rows})
