"""Recordings whose steps are hard to see: marks over several passes, cycles, mixes, pauses, losses; with their truth.

The device is the slower side of every loop here, so a call that takes `saving` less makes its token exactly that much
shorter: what is right follows from counts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

LAUNCH_NS, LATENCY_NS, GAP_NS, PREPARE_NS, RETURN_NS = 3_000, 6_000, 1_000, 40_000, 4_000


class Work(NamedTuple):
    """One kernel or copy of a pass."""

    name: str
    ns: int
    kind: str = "kernel"


@dataclass(frozen=True, slots=True)
class Model:
    """Kernels of one forward: `head`, then each layer's, then `tail`."""

    layers: tuple[tuple[Work, ...], ...]
    head: tuple[Work, ...]
    tail: tuple[Work, ...]

    @property
    def kernels(self) -> tuple[Work, ...]:
        """All of a pass, in order."""
        return (*self.head, *(work for layer in self.layers for work in layer), *self.tail)


@dataclass(frozen=True, slots=True)
class Truth:
    """What is right for one kernel: calls and time of a token in ns, layers of the model that runs it.

    `other_readings`: further (calls, token) that the recording cannot exclude. `unknowable`: no figure is right.
    """

    calls: float
    token_ns: float
    layers: int | None
    other_readings: tuple[tuple[float, float], ...] = ()
    unknowable: bool = False

    def pct(self, saving_ns: float) -> float:
        """What saving so much of each call is of the token."""
        return 100.0 * self.calls * saving_ns / self.token_ns


@dataclass(slots=True)
class Recorder:
    """Runs passes one after the other on one device and one host thread, and keeps what a profiler would see."""

    random: np.random.Generator
    graph: bool
    pid: int = 100
    stream: int = 7
    now_ns: int = 10**15
    free_ns: int = 0
    number: int = 1
    ops: list[dict[str, object]] = field(default_factory=list)
    calls: list[dict[str, object]] = field(default_factory=list)
    marks: list[dict[str, object]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def host(self, name: str, ns: int) -> int:
        """A call of the host thread; returns its correlation."""
        self.number += 1
        row = {"name": name, "start_ns": self.now_ns, "end_ns": self.now_ns + ns, "correlation": self.number}
        self.calls.append({**row, "pid": self.pid, "tid": self.pid})
        self.now_ns += ns
        return self.number

    def run(self, works: Sequence[Work], graph: bool | None = None) -> None:
        """One forward: a graph replay, or a launch a kernel."""
        graph = self.graph if graph is None else graph
        first = True
        correlation = self.host("cudaGraphLaunch", 4 * LAUNCH_NS) if graph else 0
        for work in works:
            if not graph:
                correlation = self.host("cudaMemcpyAsync" if work.kind == "memcpy" else "cudaLaunchKernel", LAUNCH_NS)
            ready = self.now_ns - (0 if graph else LAUNCH_NS) + LATENCY_NS
            start = max(ready, self.free_ns + GAP_NS)
            if first:
                self.starts.append(start)
            end = start + max(round(work.ns * (1 + 0.01 * float(self.random.standard_normal()))), 500)
            row = {"kind": work.kind, "name": work.name, "device": 0, "stream": self.stream, "pid": self.pid}
            self.ops.append({**row, "start_ns": start, "end_ns": end, "correlation": correlation})
            self.free_ns, first = end, False

    def wait(self) -> None:
        """The host waits until the device is done."""
        until = max(self.free_ns + RETURN_NS, self.now_ns + 1_000)
        self.host("cudaStreamSynchronize", until - self.now_ns)

    def pause(self, ns: int) -> None:
        """The host does something else."""
        self.now_ns += ns

    def mark(self, text: str, since_ns: int, until_ns: int | None = None, tid: int | None = None) -> None:
        """An annotation from then to now."""
        row = {"kind": "annotation", "name": text, "pid": self.pid, "tid": tid or self.pid}
        self.marks.append({**row, "start_ns": since_ns, "end_ns": self.now_ns if until_ns is None else until_ns})

    def trace(self, *others: Recorder, host: bool = True) -> Trace:
        """The Trace a reader would make; without `host` the kernels alone, as a kernel CSV has them."""
        everyone = (self, *others)
        calls = build.calls(_frame([row for one in everyone for row in one.calls] if host else [], _CALLS))
        marks = build.markers(_frame([row for one in everyone for row in one.marks] if host else [], _MARKS))
        ops = _frame([row for one in everyone for row in one.ops], _OPS)
        ops = ops if host else ops.with_columns(pl.lit(None, pl.Int64).alias("correlation"))
        return checked(Trace("simulated/recording", "simulated", build.gpu_ops(ops, calls), calls, marks))


_TIMES = {"start_ns": pl.Int64, "end_ns": pl.Int64}
_OPS = {"kind": pl.String, "name": pl.String, "device": pl.Int32, "stream": pl.Int64, "pid": pl.Int64, **_TIMES,
        "correlation": pl.Int64}  # fmt: skip
_CALLS = {"name": pl.String, **_TIMES, "correlation": pl.Int64, "pid": pl.Int64, "tid": pl.Int64}
_MARKS = {"kind": pl.String, "name": pl.String, "pid": pl.Int64, "tid": pl.Int64, **_TIMES}


def _frame(rows: list[dict[str, object]], columns: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns)  # type: ignore[arg-type]


def dense(random: np.random.Generator, layers: int, prefix: str = "", hybrid: int = 0, by_layer: bool = False) -> Model:
    """A decoder; every `hybrid`-th layer has another attention; `by_layer` names some kernels after their shape."""
    parts = ("norm", "qkv_gemm", "rope", "attention", "o_gemm", "norm2", "up_gemm", "act", "down_gemm")
    ns = {name: int(random.integers(9_000, 40_000)) for name in (*parts, "linear_attention", "conv")}
    kept = [part for part in parts if part in ("norm", "qkv_gemm", "attention", "down_gemm") or random.random() < 0.7]

    def layer(index: int) -> tuple[Work, ...]:
        full = not hybrid or index % hybrid == hybrid - 1
        out: list[Work] = []
        for part in kept:
            names = ("attention",) if full or part != "attention" else ("conv", "linear_attention")
            for name in names if part == "attention" else (part,):
                shape = f"_q{4 + 2 * (index % 3 == 1)}" if by_layer and name == "down_gemm" else ""
                out.append(Work(f"{prefix}{name}{shape}", ns[name]))
        return tuple(out)

    head = (Work(f"{prefix}embedding", int(random.integers(6_000, 20_000))),)
    tail = (Work(f"{prefix}final_norm", 9_000), Work(f"{prefix}lm_head", int(random.integers(40_000, 200_000))))
    return Model(tuple(layer(index) for index in range(layers)), head, (*tail, Work(f"{prefix}sample", 8_000)))


TOKENS = Work("Memcpy DtoH (Device -> Pinned)", 2_000, "memcpy")
