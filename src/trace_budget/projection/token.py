"""From steps to tokens: how long a token takes, in the trace and as the user measured it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from trace_budget.projection.claimed_saving import UNIT_SLIP
from trace_budget.projection.statistics import Spread, spread
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import TokenInput
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import ms_from_ns, ns_from_ms, us_from_ns

PROFILED_OFF = 0.10


@dataclass(frozen=True, slots=True)
class Token:
    """What a step and a token take, in ns.

    `step_ns` median of the used steps, `busy_ns` their median device time, `token_ns` what a token takes; `source`
    trace or user; `measure` interval, window or range (of one step on the host); `inflation` profiled token / the
    user's. `shortest_ns`: the least a token may take; less than `token_ns` where one step leaves it open.
    """

    step_ns: float
    steps: int
    busy_ns: float
    cpu_ns: float | None
    tokens_per_step: float
    token_ns: float
    source: str
    measure: str
    spread: Spread
    inflation: float | None
    caveats: tuple[Caveat, ...]
    shortest_ns: float

    @property
    def one_step(self) -> bool:
        """Whether the token rests on one step that nothing follows."""
        return self.steps == 1 and self.source == "trace"


def token_of(steps: Steps, asked: TokenInput, trace: Trace | None = None) -> Token:
    """The token time: the step time divided by the tokens a sequence gets per step, unless the user knows the TPOT.

    With the `trace` one step takes at least as long as the host works on it.
    """
    steps = replace(steps, pace=asked.pace) if asked.pace else steps
    rows = steps.frame.filter(pl.col("used"))
    measure = steps.measure
    values = rows[f"{measure}_ns"].drop_nulls()
    step_ns = window_ns = steps.step_ns
    host_ns = _on_host(rows, trace) if rows.height == 1 and trace is not None else 0.0
    if host_ns > step_ns:
        # Nothing shows when the next step would begin; it cannot before the host is done with this one.
        step_ns, measure = host_ns, "range"
    profiled = step_ns / asked.tokens_per_step
    stated = ns_from_ms(asked.token_ms) if asked.token_ms is not None else None
    inflation = profiled / stated if stated else None
    cpu = rows["cpu_ns"].drop_nulls().median()
    return Token(
        step_ns,
        rows.height,
        _number(rows["busy_ns"].median()),
        _number(cpu) if cpu is not None else None,
        asked.tokens_per_step,
        stated or profiled,
        "user" if stated else "trace",
        measure,
        spread(values.cast(pl.Float64).to_numpy()),
        inflation,
        (*_caveats(inflation), *_one_step(window_ns, step_ns)),
        stated or window_ns / asked.tokens_per_step,
    )


def _on_host(row: pl.DataFrame, trace: Trace) -> float:
    """How long the range of one step lasts on the host, waits for what ran before its own first op taken off."""
    range_ns, name, begin = row["cpu_ns"][0], row["name"][0], row["start_ns"][0]
    if range_ns is None or trace.markers is None:
        return 0.0
    length = pl.col("end_ns") - pl.col("start_ns")
    mark = trace.markers.filter((length == range_ns) & (pl.col("name").cast(pl.String) == name)).head(1)
    if mark.is_empty() or trace.calls is None:
        return float(range_ns)
    earlier = trace.calls.filter(
        pl.col("kind").cast(pl.String).is_in(["sync", "memcpy"]) & (pl.col("tid") == mark["tid"][0])
        & (pl.col("start_ns") >= mark["start_ns"][0]) & (pl.col("start_ns") < begin)
    )  # fmt: skip
    return float(range_ns - (earlier["end_ns"].clip(upper_bound=begin) - earlier["start_ns"]).sum())


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _caveats(inflation: float | None) -> tuple[Caveat, ...]:
    if inflation is None or abs(inflation - 1.0) <= PROFILED_OFF:
        return ()
    cause = (
        "the profiler or another load changed the run" if inflation > 1 else "the trace is of a smaller load or part"
    )
    text = (
        f"the profiled token takes {inflation:.2f} times the stated one: {cause}; "
        "us per call come from the trace, percentages from the stated token"
    )
    return (Caveat("profiler_inflation", text, 1, "warning"),)


def _one_step(window_ns: float, step_ns: float) -> tuple[Caveat, ...]:
    if step_ns <= window_ns:
        return ()
    text = (
        f"the one step takes {us_from_ns(step_ns):,.1f} us on the host and {us_from_ns(window_ns):,.1f} us on the"
        " device: a token is taken for the longer, the high percentage is of the shorter (--token-ms states it)"
    )
    return (Caveat("one_step_longer_on_host", text, 1, "warning"),)


def impossible(token: Token) -> str:
    """Why the stated token cannot be of this trace; '' when it can."""
    if token.inflation is None or 1 / UNIT_SLIP <= token.inflation <= UNIT_SLIP:
        return ""
    return (
        f"the token of {ms_from_ns(token.token_ns):g} ms that was stated cannot be of this trace, where one takes"
        f" {ms_from_ns(token.token_ns * token.inflation):g} ms: is --token-ms in ms?"
    )
