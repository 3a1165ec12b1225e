"""Pictures of answers that are drawn without a script: numbers with their units, never layout."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.schema.band import Band


@dataclass(frozen=True, slots=True)
class Stage:
    """One bar of a cascade, in us per token: from what was left before it to what is left after it.

    `total`: what is left here, drawn from 0; else the bar is what this stage takes away or adds.
    """

    title: str
    before_us: float
    after_us: float
    total: bool = False


@dataclass(frozen=True, slots=True)
class Cascade:
    """One candidate from the product on paper to what is left after integration, in us per token.

    `projected_us`: low, expected, high of what is projected. `among`: the kernels that a label is told apart from.
    """

    kernel: str
    stages: tuple[Stage, ...]
    projected_us: Band
    token_us: float
    target_pct: float
    verdict: str
    among: tuple[str, ...] = ()

    @property
    def wanted_us(self) -> float:
        """What the target asks for."""
        return self.target_pct / 100 * self.token_us


@dataclass(frozen=True, slots=True)
class Forest:
    """Candidates by what they are worth: candidate, low_pct, expected_pct, high_pct, verdict; best first.

    `together`: what all of them save at once, in %; None where fewer than two count. Below `mde_pct` an A/B of `runs`
    runs an arm sees nothing.
    """

    frame: pl.DataFrame
    together: Band | None
    target_pct: float
    mde_pct: float
    noise_pct: float
    runs: int


@dataclass(frozen=True, slots=True)
class Swing:
    """What one assumption moves the answer by: expected % with it at its two ends, and what the ends are.

    Equal ends: it moves nothing, and `ends` says why.
    """

    question: str
    title: str
    low_pct: float
    high_pct: float
    ends: str


@dataclass(frozen=True, slots=True)
class Tornado:
    """The assumptions behind one projection, what moves the answer most first."""

    kernel: str
    swings: tuple[Swing, ...]
    expected_pct: float
    target_pct: float
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """Kernels by share: kernel, share_pct, speedup (null: none is enough), can; most time first.

    `dilution`: what integration usually leaves of a projected saving.
    """

    frame: pl.DataFrame
    target_pct: float
    dilution: float
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneLayer:
    """One layer of one step in time, in us since its begin.

    `bars`: row (place in `rows`), start_us, us, kernel, number (place in `kernels`, from 1), matched. `kernels`:
    kernel, calls, us, in the order in which they first run.
    """

    layer: int
    layers: int
    step: int
    rows: tuple[str, ...]
    bars: pl.DataFrame
    kernels: pl.DataFrame
    end_us: float
    among: tuple[str, ...] = ()


Drawn = Cascade | Forest | Tornado | Needed | OneLayer
