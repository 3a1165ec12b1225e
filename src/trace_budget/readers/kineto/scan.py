"""Calls the optional C scanner of Kineto events (`scan.c`); without it everything works, only slower."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from threading import local

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_budget.readers.kineto.events import Decoded, decode

SWITCH = "TRACE_BUDGET_NO_ACCELERATOR"
KINDS = ("kernel", "memcpy", "memset", "call", "annotation", "gpu_annotation", "module", "sync")
COLUMNS = (
    *("ordinal", "kind", "code", "ts_ns", "dur_ns", "pid", "tid"),
    *("device", "stream", "queue", "correlation", "graph_node_id", "bytes", "wait_on_stream", "wait_correlation"),
    *("grid", "block"),
)
UNKNOWN = np.iinfo(np.int64).min
_WHOLE, _, _DECLINED = range(3)
_SMALLEST_ROW_BYTES, _SMALLEST_ODD_BYTES = 32, 64  # denser segments are declined
_SLOTS = range(6, 17)  # powers of two
_TOLD = 7
_SHAPES = [COLUMNS.index(name) for name in ("grid", "block")]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scanned:
    """One segment: a row of COLUMNS for every plain event that matters, in file order.

    `code`, `grid` and `block` are places in `texts`, the different JSON tokens. `odd` are the events that were left to
    Python, `odd_ordinals` their places among all `elements`; `stop` is the index behind the closing bracket.
    """

    elements: int
    rows: Numbers
    texts: list[bytes]
    odd: list[Decoded]
    odd_ordinals: Numbers
    stop: int
    kinds_seen: bool


def find_scanner(path: Path | None = None) -> Scanner | None:
    """The scanner, unless it was not built or TRACE_BUDGET_NO_ACCELERATOR is set; `path` names another library."""
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return None
    function = _function(path or built_library())
    return None if function is None else Scanner(function)


def built_library() -> Path | None:
    """Where the compiled scanner lies; None when there is none."""
    paths = (Path(__file__).with_name(f"_scan{suffix}") for suffix in EXTENSION_SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


@cache
def _function(path: Path | None) -> ctypes._NamedFuncPointer | None:
    try:
        return None if path is None else ctypes.CDLL(str(path)).trace_budget_scan_kineto
    except (OSError, AttributeError):
        return None


class Scanner:
    """Scans segments, on any thread; each has tables of its own, which are used again."""

    def __init__(self, function: ctypes._NamedFuncPointer) -> None:
        self._function = function
        self._own = local()

    def __call__(self, segment: bytearray) -> Scanned | None:
        """What a segment (`[`, events, `]`, perhaps text behind it) holds; None when it is to be read in Python."""
        tables = self._tables(len(segment))
        facts = (ctypes.c_int64 * _TOLD)()
        text = (ctypes.c_char * len(segment)).from_buffer(segment)
        self._function(text, ctypes.c_size_t(len(segment)), *tables.arguments, facts)
        del text  # it forbids to resize the segment
        state, elements, rows, odds, texts, stop, kinds_seen = facts
        places, found = tables.odds[:odds], tables.rows[:rows].copy()
        odd = None if state == _DECLINED else _decoded(segment, places)
        if odd is None:
            return None
        shapes = found[:, _SHAPES]
        found[:, _SHAPES] = np.where(shapes == UNKNOWN, texts, shapes)
        return Scanned(
            elements,
            found,
            [*(bytes(segment[start : start + size]) for start, size in tables.texts[:texts].tolist()), b"null"],
            odd,
            places[:, 2].copy(),
            len(segment) if state == _WHOLE else stop,
            bool(kinds_seen),
        )

    def _tables(self, size: int) -> _Tables:
        tables: _Tables | None = getattr(self._own, "tables", None)
        if tables is None or not size <= tables.size <= 64 * size:
            self._own.tables = tables = _Tables(size)
        return tables


def _decoded(segment: bytearray, places: Numbers) -> list[Decoded] | None:
    """The events at these places, decoded as one list, as they decide together how each is read; None: damaged."""
    texts = (segment[start:end] for start, end, _ in places.tolist())
    try:
        return decode(memoryview(b"[" + b",".join(texts) + b"]"))
    except (msgspec.DecodeError, RecursionError):
        return None


class _Tables:
    """Room for what one segment of at most `size` bytes may hold."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows = np.empty((size // _SMALLEST_ROW_BYTES + 8, len(COLUMNS)), np.int64)
        self.odds = np.empty((size // _SMALLEST_ODD_BYTES + 8, 3), np.int64)
        slots = 1 << min(max((size // 16).bit_length(), _SLOTS.start), _SLOTS.stop)
        self.texts = np.empty((slots // 2, 2), np.int64)
        self._slots = np.empty(slots, np.uint32)
        self.arguments = [
            argument
            for table in (self.rows, self.odds, self.texts, self._slots)
            for argument in (ctypes.c_void_p(table.ctypes.data), ctypes.c_size_t(len(table)))
        ]
