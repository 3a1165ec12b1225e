"""Page: an answer with its pictures; plain numbers with units, from which the HTML page and the plots are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.schema.pictures import Drawn
from trace_budget.schema.report import Json, Line, Report, Table


@dataclass(frozen=True, slots=True)
class Stated:
    """Where the candidate stands on its curve: us saved per call, and % of the token."""

    saving_us: float
    low_pct: float
    expected_pct: float
    high_pct: float


@dataclass(frozen=True, slots=True)
class Knee:
    """Where the expected saving bends: from here on something else than the kernel sets more of the pace."""

    saving_us: float
    expected_pct: float


@dataclass(frozen=True, slots=True)
class Curve:
    """What a saving per call is worth: the sensitivity curve of one kernel.

    `points`: saving_us, low_pct, expected_pct, high_pct, naive_pct, expected_us_per_step, sorted by saving_us from 0 to
    `full_us`, the mean duration of a call; beyond `shortest_us` calls have nothing left to save. `mde_pct` is the least
    effect an A/B of `runs` runs an arm with `noise_pct` noise sees; `ceiling_pct` what a free kernel would give by the
    naive product. `complete` is False when the trace was cut or damaged.
    """

    kernel: str
    points: pl.DataFrame
    stated: Stated | None
    knees: tuple[Knee, ...]
    full_us: float
    shortest_us: float
    token_us: float
    ceiling_pct: float
    target_pct: float
    mde_pct: float
    noise_pct: float
    runs: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """A stretch of the strip worth a look, in us since its begin."""

    title: str
    from_us: float
    to_us: float


@dataclass(frozen=True, slots=True)
class Strip:
    """One step as bars on rows, all on one time axis in us since its first op.

    `bars`: row (place in `rows`), start_us, width_us, matched, kernel, ops (how many executions the bar stands for).
    `ends_us`: when each row's step is over. `merged_us`: ops closer than this were merged into one bar; 0: none were.
    """

    rows: tuple[str, ...]
    bars: pl.DataFrame
    ends_us: tuple[float, ...]
    views: tuple[View, ...]
    highlight: str
    merged_us: float


@dataclass(frozen=True, slots=True)
class LayerMap:
    """Which call site runs in which layer, and how long.

    `sites`: kernel, position, layers_hit, matched, one row per call site in the order of the layer. `cells`: site (row
    of `sites`), layer_index, calls, us (mean of the counted steps). `left_out`: call sites that found no room.
    """

    sites: pl.DataFrame
    cells: pl.DataFrame
    layers: int
    left_out: int


@dataclass(frozen=True, slots=True)
class KernelBars:
    """Kernels by time per step: kernel, us_per_step, pct_of_step, cumulative_pct, calls_per_step, matched.

    `others` counts the kernels summed up in the last row; 0: every kernel has its row.
    """

    frame: pl.DataFrame
    others: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A duration worth a line: its title and us."""

    title: str
    us: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations in bins of equal ratio: low_us, high_us, matched, others (executions). `zero`: executions of 0 ns."""

    bins: pl.DataFrame
    marks: tuple[Mark, ...]
    matched: str
    zero: int


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Step times in order: step_index, us, name, why_out (empty for steps that count).

    `measure` is interval or window, `left_out` the counted steps not listed because there are too many.
    """

    frame: pl.DataFrame
    median_us: float
    measure: str
    left_out: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Candidates one after the other: candidate, expected_us, low_us, high_us (each alone, per token), measured.

    `together_us` is what all of them save at once; what is missing to their sum is the sub-additive remainder.
    """

    frame: pl.DataFrame
    together_us: float
    token_us: float

    @property
    def remainder_us(self) -> float:
        """What all save together beyond the sum of each alone; 0 where the two agree to a millionth."""
        alone = float(self.frame["expected_us"].sum())
        rest = self.together_us - alone
        return rest if abs(rest) > 1e-6 * abs(alone) else 0.0


Picture = Curve | Strip | LayerMap | KernelBars | Histogram | StepTimes | Waterfall


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture: `key` names it in links, `text` says what it shows and how to read it, `table` holds its numbers."""

    key: str
    title: str
    text: str
    picture: Picture | Drawn
    table: Table


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """An answer with its pictures, the main one first; `notes` say how the figures were come by."""

    title: str
    answer: Report
    figures: tuple[Figure, ...]
    notes: tuple[Line, ...] = ()

    @property
    def table(self) -> pl.DataFrame:
        """The rows of the answer."""
        return self.answer.table

    @property
    def document(self) -> Json:
        """The answer as plain values, with the keys of the JSON document."""
        return self.answer.document

    def __repr__(self) -> str:
        return f"<Page {self.title}: {', '.join(figure.key for figure in self.figures)}>"

    def _repr_html_(self) -> str:
        return self.answer._repr_html_()

    @property
    def curve(self) -> Curve | None:
        """The sensitivity curve, where the page has one."""
        return next((f.picture for f in self.figures if isinstance(f.picture, Curve)), None)
