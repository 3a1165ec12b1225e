"""Small Kineto traces as text: hand-written events in the layouts met in the field, and ways to damage one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trace_budget.contracts import ReadOptions
from trace_budget.readers.kineto.kineto import read
from trace_budget.schema.trace import Trace

LAYOUTS = ("kineto", "one_line", "indented", "minified", "sorted_keys")
ORDERS = ("events_last", "events_first", "events_in_the_middle")
Event = Mapping[str, Any]


class Digits(float):
    """A number whose digits are written as given: the way to put `1712195495604628.867` into JSON text exactly."""

    def __new__(cls, text: str) -> Digits:
        self = super().__new__(cls, text)
        self.text = text
        return self

    text: str

    def __repr__(self) -> str:
        return self.text


def kernel(name: str, ts: object, dur: object, correlation: int = 1, stream: object = 7, **args: object) -> Event:
    """A kernel event as CUDA backends write it."""
    shape = {"grid": [4, 2, 1], "block": [128, 1, 1]}
    all_args = {"device": 0, "stream": stream, "correlation": correlation, **shape, **args}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur, "args": all_args}


def call(name: str, ts: object, dur: object, correlation: int = 1, tid: object = 100) -> Event:
    """A runtime call."""
    args = {"External id": 5, "cbid": 211, "correlation": correlation}
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 100, "tid": tid, "ts": ts, "dur": dur, "args": args}


def annotation(name: str, ts: object, dur: object) -> Event:
    """A user annotation on the host."""
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 100, "tid": 100, "ts": ts, "dur": dur}


def event_text(event: Event, layout: str = "kineto") -> str:
    """One event as JSON text in a layout."""
    if layout == "minified":
        return dumped(event, separators=(",", ":"))
    if layout == "indented":
        return dumped(event, indent=4)
    if layout == "sorted_keys":
        return dumped(event, sort_keys=True)
    if layout == "one_line":
        return dumped(event)
    return (
        "\n  {\n    "
        + dumped(event)[1:-1].replace(', "ts"', ',\n    "ts"').replace(', "args"', ',\n    "args"')
        + "\n  }"
    )


def dumped(value: object, **how: Any) -> str:
    """`json.dumps` that writes Digits as they are (the C encoder would write the float)."""
    encoder = json.JSONEncoder(ensure_ascii=False, **how)
    marks: dict[str, str] = {}
    text = encoder.encode(_marked(value, marks))
    for mark, digits in marks.items():
        text = text.replace(f'"{mark}"', digits)
    return text


def _marked(value: object, marks: dict[str, str]) -> object:
    if isinstance(value, Digits):
        mark = f"@digits{len(marks)}@"
        marks[mark] = value.text
        return mark
    if isinstance(value, Mapping):
        return {key: _marked(item, marks) for key, item in value.items()}
    return [_marked(item, marks) for item in value] if isinstance(value, list) else value


def document(
    events: Sequence[Event | str],
    meta: Mapping[str, object] | None = None,
    layout: str = "kineto",
    order: str = "events_last",
) -> bytes:
    """A whole trace; events given as text are put in as they are."""
    texts = [event if isinstance(event, str) else event_text(event, layout) for event in events]
    comma, colon = (",", ":") if layout == "minified" else (", ", ": ")
    array = '"traceEvents"' + colon + "[" + comma.join(texts) + "]"
    fields = [f'"{key}"{colon}{dumped(value)}' for key, value in (meta or {"schemaVersion": 1}).items()]
    place = {"events_last": len(fields), "events_first": 0, "events_in_the_middle": len(fields) // 2}[order]
    return ("{" + comma.join([*fields[:place], array, *fields[place:]]) + "}").encode("utf-8", "surrogatepass")


def read_bytes(
    folder: Path, data: bytes, segment_bytes: int = 4 << 20, name: str = "trace.json", **options: Any
) -> Trace:
    """Write the bytes to a file and read it as Kineto."""
    path = folder / name
    path.write_bytes(data)
    return read(path, ReadOptions(**options), segment_bytes)


def codes(trace: Trace) -> dict[str, int]:
    """The caveats of a trace: code -> count."""
    return {caveat.code: caveat.count for caveat in trace.caveats}


def names(trace: Trace) -> list[str]:
    """Names of all GPU operations in order."""
    found: list[str] = trace.gpu_ops["name"].cast(str).to_list()
    return found
