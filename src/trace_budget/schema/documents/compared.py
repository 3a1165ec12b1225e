"""The answer of `compare`: two recordings, device by device."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from trace_budget.schema.documents import Facts, Rows
from trace_budget.schema.documents.structure import Rate


class Sides(Struct, frozen=True):
    """One figure of both recordings."""

    before: float
    after: float


class Saved(Sides, frozen=True):
    """One figure of both recordings, and what it got smaller."""

    saved: float


class Counts(Struct, frozen=True):
    """One count of both recordings."""

    before: int
    after: int


class Realised(Struct, frozen=True):
    """What the step gained between two recordings."""

    measure: str
    step_us: Sides
    steps: Counts
    saving_us: float
    pct: float
    drift_us: float | None
    corrected_us: float | None
    corrected_pct: float | None
    ci95_us: list[float] | None
    resolved: bool | None


class Predicted(Struct, frozen=True):
    """What was to be expected of the change, in us."""

    source: str
    naive: float
    low: float
    expected: float
    high: float


class Engaged(Struct, frozen=True):
    """Whether the new kernel ran where the old one did."""

    word: str
    taken: float
    same_name: bool
    old_calls: Sides
    old_layers: Counts
    new_kernels: list[str]
    new_calls: float
    layers_hit: int
    steps_hit: int
    steps: int


class Relocated(Struct, frozen=True):
    """Neighbours of the kernel that grew when it shrank."""

    us: float
    rows: Rows


class Throughputs(Struct, frozen=True):
    """Tokens in a second before and after, at one token a step for each sequence."""

    before: Rate
    after: Rate
    gain_pct: float


class Pair(Struct, frozen=True):
    """One device in one phase; times in us per step, or per recording where that is the basis."""

    verdict: str
    why: str
    basis: str
    phase: str
    device: int | None
    device_after: int | None
    realised: Realised
    kernel_us: Saved
    predicted: Predicted | None
    conversion: float | None
    saved_at_kernel_us: float
    relocated: Relocated
    engagement: Engaged | None
    candidates: Rows
    drift: float | None
    throughput: Throughputs | None


class Recording(Struct, frozen=True):
    """A whole recording, mean over its devices; the window is that of the longest."""

    gpus: int
    kernels: int
    kernel_us_per_gpu: float
    window_us: float


class Compared(Pair, frozen=True):
    """`trace-budget/compare/1`: the pair that sets the pace, both traces, and all pairs."""

    before: Facts
    after: Facts
    recordings: Mapping[str, Recording]
    devices: list[Pair]
    rows: Rows
