"""What is asked of every answer: refused in one line, or a sound trace whose kernels are all accounted for."""

from __future__ import annotations

import io
import json
import resource
import signal
import sys
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trace_budget import api
from trace_budget.__main__ import main
from trace_budget.errors import TraceBudgetError
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

from . import count, laws
from .count_json import NotStrictError
from .inputs import Input
from .samples import INGESTED, PROTOBUF, Sample, place_of

# what tells that kernels were lost, mended, left out or merged; every other caveat explains no other number of kernels
TELLING = frozenset(
    (
        *("partial_file", "damaged_events_dropped", "damaged_events_repaired", "damaged_lines_dropped"),
        *("damaged_lines_repaired", "several_documents", "damaged_metadata", "merged_ranks", "bad_sums"),
        *("several_tables", "doubled_keys", "duplicate_rows_dropped", "slice_ends_doubtful", "slice_ends_mended"),
        *(
            "writer_cut_overlaps",
            "no_gpu_ops",
            "format_forced",
            "nameless_kernels",
            "several_processes",
            "rows_of_other_tables",
        ),
    )
)
WHOLE_RECORDS = frozenset(("row_gone", "row_twice", "event_gone", "event_twice", "gone", "twice"))
SLOWER, FREE_SECONDS = 10, 0.4
# not always counted: the process has a guard, which may outlive the reading
PROCESS_SECONDS = 1.0
FREE_BYTES = 300 << 20
COMMANDS = (
    ("check",),
    ("kernels",),
    ("overlap",),
    ("project", "--kernel", "paged_attention", "--saving-us", "3"),
)
CODES = (0, 3, 4, 10)


@dataclass(frozen=True)
class Verdict:
    """What became of an input: refused, answered, or the fault that was found."""

    outcome: str
    fault: str = ""
    detail: str = ""
    seconds: float = 0.0
    grown_bytes: int = 0
    codes: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class Clean:
    """What the untouched sample gives."""

    told: Counter[tuple[str, int]]
    kernels: int
    content: int
    seconds: float
    size_bytes: int


def rows_of(trace: Trace) -> int:
    """Kernels, or rows of sums; for a format that lists executions twice, with the dropped ones."""
    if trace.aggregates is not None:
        return trace.aggregates.height
    if trace.format != "rocprof_v1_json":
        return int((trace.gpu_ops["kind"] == "kernel").sum())
    dropped = sum(caveat.count for caveat in trace.caveats if caveat.code == "duplicate_rows_dropped")
    return trace.gpu_ops.height + dropped


def _told(trace: Trace) -> Counter[tuple[str, int]]:
    return Counter((caveat.code, caveat.count) for caveat in trace.caveats if caveat.code in TELLING)


@cache
def clean(sample: Sample) -> Clean:
    """Read the sample twice: the second time is the clean time, or what a process of trace_processor takes."""
    path = place_of(sample)
    api.open_trace(path)
    before = _cpu()
    trace = api.open_trace(path)
    seconds = max(_cpu() - before, PROCESS_SECONDS if sample.family == PROTOBUF else 0.0)
    size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
    return Clean(_told(trace), rows_of(trace), count.kernels(sample.format, path), seconds, size)


def judged(given: Input, ask: bool, measured: bool = True) -> Verdict:
    """Read an input and judge the answer; with `ask`, put some commands to what was read, as a user does.

    Time and memory are limited where they are `measured`: in a process that does nothing else.
    """
    known = clean(given.sample)
    with TemporaryDirectory(prefix="fuzz-") as folder:
        path = given.write(Path(folder))
        start = _cpu()
        _reset_peak()
        base = _memory("VmRSS")
        try:
            trace: Trace | None = api.open_trace(path)
            outcome = "answered"
        except TraceBudgetError as error:
            trace, outcome = None, "refused"
            if "\n" in error.line() or error.exit_code not in CODES:
                return Verdict(outcome, "refusal", error.line())
        except Exception:  # noqa: BLE001  (any other exception is the fault that is looked for)
            return Verdict("failed", "traceback", traceback.format_exc(limit=-6))
        seconds, grown = _cpu() - start, _memory("VmHWM") - base
        fault, detail = _beyond_limits(given, known, seconds, grown) if measured else ("", "")
        if trace is not None and not fault:
            fault, detail = _unsound(given, known, trace, path)
        codes: tuple[int, ...] = ()
        if not fault and ask:
            codes, fault, detail = _asked(path, trace)
        return Verdict(outcome, fault, detail, seconds, grown, codes)


