"""A second, independent reading of Kineto text: the json module with Decimals, plain loops, no Polars."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

OPS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
RANGES = ("user_annotation", "gpu_user_annotation")
Row = dict[str, Any]


def loaded(path: Path) -> dict[str, Any]:
    """The document with every number exact."""
    data = path.read_bytes()
    text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    document = json.loads(text, parse_float=Decimal)
    return document if isinstance(document, dict) else {"traceEvents": document}


def rows_of(document: dict[str, Any]) -> dict[str, list[Row]]:
    """The rows of each table in time order, as whole traces must give them."""
    base = int(document.get("baseTimeNanoseconds", 0))
    tables: dict[str, list[Row]] = {"gpu_ops": [], "calls": [], "markers": [], "syncs": []}
    for event in document["traceEvents"]:
        category, name = event.get("cat"), event.get("name", "")
        if category in OPS:
            tables["gpu_ops"].append(op_row(event, base))
        elif category in ("cuda_runtime", "cuda_driver"):
            ids = {"pid": event["pid"], "tid": event["tid"], "correlation": event["args"]["correlation"]}
            tables["calls"].append({**times(event, base), "name": name, **ids})
        elif category in RANGES or (category == "python_function" and name.startswith("nn.Module: ")):
            tables["markers"].append(marker_row(event, base))
        elif category == "cuda_sync":
            tables["syncs"].append(sync_row(event, base))
    return {name: sorted(rows, key=lambda row: int(row["start_ns"])) for name, rows in tables.items()}


def times(event: Row, base: int) -> Row:
    """Start and end in ns."""
    start, length = Decimal(event["ts"]) * 1000, Decimal(event["dur"]) * 1000
    assert start == int(start)
    assert length == int(length)
    return {"start_ns": base + int(start), "end_ns": base + int(start) + int(length)}


def op_row(event: Row, base: int) -> Row:
    """One row of gpu_ops."""
    args = event["args"]
    shape = {
        f"{what}_{axis}": args.get(what, [None] * 3)[at] or None
        for what in ("grid", "block")
        for at, axis in enumerate("xyz")
    }
    known = {key: args[key] for key in ("device", "stream", "correlation")}
    extra = {"bytes": args.get("bytes"), "graph_node_id": args.get("graph node id")}
    return {
        **times(event, base),
        "kind": OPS[event["cat"]],
        "name": event["name"] if event["name"].strip() else "<unnamed>",
        **known,
        **extra,
        **shape,
    }


def marker_row(event: Row, base: int) -> Row:
    """One row of markers."""
    if event["cat"] == "gpu_user_annotation":
        where = {"kind": "gpu_annotation", "pid": None, "tid": None, "device": event["pid"]}
    else:
        kind = "annotation" if event["cat"] == "user_annotation" else "module"
        where = {"kind": kind, "pid": event["pid"], "tid": event["tid"], "device": None}
    return {**times(event, base), "name": event["name"], **where}


def sync_row(event: Row, base: int) -> Row:
    """One row of syncs; -1 stands for none."""
    args = event["args"]
    kinds = {"Stream Sync": "stream_sync", "Event Sync": "event_sync", "Context Sync": "context_sync"}
    known = {
        "stream": args.get("stream", -1),
        "wait_stream": args.get("wait_on_stream", -1),
        "wait_correlation": args.get("wait_on_cuda_event_record_corr_id", -1),
    }
    return {
        **times(event, base),
        "kind": kinds.get(event["name"], "stream_wait"),
        "device": args["device"],
        "correlation": args["correlation"],
        **{key: None if value == -1 else value for key, value in known.items()},
    }
