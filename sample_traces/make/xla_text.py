"""The described run as XLA's profiler writes it for viewers: microseconds since the session began, as doubles."""

from __future__ import annotations

import json

from sample_traces.make import run_description as described

HOST, GPU = 701, 3
OPS, STEPS = 102, 101
_PS_IN_US = 1e6


def _us(ns: int) -> str:
    """Seventeen digits of the double next to it, as the writer prints them."""
    return f"{ns * 1_000 / _PS_IN_US:.17g}"


def _meta(what: str, pid: int, name: str, tid: int | None = None) -> str:
    place = f'"pid":{pid}' + (f',"tid":{tid}' if tid is not None else "")
    order = f'{{"ph":"M",{place},"name":"{what}_sort_index","args":{{"sort_index":{tid or pid}}}}}'
    return f'{{"ph":"M",{place},"name":"{what}_name","args":{{"name":{json.dumps(name)}}}}},{order}'


def _span(pid: int, tid: int, name: str, start_ns: int, end_ns: int, correlation: int | None) -> str:
    times = f'"ts":{_us(start_ns - described.T0_NS)},"dur":{_us(end_ns - start_ns)}'
    args = f',"args":{{"correlation_id":"{correlation}"}}' if correlation is not None else ""
    return f'{{"ph":"X","pid":{pid},"tid":{tid},{times},"name":{json.dumps(name)}{args}}}'


def trace_json(run: described.Run) -> str:
    """Host first, one stream, the steps, and a derived line that repeats the work; the last event is an empty one."""
    api, work = described.API_NAMES["cuda"], range(described.STEPS)
    lines = [(described.STREAM, f"Stream #{described.STREAM}(Compute)"), (STEPS, "Steps"), (OPS, "XLA Ops")]
    events = [_meta("process", HOST, "/host:CPU"), _meta("thread", HOST, "python3", described.TID)]
    events += [_meta("process", GPU, "/device:GPU:0"), *(_meta("thread", GPU, name, tid) for tid, name in lines)]
    events += [_span(HOST, described.TID, api[c.kind], c.start_ns, c.end_ns, c.correlation) for c in run.calls]
    for tid in (described.STREAM, OPS):
        events += [
            _span(GPU, tid, op.name if op.kernel else "MemcpyH2D", op.start_ns, op.end_ns, op.correlation)
            for op in run.ops
        ]
    for step in work:
        ops = [op for op in run.ops if op.step == step]
        ends = max(op.end_ns for op in ops)
        events.append(_span(GPU, STEPS, str(step), ops[0].start_ns, ends, None))
    head = '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":['
    return head + ",".join(events) + ",{}]}"
