"""Calls the optional C replay (`propagate.c`); without it everything works, only slower, on fewer steps."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.pace import POLL_NS
from trace_budget.projection.replay.prepared import RETURN_LIMIT_NS, PreparedLine, Vanishing, freed_in_all, prepare
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array

SWITCH = "TRACE_BUDGET_NO_ACCELERATOR"
BOUNDS = ("low", "expected", "high")
Arrays = dict[str, np.ndarray]
Columns = tuple[FloatArray, FloatArray, FloatArray]
_NUMBERS = (
    *("ops", "columns", "calls", "threads"),
    *("gap_max_ns", "horizon_ns", "return_ns", "return_limit_ns", "poll_ns", "waits_visible"),
)
_ARRAYS = (
    *("op_from", "op_to", "launch", "fifo", "order", "ends", "place", "ended", "near_from", "host_slack", "waited"),
    *("launch_slack", "known", "early", "host_may_hold", "anchored", "launch_cap"),
    *("causes_from", "causes", "cause_slack"),
    *("waits_on_from", "waits_on", "call_start", "call_end", "thread", "own_op", "only_op"),
    *(f"{what}_{bound}" for what in ("freed", "spare") for bound in BOUNDS),
    *("vanishing_from", "vanishing", "behind", "resting_from", "resting", "rest_ns"),
    *("delta_low", "delta_expected", "delta_high"),
    *(f"{what}_{bound}" for what in ("start", "end", "host", "at_launch") for bound in BOUNDS),
    *("low_by_end", "high_by_end", "far", "highest", "scratch"),
)


class _Replay(ctypes.Structure):
    """The struct of propagate.c, field by field."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in _NUMBERS),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
        ("far_to", ctypes.c_int64),
    )


@cache
def built_library(path: Path | None = None) -> ctypes.CDLL | None:
    """The compiled replay, unless it was not built, or by another version; `path` names another library."""
    built = (Path(__file__).with_name(f"_propagate{suffix}") for suffix in EXTENSION_SUFFIXES)
    found = path or next((file for file in built if file.is_file()), None)
    try:
        code = None if found is None else ctypes.CDLL(str(found))
        return code if code is not None and code.trace_budget_replay_size() == ctypes.sizeof(_Replay) else None
    except (OSError, AttributeError):
        return None


def chosen_library() -> ctypes.CDLL | None:
    """The library to use: none where TRACE_BUDGET_NO_ACCELERATOR is set."""
    return built_library() if os.environ.get(SWITCH, "") in ("", "0") else None


class NativeSweep:
    """The pass of `Sweep` in C: the same three recursions over the same events, equal to the last bit."""

    def __init__(self, code: ctypes.CDLL, line: Timeline, edges: Edges, delta: Columns, vanishing: Vanishing) -> None:
        self._code, self.line, self.columns = code, line, delta[0].shape[1]
        at = prepare(line, vanishing)
        self.freed = freed_in_all(line, at, vanishing, self.columns)
        given = _of_ops(line, at) | _of_calls(line, at) | _of_causes(line, edges) | _of_fusions(vanishing, at, line)
        self._arrays = {name: np.ascontiguousarray(values) for name, values in given.items()}
        self._arrays |= _of_columns(line, at, delta)
        numbers = (
            *(line.size, self.columns, line.host.start_ns.size, at.threads),
            *(line.gap_max_ns, max(line.gap_max_ns, at.return_ns), at.return_ns, RETURN_LIMIT_NS, POLL_NS),
            int(line.host.waits_visible),
        )
        self._replay = _Replay(*numbers, *(self._arrays[name].ctypes.data for name in _ARRAYS), 0)

    def run(self, kinds: np.ndarray, index: Int64Array) -> None:
        """Take events in their order. ValueError when an index lies outside of the stretch."""
        kinds, index = np.ascontiguousarray(kinds, np.uint8), np.ascontiguousarray(index, np.int64)
        events = (ctypes.c_void_p(kinds.ctypes.data), ctypes.c_void_p(index.ctypes.data), ctypes.c_int64(index.size))
        if not self._code.trace_budget_replay_check(ctypes.byref(self._replay), *events):
            raise ValueError("an index of the replay lies outside of the stretch")
        self._code.trace_budget_replay_run(ctypes.byref(self._replay), *events)

    def begin(self, op: int) -> Columns:
        """Start shifts of one op, and what they do to its end before its own saving."""
        self._code.trace_budget_replay_begin(ctypes.byref(self._replay), ctypes.c_int64(op))
        low, expected, high = self._arrays["scratch"].copy()
        return low, expected, high

    def finish(self, op: int, shifts: Columns) -> None:
        """End shifts of one op: what moved it, plus its own saving."""
        self._arrays["scratch"][:] = shifts
        self._code.trace_budget_replay_finish(ctypes.byref(self._replay), ctypes.c_int64(op))

    def moved(self, what: str) -> Columns:
        """Shifts of `start` or `end` of every op (ops x columns) once all events were taken."""
        low, expected, high = (self._arrays[f"{what}_{bound}"] for bound in BOUNDS)
        return low, expected, high


