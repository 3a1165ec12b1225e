"""The answers about what is in a trace: `kernels`, `steps`, `layers`, `overlap`."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType, field

from trace_budget.schema.documents import Rows


class StepsBy(Struct, frozen=True):
    """How the steps were found."""

    method: str
    confidence: str
    found: int
    counted: int


class Rate(Struct, frozen=True):
    """Tokens in a second as traced, of one sequence and of one device where the batch size is known."""

    tokens_per_s_per_sequence: float
    tokens_per_s_per_device: float | None
    batch_size: int | None
    devices: int


class Kernels(Struct, frozen=True):
    """`trace-budget/kernels/1`, the answer of `kernels`; without a timeline there are no steps."""

    phase: str | None
    step_us: float | None
    rows: Rows
    steps_by: StepsBy | UnsetType = UNSET


class StepReading(Struct, frozen=True):
    """One way to find the steps, with what speaks for and against it."""

    level: str
    method: str
    confidence: str
    for_: list[str] = field(name="for")
    against: list[str]
    step_us: float
    steps: int
    measure: str
    layers: int | None
    settle: str


class Steps(Struct, frozen=True):
    """`trace-budget/steps/1`, the answer of `steps`."""

    method: str
    confidence: str
    phase: str
    step_us: float
    readings: list[StepReading]
    rows: Rows
    steps_by: StepsBy
    throughput: Rate | None = None


class Segment(Struct, frozen=True):
    """A stretch of repeated layers."""

    stream: int | None
    first_op: int
    period_kernels: int
    repeats: int
    layers: int


class LayersBy(Struct, frozen=True):
    """How well one mark of the capture finds the layers."""

    name: str
    calls_in_their_layer: int
    layers: int


class Capture(Struct, frozen=True):
    """What a graph capture names of the calls of a replay."""

    label: str | None
    named: int
    replayed: int
    method: str
    layers_by: list[LayersBy]
    modules_tell_layers: bool
    why_not: str | None


class Layers(Struct, frozen=True):
    """`trace-budget/layers/1`, the answer of `layers`."""

    layers: int | None
    segments: list[Segment]
    method: str
    confidence: str
    rows: Rows
    sites: Rows
    steps_by: StepsBy
    layer_types: list[str] | UnsetType = UNSET
    capture: Capture | UnsetType = UNSET


class Overlap(Struct, frozen=True):
    """`trace-budget/overlap/1`, the answer of `overlap`."""

    devices: Rows
    streams: Rows
    rows: Rows
    steps_by: StepsBy
