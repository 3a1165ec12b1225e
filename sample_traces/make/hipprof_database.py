"""hipprof (Hygon DTK) databases: one set of tables per process KEY, values partly stored as text."""

from __future__ import annotations

from dataclasses import dataclass, field

from sample_traces.make import run_description as described
from sample_traces.make.database import Content

_TYPE_KERNEL = 6
_SHARED = {
    "CONFIG": "PID KEY~ TIME_OF_DAY~ START_TIME~ VERSION~",
    "STR_TABLE": "PID CONFIG_KEY~ TYPE STR_ID STR_NAME~",
}
_PER_KEY = {
    "HIP": "BeginNs EndNs pid tid Name args~ _Index State DurationNs ExtIndex",
    "HIPOPS": "BeginNs EndNs dev_id queue_id~ Name~ pid tid _Index DurationNs PARS~ accum_id",
    "HIPCOPY": "BeginNs~ EndNs~ dev_id queue_id~ pid tid Kind Bytes MemoryType _Index DurationNs",
    "HIPTX": "type cid _Index BeginNs EndNs pid tid rid message~ begin_Index end_Index",
}
_API_IDS = {"hipMemcpyAsync": 13, "hipGraphLaunch": 249, "hipStreamSynchronize": 204}


@dataclass
class Worker:
    """One process: its KEY names its tables; STR_TABLE ids begin again in each."""

    content: Content
    key: str = "4242_1712195495"
    pid: int = described.PID
    device: int = described.DEVICE
    ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, columns in _SHARED.items():
            if name not in self.content.tables:
                self.content.table(name, columns)
        for name, columns in _PER_KEY.items():
            self.content.table(f"{name}_{self.key}", columns)
        times = {"TIME_OF_DAY": str(described.T0_NS), "START_TIME": "63870697244927"}
        self.content.add("CONFIG", PID=self.pid, KEY=self.key, VERSION="25.10", **times)
        # another kind of text with the same ids as the kernels
        self.content.add("STR_TABLE", PID=self.pid, CONFIG_KEY=self.key, TYPE=2, STR_ID=1, STR_NAME="not a kernel")

    def add(self, table: str, start_ns: int, end_ns: int, **values: object) -> None:
        times = {"BeginNs": start_ns, "EndNs": end_ns, "pid": self.pid}
        self.content.add(f"{table}_{self.key}", **times, **values)

    def kernel_id(self, name: str) -> int:
        if name not in self.ids:
            self.ids[name] = len(self.ids) + 1
            owner = {"PID": self.pid, "CONFIG_KEY": self.key, "TYPE": _TYPE_KERNEL}
            self.content.add("STR_TABLE", **owner, STR_ID=self.ids[name], STR_NAME=name)
        return self.ids[name]

    def record(self, run: described.Run, shift_ns: int = 0) -> None:
        """All rows of the run; `_Index` counts the API calls and is repeated on everything a call enqueued."""
        apis = described.API_NAMES["hip"]
        for call in run.calls:
            name = apis[call.kind]
            # from DTK 24 on, `args` holds the call as text
            facts = {"Name": _API_IDS[name], "args": f"{name}(stream=0x7)", "_Index": call.correlation, "State": 0}
            times = (call.start_ns + shift_ns, call.end_ns + shift_ns)
            self.add("HIP", *times, tid=described.TID, DurationNs=times[1] - times[0], **facts)
        for marker in run.markers:
            mine = [call.correlation for call in run.calls if call.step == marker.step]
            bounds = {"begin_Index": min(mine), "end_Index": max(mine), "_Index": 900 + marker.step}
            times = (marker.start_ns + shift_ns, marker.end_ns + shift_ns)
            self.add("HIPTX", *times, type=1, cid=1, tid=described.TID, rid=0, message=marker.name, **bounds)
        for op in run.ops:
            self._op(op, shift_ns)

    def _op(self, op: described.Op, shift_ns: int) -> None:
        start, end = op.start_ns + shift_ns, op.end_ns + shift_ns
        lane = {"dev_id": self.device, "queue_id": str(described.QUEUE), "tid": 0, "_Index": op.correlation}
        if op.kind == "memcpy":
            self.add("HIPCOPY", start, end, Kind=1, Bytes=op.bytes, MemoryType=2, DurationNs=end - start, **lane)
            return
        name = str(self.kernel_id(op.name))
        self.add("HIPOPS", start, end, Name=name, DurationNs=str(end - start), PARS="", accum_id=0, **lane)


def same_run() -> Content:
    """The described run; the columns of the copies' times are text, as whole databases may be."""
    content = Content()
    Worker(content).record(described.described_run())
    return content


TWO_WORKERS_SHIFT_NS = 777


def two_workers() -> Content:
    """Two data-parallel workers whose _Index and STR_ID values are equal, kernels in another order of ids."""
    content = Content()
    Worker(content).record(described.described_run())
    other = Worker(content, "4343_1712195496", 4343, 1)
    for kernel in reversed((*described.LAYER_KERNELS, described.HEAD_KERNEL)):
        other.kernel_id(kernel.name)
    other.record(described.described_run(), TWO_WORKERS_SHIFT_NS)
    return content


TWO_WORKERS_TRUTH = {"processes": {"4242": 0, "4343": 1}, "kernels_per_device": 63, "shift_ns": TWO_WORKERS_SHIFT_NS}
