"""Second pass over a Kineto trace for `--capture`: what was launched into graphs, inside which modules and operators.

Capture records launches without executing them: there are no kernel rows, but launch calls (on ROCm with the kernel's
name), the operators and, with stacks, the nn.Module calls around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import polars as pl
from msgspec import Raw

from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.stream import ObjectStream
from trace_budget.readers.kineto.events import Decoded, Event, decode
from trace_budget.readers.kineto.numbers import ns_from_us
from trace_budget.schema import build
from trace_budget.schema.capture import CaptureFile

_BEGIN, _END = "StreamBeginCapture", "StreamEndCapture"
_LABEL = re.compile(rb'"capture', re.IGNORECASE)
_CALL = re.compile(r"(cuda|hip|musa)?_?(runtime|driver)")
_KEPT_CALL = re.compile(rb"Launch|StreamBeginCapture|StreamEndCapture|[Mm]emcpy|[Mm]emset")
ENQUEUED = ("launch", "memcpy", "memset")
T = TypeVar("T")


class _LaunchArgs(msgspec.Struct, gc=False):
    kernel: str | None = None


class _OperatorArgs(msgspec.Struct, gc=False, rename={"dims": "Input Dims"}):
    dims: Raw = Raw(b"null")


_LAUNCH = msgspec.json.Decoder(_LaunchArgs)
_OPERATOR = msgspec.json.Decoder(_OperatorArgs)
_LAUNCH_NAME = re.compile(rb"Launch")


def read_capture(path: Path) -> CaptureFile:
    """Read the captures of a file; InputError when it holds none, or is no trace in JSON."""
    kept: dict[str, list[Event]] = {"call": [], "operator": [], "module": [], "label": []}
    with PlainStream(path) as plain:
        stream: ObjectStream[Decoded] = ObjectStream(plain, "traceEvents", decode)
        for objects in stream:
            _keep(objects, kept)
    calls = _times(kept["call"]).with_columns(pl.Series("kernel", _kernels(kept["call"]), dtype=pl.String))
    labels = _times(kept["label"])
    launches = _launches(calls, labels)
    if launches.is_empty():
        raise InputError(
            "no graph capture in this file", where=str(path),
            expected="launches between StreamBeginCapture and StreamEndCapture",
            found=f"{len(kept['call'])} launch calls",
            advice="Profile the start of the server, where graphs are captured.",
        )  # fmt: skip
    return CaptureFile(str(path), launches, _ranges(kept))


def _keep(objects: Sequence[Decoded], kept: dict[str, list[Event]]) -> None:
    for event in objects:
        if event is not None and (group := _group(event.cat or "", bytes(event.name))):
            kept[group].append(event)


def _group(category: str, name: bytes) -> str:
    if category == "cpu_op":
        return "operator"
    if category == "python_function":
        return "module" if name.startswith(b'"nn.Module: ') else ""
    if category == "user_annotation":
        return "label" if _LABEL.match(name) else ""
    return "call" if _CALL.fullmatch(category) and _KEPT_CALL.search(name) else ""


def _times(events: Sequence[Event]) -> pl.DataFrame:
    """name, start_ns, end_ns, tid (a code) of events, in the order of their start."""
    start, length = (ns_from_us([str(getattr(e, key), "latin-1") for e in events]) for key in ("ts", "dur"))
    return pl.DataFrame(
        {
            "name": pl.Series([_text(e.name) for e in events], dtype=pl.String),
            "start_ns": start,
            "end_ns": start + length.fill_null(0),
            "tid": pl.Series([bytes(e.tid).decode("latin-1") for e in events], dtype=pl.String),
        }
    )


def _text(raw: Raw) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError:
        return bytes(raw).decode("utf-8", "replace")


def _kernels(events: Sequence[Event]) -> list[str | None]:
    """The kernel each call launches, where the profiler wrote it."""
    return [_argument(_LAUNCH, event).kernel if _LAUNCH_NAME.search(event.name) else None for event in events]


def _shapes(events: Sequence[Event]) -> list[str | None]:
    """Input dimensions as text, None where they were not recorded."""
    texts = [bytes(_argument(_OPERATOR, event).dims).decode("utf-8", "replace") for event in events]
    return [None if text in ("null", "[]") else text for text in texts]


def _argument(decoder: msgspec.json.Decoder[T], event: Event) -> T:
    """The arguments of an event; the defaults where they are not as they should be."""
    try:
        return decoder.decode(event.args)
    except msgspec.DecodeError:
        return decoder.decode(b"{}")


def _launches(calls: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Calls that enqueue work while their thread captures; without capture calls, those inside capture annotations."""
    calls = calls.sort("start_ns")
    begins = calls.filter(pl.col("name").str.contains(_BEGIN)).select("tid", "start_ns")
    ends = calls.filter(pl.col("name").str.contains(_END)).select("tid", pl.col("start_ns").alias("until_ns"))
    windows = begins.join(ends, on="tid").filter(pl.col("until_ns") > pl.col("start_ns"))
    windows = windows.group_by("tid", "start_ns").agg(pl.col("until_ns").min()).sort("start_ns")
    if windows.is_empty():
        windows = labels.sort("start_ns").select("tid", "start_ns", pl.col("end_ns").alias("until_ns"))
    numbered = (
        windows.rename({"start_ns": "from_ns"}).with_row_index("capture").with_columns(_labelled(windows, labels))
    )
    work = calls.with_columns(build.call_kind("name").alias("kind")).filter(pl.col("kind").is_in(ENQUEUED))
    inside = work.join(numbered, on="tid").filter(pl.col("start_ns").is_between("from_ns", "until_ns"))
    columns = (pl.col("capture").cast(pl.Int64), "label", "kernel", "start_ns", "tid")
    return inside.sort("capture", "start_ns").select(columns)


def _labelled(windows: pl.DataFrame, labels: pl.DataFrame) -> pl.Series:
    """For each window the innermost capture annotation around its begin, else a number."""
    begins = windows.with_row_index("capture").select("capture", "tid", pl.col("start_ns").alias("at_ns"))
    around = begins.join(labels, on="tid").filter(pl.col("at_ns").is_between("start_ns", "end_ns"))
    inner = around.sort("start_ns").group_by("capture").agg(pl.col("name").last())
    named = begins.join(inner, on="capture", how="left", maintain_order="left")
    usual = pl.lit("capture ") + pl.col("capture").cast(pl.String)
    return named.select(pl.coalesce("name", usual).alias("label"))["label"]


def _ranges(kept: dict[str, list[Event]]) -> pl.DataFrame:
    """Modules and operators with their shapes."""
    frames = [
        _times(kept["module"]).with_columns(
            pl.col("name").str.strip_prefix("nn.Module: "),
            pl.lit("module").alias("kind"),
            pl.lit(None, dtype=pl.String).alias("shapes"),
        ),
        _times(kept["operator"]).with_columns(
            pl.lit("operator").alias("kind"), pl.Series("shapes", _shapes(kept["operator"]), dtype=pl.String)
        ),
    ]
    rows = pl.concat(frames).drop_nulls(["start_ns", "end_ns"]).sort("start_ns", "end_ns", descending=[False, True])
    return rows.select("kind", "name", "shapes", "start_ns", "end_ns", "tid")
