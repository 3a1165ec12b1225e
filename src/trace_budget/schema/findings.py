"""What the analyses find out about a trace: steps, layers, overlap; the input of every later question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.schema.trace import Caveat, Trace

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one device.

    `frame`: one row per step in host order: step_index, name, phase, engine, batch_size, class_index, start_ns, end_ns
    (GPU window), window_ns, busy_ns, interval_ns (start to next start; null for the last), cpu_ns (host annotation;
    null without one), gpu_ops, kernels, complete, used (counts in medians), why_out.
    `op_step`: step_index of each row of gpu_ops, -1 for none (orphans, other devices, between steps).
    `phase`: the phase the used steps share. `method` and `confidence` (high, medium, low) say how they were found.
    `level`: what a step of the frame is: pass, step or cycle. `pace`: served (start to next start) or device (window).
    `op_pass`: the pass of each row of gpu_ops where layers are looked for, None where each step is one pass.
    `says` and `denies`: what speaks for and against this reading, `settle` the option that chooses it, and `others` the
    readings that the trace cannot exclude.
    """

    frame: pl.DataFrame
    op_step: Int32Array
    device: int | None
    phase: str
    method: str
    confidence: str
    caveats: tuple[Caveat, ...] = ()
    level: str = "step"
    pace: str = "served"
    op_pass: Int32Array | None = None
    says: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    settle: str = ""
    others: tuple[Steps, ...] = ()

    @property
    def used(self) -> Int32Array:
        """step_index of the steps that count."""
        return self.frame.filter(pl.col("used"))["step_index"].to_numpy()

    @property
    def measure(self) -> str:
        """What a step's time is: interval where several follow each other and the served pace counts, else window."""
        rows = self.frame.filter(pl.col("used"))
        several = rows.height >= 2 and rows["interval_ns"].drop_nulls().len() > 0
        return "interval" if several and self.pace == "served" else "window"

    @property
    def step_ns(self) -> float:
        """Step time in ns over the used steps: the median of their measure, weighted over classes that differ.

        Of several phases it is the mean.
        """
        column = f"{self.measure}_ns"
        rows = self.frame.filter(pl.col("used") & pl.col(column).is_not_null())
        keys = [name for name in ("phase", "class_index") if name in rows.columns]
        counted = self.frame.filter(pl.col("used")).group_by(keys).agg(pl.len().alias("weight"))
        several = "phase" in keys and counted["phase"].n_unique() > 1
        middle = pl.col(column).mean() if several else pl.col(column).median()
        usual = rows.group_by(keys).agg(middle.alias("ns")).join(counted, on=keys)
        if usual.is_empty():
            return float("nan")
        return float(np.average(usual["ns"].to_numpy(), weights=usual["weight"].to_numpy()))


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of repeated layers: `period` kernels repeated `repeats` times hold `layers` layers."""

    stream: int | None
    first_op: int
    period: int
    repeats: int
    layers: int


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of each step.

    `op_layer`: layer_index of each row of gpu_ops inside its step, -1 outside layers. `op_position`: index of the op
    in the layer's template (one position = one call site), -1 outside. `layers`: the layer count of the used steps.
    `types`: what each layer is, where the model's configuration says; else empty.
    """

    op_layer: Int32Array
    op_position: Int32Array
    layers: int
    segments: tuple[Segment, ...]
    method: str
    confidence: str
    caveats: tuple[Caveat, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overlap:
    """How each op shares its device with others.

    `solo_ns`: time of each row of gpu_ops during which nothing else runs on its device (exposed time); 0 for ops
    without usable times. `devices`, `streams`: one row each with window_ns, kernel_ns, busy_ns, idle_ns, overlap_ns.
    """

    solo_ns: Int64Array
    devices: pl.DataFrame
    streams: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Findings:
    """What the analyses found out about a trace: what every projection starts from; `others`: by other readings."""

    trace: Trace
    steps: Steps
    layers: Layers
    overlap: Overlap
    others: tuple[Findings, ...] = ()
