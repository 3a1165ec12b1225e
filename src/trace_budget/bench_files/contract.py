"""What a benchmark file is read into, and what every format of benchmark output promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from trace_budget.errors import InputError, UsageError
from trace_budget.io.inflate import PlainStream
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import US_IN

LARGEST_BYTES = 1 << 26
MOST_CALLS = 2**63 - 1
LONGEST_SHOWN = 120
COLUMNS = {
    "name": pl.String,
    "calls": pl.Int64,
    "mean_us": pl.Float64,
    "median_us": pl.Float64,
    "min_us": pl.Float64,
    "max_us": pl.Float64,
    "source": pl.String,
}
UNTRACED = (
    "the benchmark was not traced: on this device a trace books the gap before a kernel into the kernel, "
    "so both times are smaller there than in the trace"
)
HOST_CLOCK = "measured with a host clock: without a synchronisation it is the time of the launch, not of the kernel"
WARM = "benchmark loops find their data in the caches unless they flush them; in the trace both kernels may take longer"
LOCKED = "ncu locks the clocks to their base unless told otherwise: both kernels are faster in the engine"
MEAN = "the file holds means only: warm-up and autotuning calls are inside"


@dataclass(frozen=True, slots=True)
class BenchFile:
    """A benchmark file: its text, and the JSON document in it where it is one."""

    path: Path
    text: str
    document: object = None

    @property
    def mapping(self) -> Mapping[str, object]:
        """The document when it is a JSON object, else nothing."""
        return self.document if isinstance(self.document, dict) else {}

    def records(self, key: str) -> list[Mapping[str, object]]:
        """The objects of the list under a key of the document."""
        rows = self.mapping.get(key)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


@dataclass(frozen=True, slots=True)
class BenchFormat:
    """One format of benchmark output; `recognises` decides by content. `sums`: names may be of more than kernels."""

    title: str
    recognises: Callable[[BenchFile], bool]
    read: Callable[[BenchFile, str | None], pl.DataFrame]
    sums: bool = False


@dataclass(frozen=True, slots=True)
class Standalone:
    """Times outside of the engine, in us: `candidate_us` of the new kernel, `baseline_us` of the old (None: unknown).

    `figure` says what both are: median or mean.
    """

    baseline_us: float | None
    candidate_us: float
    source: str
    figure: str

    def caveats(self, trace: Trace) -> tuple[Caveat, ...]:
        """What must be known before these times are held against those of the trace."""
        traced = self.source in ("rocprof kernel stats", "ncu")
        told = (
            (True, "warm_benchmark", WARM),
            (not traced and trace.dispatch_gap_in_duration, "untraced_benchmark", UNTRACED),
            (self.source in ("pytest-benchmark", "google-benchmark", "hyperfine"), "host_clock_benchmark", HOST_CLOCK),
            (self.source == "ncu", "locked_clocks_benchmark", LOCKED),
            (self.figure == "mean", "mean_benchmark", MEAN),
        )
        return tuple(Caveat(code, text, 1, "warning") for holds, code, text in told if holds)


def bench_file(path: Path) -> BenchFile:
    """Read a benchmark file; InputError when it is too large or broken."""
    with PlainStream(path) as stream:
        data = stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise InputError("too large for benchmark output", where=str(path), expected=f"at most {LARGEST_BYTES} bytes")
    text = data.decode("utf-8-sig", "replace")
    if not text.lstrip().startswith(("{", "[")):
        return BenchFile(path, text)
    try:
        return BenchFile(path, text, msgspec.json.decode(text))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError("JSON that cannot be read", where=str(path), found=str(error)) from error


def times_of(name: str, values_us: Sequence[float], source: str, calls: int | None = None) -> dict[str, object]:
    """One row from single measurements; what is no time among them shows in its smallest or largest."""
    values = np.asarray(values_us, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        mean, median = float(values.mean()), float(np.median(values))
    return {
        "name": name,
        "calls": len(values_us) if calls is None else calls,
        "mean_us": mean,
        "median_us": median,
        "min_us": float(values.min()),
        "max_us": float(values.max()),
        "source": source,
    }


def table(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Rows as the declared frame; columns a row lacks are null."""
    return pl.DataFrame([{key: row.get(key) for key in COLUMNS} for row in rows], schema=COLUMNS)


def number(value: object) -> float | None:
    """A number of a JSON document, infinite where no float is as large; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def calls_of(file: BenchFile, name: str, count: float) -> int:
    """How often a benchmark called its kernel; InputError for a number that counts nothing."""
    if not 0 <= count <= MOST_CALLS:
        raise InputError(
            f"the calls of {shown(name)} are no count",
            where=str(file.path), expected=f"0 to {MOST_CALLS}", found=f"{count:g}",
        )  # fmt: skip
    return int(count)


def shown(value: object) -> str:
    """A value of the file as a message may show it: on one line, in ASCII, not too long."""
    text = ascii(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def unit_needed(file: BenchFile, unit: str | None, why: str) -> float:
    """Us in the unit the user gave; UsageError when the file needs one and none was given."""
    if unit is None:
        raise UsageError(why, where=str(file.path), expected=f"--unit {'|'.join(US_IN)}")
    return US_IN[unit]


def unit_known(file: BenchFile, unit: str | None, known: str) -> float:
    """Us in the unit the file says; UsageError when the user says another."""
    if unit is not None and unit != known:
        raise UsageError("the file says its unit itself", where=str(file.path), expected=known, found=f"--unit {unit}")
    return US_IN[known]
