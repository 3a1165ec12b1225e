"""Traces made by hand, in microseconds, as a reader would deliver them: ops, host calls, steps, recorded waits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

ANNOTATION = "execute_context_0(0)_generation_8(8)"


class Op(NamedTuple):
    """A device op; `call` is the correlation id of its launch (None: orphan), `node` its graph node."""

    name: str
    start_us: float
    dur_us: float | None
    stream: int = 7
    call: int | None = None
    kind: str = "kernel"
    grid: tuple[int, int, int] = (1, 1, 1)
    node: int | None = None
    device: int = 0


class Call(NamedTuple):
    """A host call with its correlation id."""

    name: str
    start_us: float
    end_us: float
    call: int
    thread: int = 1


class Range(NamedTuple):
    """A step annotation on the host."""

    start_us: float
    end_us: float
    name: str = ANNOTATION


def ns(us: float) -> int:
    return round(us * 1000)


def hand_trace(
    ops: Sequence[Op], calls: Sequence[Call] = (), steps: Sequence[Range] = (), syncs: Any = None, **facts: Any
) -> Trace:
    """A checked trace; `facts` are further fields of Trace."""
    host = build.calls(_calls(calls)) if calls else None
    tables: dict[str, Any] = {"gpu_ops": build.gpu_ops(_ops(ops), host)}
    tables |= {"calls": host} if host is not None else {}
    tables |= {"markers": build.markers(_markers(steps))} if steps else {}
    tables |= {"syncs": build.syncs(syncs)} if syncs is not None else {}
    known: dict[str, Any] = {"path": "hand.json", "format": "hand", "device_name": "Hand", "world_size": 1}
    return checked(Trace(**(known | tables | facts)))


def _ops(rows: Sequence[Op]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "kind": [row.kind for row in rows],
            "name": [row.name for row in rows],
            "device": [row.device for row in rows],
            "stream": [row.stream for row in rows],
            "start_ns": [ns(row.start_us) for row in rows],
            "end_ns": pl.Series(
                [None if row.dur_us is None else ns(row.start_us) + ns(row.dur_us) for row in rows], dtype=pl.Int64
            ),
            "correlation": pl.Series([row.call for row in rows], dtype=pl.Int64),
            "graph_node_id": pl.Series([row.node for row in rows], dtype=pl.Int64),
            **{f"grid_{axis}": [row.grid[i] for row in rows] for i, axis in enumerate("xyz")},
        }
    )


def _calls(rows: Sequence[Call]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [row.name for row in rows],
            "pid": [1] * len(rows),
            "tid": [row.thread for row in rows],
            "start_ns": [ns(row.start_us) for row in rows],
            "end_ns": [ns(row.end_us) for row in rows],
            "correlation": [row.call for row in rows],
        }
    )


def _markers(rows: Sequence[Range]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "kind": ["annotation"] * len(rows),
            "name": [row.name for row in rows],
            "pid": [1] * len(rows),
            "tid": [1] * len(rows),
            "start_ns": [ns(row.start_us) for row in rows],
            "end_ns": [ns(row.end_us) for row in rows],
        }
    )


def graph_steps(chain: Iterable[tuple[str, float]], step_us: float, steps: int = 3, **facts: Any) -> Trace:
    """Steps of exactly `step_us` in a synchronous loop, each one graph replay of the same chain of (name, us).

    The launch is 5 us ahead of the first op; ops touch; the host waits for the last one and launches again.
    """
    return repeated_steps([list(chain)] * steps, step_us, **facts)


def repeated_steps(
    chains: Sequence[Sequence[tuple[str, float]]],
    step_us: float | Sequence[float],
    names: Sequence[str] = (),
    **facts: Any,
) -> Trace:
    """Like `graph_steps` with a chain (and an annotation) of its own for each step."""
    lengths = [float(step_us)] * len(chains) if isinstance(step_us, (int, float)) else list(step_us)
    ops: list[Op] = []
    calls: list[Call] = []
    ranges: list[Range] = []
    begin = 100.0
    for index, (chain, length) in enumerate(zip(chains, lengths, strict=True)):
        at = begin + 5
        for node, (name, us) in enumerate(chain):
            ops.append(Op(name, at, us, call=10 * index + 1, node=node))
            at = round(at + round(us, 3), 3)
        calls.append(Call("cudaGraphLaunch", begin, begin + 4, 10 * index + 1))
        returned = max(at + 3, begin + 6)
        calls.append(Call("cudaStreamSynchronize", begin + 4, returned, 10 * index + 2))
        if returned + 2 < begin + length:
            # The host is at work until it launches again: nobody waits for something outside.
            calls.append(Call("cudaMemGetInfo", returned + 1, begin + length - 1, 10 * index + 3))
        ranges.append(Range(begin - 1, begin + 4.5, names[index] if names else ANNOTATION))
        begin += length
    return hand_trace(ops, calls, ranges, **facts)
