"""Grows a Kineto trace to any size: `python benchmarks/grow.py TRACE OUT.json --mb 1000`; prints the totals it holds.

The events are repeated with times and correlation ids shifted, so that every id stays unique and time goes on. Times
are integers of nanoseconds throughout; the layout is libkineto's (two spaces, arguments on lines of their own).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_IDS = ("correlation", "External id", "Ev Idx", "Python id", "Python parent id")
_GAP_NS = 1_000_000


def read(path: Path) -> dict[str, Any]:
    """The document, its decimal numbers as the texts they are."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        document = json.load(file, parse_float=str, strict=False)
    return document if isinstance(document, dict) else {"traceEvents": document}


def ns(value: int | str) -> int:
    """Nanoseconds of a number of microseconds, exactly."""
    whole, _, decimals = str(value).partition(".")
    return int(whole or 0) * 1_000 + int((decimals + "000")[:3])


def text_of(event: dict[str, Any], shift_ns: int, shift_id: int) -> str:
    """One event of a repetition as libkineto writes it."""
    moved = dict(event)
    if "ts" in moved:
        time = ns(moved["ts"]) + shift_ns
        moved["ts"] = f"{time // 1_000}.{time % 1_000:03}"
    if isinstance(moved.get("args"), dict):
        moved["args"] = {k: v + shift_id if k in _IDS and isinstance(v, int) else v for k, v in moved["args"].items()}
    if moved.get("ph") in ("s", "f", "t") and isinstance(moved.get("id"), int):
        moved["id"] += shift_id
    fields = [f'"{key}": {_value(key, value)}' for key, value in moved.items() if key != "args"]
    arguments = json.dumps(moved["args"], indent=4) if "args" in moved else ""
    return "  {\n    " + ", ".join(fields) + (f',\n    "args": {arguments}' if arguments else "") + "\n  }"


def _value(key: str, value: Any) -> str:
    return value if key in ("ts", "dur") and isinstance(value, str) else json.dumps(value)


def repetitions(document: dict[str, Any]) -> Iterator[str]:
    """The texts of the events, again and again."""
    events = [event for event in document["traceEvents"] if isinstance(event, dict)]
    spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0))) for e in events if e.get("ph") == "X"]
    length = max(end for _, end in spans) - min(start for start, _ in spans) + _GAP_NS
    ids = [v for e in events for k, v in (e.get("args") or {}).items() if k in _IDS and isinstance(v, int)]
    step = max(ids, default=0) + 1
    number = 0
    while True:
        for event in events:
            yield text_of(event, number * length, number * step)
        number += 1


def grow(source: Path, out: Path, size_mb: float) -> dict[str, int]:
    """Write `size_mb` million bytes of whole events; what they hold."""
    document = read(source)
    held = {"events": 0, "gpu_ops": 0, "sum_ns": 0, "bytes": 0}
    per_event = [(e.get("cat") in _GPU and e.get("ph") == "X", ns(e.get("dur", 0))) for e in document["traceEvents"]]
    head = {key: value for key, value in document.items() if key != "traceEvents"}
    opener = gzip.open if out.suffix == ".gz" else open
    with opener(out, "wt", encoding="utf-8") as file:
        held["bytes"] += file.write(
            json.dumps(head, indent=2)[:-2] + (",\n" if head else "\n") + '  "traceEvents": [\n'
        )
        for at, text in enumerate(repetitions(document)):
            on_device, dur_ns = per_event[at % len(per_event)]
            held["bytes"] += file.write(text if at == 0 else f",\n{text}")
            held["events"] += 1
            held["gpu_ops"] += on_device
            held["sum_ns"] += dur_ns if on_device else 0
            if held["bytes"] >= size_mb * 1e6:
                break
        held["bytes"] += file.write("\n  ]\n}\n")
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, default=250)
    asked = parser.parse_args()
    print(json.dumps(grow(asked.source, asked.out, asked.mb)))