def _beyond_limits(given: Input, known: Clean, seconds: float, grown: int) -> tuple[str, str]:
    size = sum(map(len, given.files.values()))
    larger = max(1.0, size / max(known.size_bytes, 1))
    if seconds > SLOWER * known.seconds * larger + FREE_SECONDS:
        return "slow", f"{seconds:.2f} s of CPU, clean {known.seconds:.3f} s"
    if grown > FREE_BYTES + 50 * size:
        return "memory", f"grew by {grown >> 20} MiB"
    return "", ""


def _unsound(given: Input, known: Clean, trace: Trace, path: Path) -> tuple[str, str]:
    try:
        checked(trace)
        if given.sample.format != INGESTED:  # what its tables hold was told when they were made
            laws.of_trace(trace)
    except AssertionError as error:
        return "law", str(error)
    return _unexplained(given, known, trace, path)


def _unexplained(given: Input, known: Clean, trace: Trace, path: Path) -> tuple[str, str]:
    """Kernels must be those of the content, or a caveat that the clean sample does not carry says why not."""
    if not trace.complete or _told(trace) - known.told:
        return "", ""
    found = rows_of(trace)
    own = path if path.is_dir() else Path(trace.path)
    try:
        content = count.kernels(INGESTED if given.sample.format == INGESTED else trace.format, own)
    except NotStrictError as error:
        # a record that went, or stands there twice, as a whole cannot be seen; each such step moves one record
        unseen = sum(step in WHOLE_RECORDS for step in given.steps)
        same = found == error.by_marks or abs(found - known.kernels) <= unseen
        return ("", "") if same else ("silent", f"{found} kernels of damaged content, clean {known.kernels}: {error}")
    slices = given.sample.family == PROTOBUF
    fits = found == known.kernels or content != known.content if slices else found == content
    return ("", "") if fits else ("silent", f"{found} kernels, content says {content}, clean {known.kernels}")


def _asked(path: Path, trace: Trace | None) -> tuple[tuple[int, ...], str, str]:
    codes: list[int] = []
    for command in COMMANDS:
        try:
            code, document, err = said(command[0], str(path), *command[1:], "--format", "json")
        except Exception:  # noqa: BLE001  (any exception is the fault that is looked for)
            return tuple(codes), "traceback", f"{command[0]}: " + traceback.format_exc(limit=-6)
        codes.append(code)
        if code not in CODES or (code and not _is_one_line(err)) or (code in (0, 10)) != (document is not None):
            return tuple(codes), "exit", f"{command[0]}: {code} {err!r}"
        if document is not None and trace is not None:
            try:
                laws.of_document(command[0], document, trace)
            except AssertionError as error:
                return tuple(codes), "law", f"{command[0]}: {error}"
    return tuple(codes), "", ""


def _is_one_line(err: str) -> bool:
    """An error is one line; the names it offers stand below it, one a line, ready to copy."""
    first, *rest = err.splitlines() or [""]
    return bool(first) and all(line.startswith("  --kernel ") for line in rest)


def said(*arguments: str) -> tuple[int, Any, str]:
    """Exit code, JSON document (None without one) and stderr of a command in this process."""
    before = signal.getsignal(signal.SIGTERM)
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(arguments))
            sys.stdout.flush()
    finally:
        signal.signal(signal.SIGTERM, before)
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    return code, json.loads(text, parse_constant=_no_constant) if text else None, err.getvalue()


def _no_constant(text: str) -> Any:
    raise AssertionError(f"{text} in a JSON document")


def _cpu() -> float:
    """CPU seconds of this process and of its children that ended: what other work on the machine does not change."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0