def _of_ops(line: Timeline, at: PreparedLine) -> Arrays:
    return {
        **{"op_from": line.start_ns, "op_to": line.end_ns, "launch": line.launch, "fifo": line.fifo},
        **{"order": at.order, "ends": at.ends, "place": at.place, "waited": line.waited_ns},
        **{"ended": at.ended, "near_from": at.near_from, "host_slack": at.host_slack},
        **{"known": line.edges_known, "early": line.early, "host_may_hold": at.host_may_hold},
        "launch_cap": at.launch_cap,
    }


def _of_calls(line: Timeline, at: PreparedLine) -> Arrays:
    host = line.host
    return {
        **{"call_start": host.start_ns, "call_end": host.end_ns, "thread": host.thread, "own_op": host.own_op},
        **{f"freed_{bound}": at.freed_ns[b] for b, bound in enumerate(BOUNDS)},
        **{f"spare_{bound}": at.spare_ns[b] for b, bound in enumerate(BOUNDS)},
        "only_op": at.only_op,
    }


def _of_causes(line: Timeline, edges: Edges) -> Arrays:
    waits_from, waits = _flat(line.waits_on)
    causes = edges.causes
    return {
        **{"causes_from": causes.begins(line.size), "causes": causes.before, "cause_slack": causes.slack_ns},
        **{"waits_on_from": waits_from, "waits_on": np.array(waits, dtype=np.int64)},
        **{"launch_slack": edges.host_slack_ns, "anchored": edges.anchored},
    }


def _of_fusions(vanishing: Vanishing, at: PreparedLine, line: Timeline) -> Arrays:
    gone_from, gone = _flat([vanishing.get(op, ()) for op in range(line.size)]) if vanishing else _none(line.size)
    rest = at.rest_ns
    rest_from, left = _flat([tuple(rest.get(op, {}).items()) for op in range(line.size)]) if rest else _none(line.size)
    gone_pairs = np.array(gone, dtype=np.int64).reshape(-1, 2)
    return {
        **{"vanishing_from": gone_from, "vanishing": gone_pairs[:, 0], "behind": gone_pairs[:, 1]},
        **{"resting_from": rest_from, "resting": np.array([column for column, _ in left], dtype=np.int64)},
        "rest_ns": np.array([ns for _, ns in left], dtype=np.float64),
    }


def _of_columns(line: Timeline, at: PreparedLine, delta: Columns) -> Arrays:
    """What the pass writes; of the savings a copy only where they do not lie as C wants them."""
    columns = delta[0].shape[1]
    shapes = {"start": line.size, "end": line.size, "host": at.threads, "at_launch": line.host.start_ns.size}
    return {
        **{f"delta_{b}": np.ascontiguousarray(d, np.float64) for b, d in zip(BOUNDS, delta, strict=True)},
        **{f"{what}_{b}": np.zeros((rows, columns)) for what, rows in shapes.items() for b in BOUNDS},
        "low_by_end": np.full((line.size, columns), np.inf),
        "high_by_end": np.full((line.size, columns), -np.inf),
        "far": np.full(columns, np.inf),
        "highest": np.zeros(columns),
        "scratch": np.zeros((len(BOUNDS), columns)),
    }


def _flat(lists: Sequence[Sequence[object]]) -> tuple[Int64Array, list[Any]]:
    """Lists of unequal length as one, with where each begins."""
    begins = np.fromiter(accumulate(map(len, lists), initial=0), dtype=np.int64, count=len(lists) + 1)
    return begins, list(chain.from_iterable(lists))


def _none(size: int) -> tuple[Int64Array, list[Any]]:
    return np.zeros(size + 1, dtype=np.int64), []
