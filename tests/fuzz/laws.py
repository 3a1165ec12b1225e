"""Laws that hold for every trace and every answer, computed anew in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from trace_budget.schema.trace import Trace

_LONGEST_NS = 1 << 63
_EPS = 2e-3


def of_trace(trace: Trace) -> None:
    """Every operation has a usable time or a caveat counts it; links and numbers point at rows that exist."""
    ops = trace.gpu_ops
    told = Counter({caveat.code: caveat.count for caveat in trace.caveats})
    unknown = ops["start_ns"].null_count()
    assert unknown <= told["bad_start"] + told["zero_timestamps"], f"{unknown} unknown starts, told {dict(told)}"
    endless = ops.filter(ops["start_ns"].is_not_null() & ops["end_ns"].is_null()).height
    assert endless <= told["bad_duration"] + told["slice_ends_doubtful"], f"{endless} unknown ends, told {dict(told)}"
    for start, end in spans(trace):
        assert -_LONGEST_NS < start <= end < _LONGEST_NS, f"{start} to {end}"
    if trace.aggregates is not None:
        assert ops.height == 0, "sums beside a timeline"
        assert trace.aggregates["calls"].min() is None or trace.aggregates["calls"].min() > 0, "sums of no call"  # type: ignore[operator]


def spans(trace: Trace) -> list[tuple[int, int]]:
    """Start and end of the operations whose times are known."""
    return [
        (start, end) for start, end in trace.gpu_ops.select("start_ns", "end_ns").rows() if None not in (start, end)
    ]


def of_document(command: str, document: dict[str, Any], trace: Trace) -> None:
    """No number is infinite, the file's caveats are told, and sums are those of the trace."""
    _finite(document)
    codes = {caveat["code"] for caveat in document.get("caveats", ())} | {
        finding["code"] for finding in document.get("findings", ())
    }
    lost = {caveat.code for caveat in trace.caveats if caveat.severity != "note"}
    assert lost <= codes, f"not told: {sorted(lost - codes)}"
    if not trace.complete:
        traces = document.get("traces", [document.get("trace", {})])
        assert not any(one.get("complete", True) for one in traces), "PARTIAL is not told"
    if command == "overlap":
        _overlap(document, trace)
    if command == "kernels" and trace.aggregates is None:
        kernels = int((trace.gpu_ops["kind"] == "kernel").sum())
        calls = sum(row["calls"] for row in document["rows"] if row["kind"] == "kernel")
        assert calls <= kernels, f"{calls} calls of {kernels} kernels"


def _finite(value: Any) -> None:
    if isinstance(value, float):
        assert math.isfinite(value), value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _finite(inner)


def _overlap(document: dict[str, Any], trace: Trace) -> None:
    """Busy time is the union of the spans, and with idle time it is the window."""
    by_device: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for device, start, end in trace.gpu_ops.select("device", "start_ns", "end_ns").rows():
        if None not in (start, end):
            by_device[device].append((start, end))
    for row in document["devices"]:
        busy = row["busy_us"] or 0.0
        union = _union_ns(by_device[row["device"]]) / 1_000
        assert abs(busy - union) <= _EPS + 1e-9 * union, f"device {row['device']}: busy {busy}, union {union}"
        if row["window_us"] is not None:
            assert abs(busy + row["idle_us"] - row["window_us"]) <= 2 * _EPS + 1e-9 * row["window_us"], row


def _union_ns(intervals: list[tuple[int, int]]) -> int:
    total, reached = 0, -_LONGEST_NS
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
