"""rocprofv3 JSON (`--output-format json`, `*_results.json`): one document for all processes of a run.

Kernel names are looked up by kernel_id, names of calls and copies through the run's own string tables, since the
numbers behind them move between releases. Read piece by piece, so a cut file keeps every whole record before the cut.
Source: rocprofiler-sdk, `source/lib/output/generateJSON.cpp`. Refused with advice: counter runs. Ignored: HSA and RCCL
calls, allocations, scratch memory, PC samples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.dictionary import Dictionary
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.parts import PartStream
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.rocprof import rocprofv3_records as records
from trace_budget.schema import caveats
from trace_budget.schema.trace import Caveat, Trace

_START = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_DISPATCH = b'"dispatch_info":'
_RECORD = "Record with: rocprofv3 --kernel-trace --hip-runtime-trace --marker-trace --output-format json -- COMMAND"


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    damage: str


class _Counted(PlainStream):
    """Counts dispatches by the key that each of them has: damage can leave some outside every list."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.dispatches = 0
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, counted as they pass."""
        data = super().read(size)
        seen = self._last + data
        self.dispatches += seen.count(_DISPATCH)
        self._last = seen[1 - len(_DISPATCH) :]
        return data


def _recognises(head: Head) -> bool:
    return _START.match(head.data) is not None


def _read(path: Path, options: ReadOptions) -> Trace:
    names = records.Names()
    processes = [records.Process(names)]
    with _Counted(path) as plain:
        decoders = records.decoders()
        stream = PartStream(plain, decoders)
        for part, objects in stream:
            if part == "metadata" and objects and objects[0].pid is not None:
                processes.append(records.Process(names, objects[0].pid))
            elif part == "counter_collection" and objects:
                raise _counter_run(path)
            else:
                processes[-1].add(part, objects)
        reason = plain.damage or ("" if stream.complete else "the document does not end")
        twice = _recorded_twice(processes)
        dropped = stream.damage.dropped + sum(decode.dropped for decode in decoders.values())
    found = [process.read() for process in processes]
    dispatches = sum(process.dispatches for process in found)
    if not dispatches:
        raise InputError("no kernel dispatches", where=str(path), found=reason or "an empty list", advice=_RECORD)
    return trace_of(
        _Source(path, reason),
        "rocprofv3_json",
        Records(
            _all(names.ops, [process.ops for process in found]),
            _all(names.calls, [process.calls for process in found]),
            _all(names.markers, [process.markers for process in found]),
            ("pid", "correlation"),
            caveats=(
                *caveats.damaged_lines(max(dropped, plain.dispatches - dispatches), stream.damage.repaired),
                *caveats.broken_keys(stream.damage.broken_keys),
                *twice,
                *_nameless(found),
            ),
            lost=sum(process.lost for process in found),
        ),
        device_name=_device_name(found),
        vendor="AMD",
        dispatch_gap_in_duration=True,
    )


def _all(names: Dictionary, frames: list[pl.DataFrame]) -> pl.DataFrame:
    rows = pl.concat(frames)
    return rows.with_columns(names.decoded(rows["name"]))


def _counter_run(path: Path) -> InputError:
    message = "a performance-counter run: kernels run one by one, their times are no decode step's"
    return InputError(message, where=str(path), found="records in counter_collection", advice=_RECORD)


def _recorded_twice(processes: list[records.Process]) -> tuple[Caveat, ...]:
    """A process that stands there twice: two documents in one file."""
    pids = [process.pid for process in processes if process.pid is not None]
    twice = len(pids) - len(set(pids))
    text = "processes stand in this file more than once: what they ran may be counted twice"
    return (Caveat("several_documents", text, twice, "warning"),) if twice else ()


def _nameless(found: list[records.ProcessRecords]) -> tuple[Caveat, ...]:
    count = sum(process.nameless for process in found)
    text = "dispatches have no entry among the kernel symbols: they are named by their number"
    return (Caveat("nameless_kernels", text, count, "warning"),) if count else ()


def _device_name(found: list[records.ProcessRecords]) -> str | None:
    """The name of the device with most work."""
    busiest = max(found, key=lambda process: process.dispatches)
    devices = busiest.ops["device"].drop_nulls().mode().sort().to_list()
    return busiest.device_names.get(devices[0]) if devices else None


READER = Reader(
    name="rocprofv3_json",
    title="rocprofv3 JSON",
    recognised_by='a document that starts with the key "rocprofiler-sdk-tool"',
    cannot_tell="calls and steps unless --hip-runtime-trace and --marker-trace were on; streams before ROCm 7",
    recognises=_recognises,
    read=_read,
    suffixes=(".json",),
    writers={"rocprofv3": 1},
    names=FileNames(output="results"),
)
