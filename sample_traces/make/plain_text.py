"""The described run as a plain table, as a profiler of one's own would write it: CSV in ns, JSON Lines in us."""

from __future__ import annotations

import json

from sample_traces.make import run_description as described


def table_csv(run: described.Run) -> str:
    """Whole nanoseconds; names in quotes, for they may hold commas."""
    rows = [f'"{op.name}",{op.kind},{op.start_ns},{op.end_ns},{described.STREAM},{described.DEVICE}' for op in run.ops]
    return "\n".join(["name,kind,start_ns,end_ns,stream,device", *rows, ""])


def table_lines(run: described.Run) -> str:
    """Microseconds with three decimals, which JSON numbers hold exactly as text; a duration in place of the end."""
    lines = [
        f'{{"name": {json.dumps(op.name)}, "kind": "{op.kind}", "start_us": {_us(op.start_ns)}, '
        f'"dur_us": {_us(op.end_ns - op.start_ns)}, "stream": {described.STREAM}, "device": {described.DEVICE}}}'
        for op in run.ops
    ]
    return "\n".join([*lines, ""])


def _us(ns: int) -> str:
    return f"{ns // 1_000}.{ns % 1_000:03d}"
