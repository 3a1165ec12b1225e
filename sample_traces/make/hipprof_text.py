"""hipprof's timeline (Chrome JSON, HTML page) and sums (hipkernel.csv), in the layout seen in files of DTK 25."""

from __future__ import annotations

import json

from sample_traces.make import run_description as described
from sample_traces.make.rocprofv3_text import sums_by_name

_API_IDS = {"hipMemcpyAsync": 13, "hipGraphLaunch": 249, "hipStreamSynchronize": 204}
_PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>DTK://tracing</title>
<script>
// a viewer for files like {"traceEvents": [{"name": "example"}]}
var str = ""; function show(str) { return str; }
</script></head><body><script>
str = '%s';
show(JSON.parse(str));
</script></body></html>
"""


def _us(ns: int) -> float:
    """Microseconds since the recording began, four decimals."""
    return round((ns - described.T0_NS) / 1_000, 4)


def _span(
    cat: str, name: str, pid: int, tid: str, start_ns: int, end_ns: int, args: dict[str, object]
) -> dict[str, object]:
    times = {"ts": _us(start_ns), "dur": round((end_ns - start_ns) / 1_000, 4)}
    exact = {"BeginNs": str(start_ns), "EndNs": str(end_ns), "DurationNs": str(end_ns - start_ns)}
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, **times, "args": {**exact, **args}}


def _tracks() -> list[dict[str, object]]:
    titles = (f"[1] Runtime API  IP:10.0.0.1 pid:{described.PID}", f"[2] Stream on Device {described.DEVICE}")
    more = (f"Memory Copy on Device {described.DEVICE}", f"[3] HIPTX  IP:10.0.0.1 pid:{described.PID}")
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": title}, "sort_index": pid}
        for pid, title in enumerate((*titles, *more), start=1)
    ]


def _calls(run: described.Run) -> list[dict[str, object]]:
    names = described.API_NAMES["hip"]
    events = []
    for call in run.calls:
        api = names[call.kind]
        args = {"name": str(_API_IDS[api]), "args": "stream=0x7", "index": call.correlation, "state": 0}
        events.append(_span("HIP", api, 1, f"Thread{described.TID}", call.start_ns, call.end_ns, args))
    return events


def _work(run: described.Run) -> list[dict[str, object]]:
    events = []
    for op in run.ops:
        lane = {
            "devId": described.DEVICE,
            "queueId": str(described.QUEUE),
            "procId": described.PID,
            "index": op.correlation,
        }
        if op.kernel:
            args = {**lane, "name": op.name, "accu_id": 0}
            events.append(_span("HIPOPS", op.name, 2, f"Stream{described.QUEUE}", op.start_ns, op.end_ns, args))
        else:
            copied = {**lane, "Bytes": op.bytes}
            events.append(_span("HIPCOPY", "hipMemcpyAsync", 3, "H2D", op.start_ns, op.end_ns, copied))
    return events


def _ranges(run: described.Run) -> list[dict[str, object]]:
    lane = f"Thread{described.TID}"
    return [_span("HIPTX", m.name, 4, lane, m.start_ns, m.end_ns, {"index": 900 + m.step}) for m in run.markers]


def _flows(run: described.Run) -> list[dict[str, object]]:
    events: list[dict[str, object]] = []
    for call in run.calls:
        flow = {"cat": "DataFlow", "name": "dep", "id": int(f"{described.PID}{call.correlation}")}
        events.append({"ph": "s", **flow, "pid": 1, "tid": f"Thread{described.TID}", "ts": _us(call.start_ns)})
        for op in run.ops:
            if op.correlation == call.correlation and op.kernel:
                events.append(
                    {"ph": "t", **flow, "pid": 2, "tid": f"Stream{described.QUEUE}", "ts": _us(op.start_ns) + 1e-4}
                )
    return events


def timeline_json(run: described.Run) -> str:
    """`--output-type 0`: one event a line."""
    events = [*_tracks(), *_calls(run), *_work(run), *_ranges(run), *_flows(run)]
    return '{"traceEvents":[' + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "]}\n"


def timeline_html(run: described.Run) -> str:
    """`--output-type 1`: the same in one line of a page, behind a viewer that mentions traceEvents itself."""
    return _PAGE.replace("%s", timeline_json(run).replace("\n", ""))


def hipkernel_csv(run: described.Run) -> str:
    """Sums per name, every value quoted, and their total as the last row."""
    rows = [["Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"]]
    sums = sums_by_name(run)
    whole = sum(map(sum, sums.values()))
    for name, durations in sorted(sums.items(), key=lambda item: -sum(item[1])):
        total = sum(durations)
        rows.append([name, str(len(durations)), str(total), str(total // len(durations)), f"{100 * total / whole:.2f}"])
    calls = sum(map(len, sums.values()))
    rows.append(["Total", str(calls), str(whole), str(whole // calls), "100.0"])
    return "".join(",".join(f'"{value}"' for value in row) + "\n" for row in rows)
