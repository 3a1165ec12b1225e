"""From steps to tokens: how long a token takes, in the trace and as the user measured it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.projection.claimed_saving import UNIT_SLIP
from trace_budget.projection.statistics import Spread, spread
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import TokenInput
from trace_budget.schema.trace import Caveat
from trace_budget.units import ns_from_ms

PROFILED_OFF = 0.10


@dataclass(frozen=True, slots=True)
class Token:
    """What a step and a token take, in ns.

    `step_ns` median of the used steps, `busy_ns` their median device time, `token_ns` what a token takes; `source`
    trace or user; `measure` interval or window; `inflation` profiled token / the user's.
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


def token_of(steps: Steps, asked: TokenInput) -> Token:
    """The token time: the step time divided by the tokens a sequence gets per step, unless the user knows the TPOT."""
    rows = steps.frame.filter(pl.col("used"))
    measure = steps.measure
    values = rows[f"{measure}_ns"].drop_nulls()
    profiled = steps.step_ns / asked.tokens_per_step
    stated = ns_from_ms(asked.token_ms) if asked.token_ms is not None else None
    inflation = profiled / stated if stated else None
    cpu = rows["cpu_ns"].drop_nulls().median()
    return Token(
        steps.step_ns,
        rows.height,
        _number(rows["busy_ns"].median()),
        _number(cpu) if cpu is not None else None,
        asked.tokens_per_step,
        stated or profiled,
        "user" if stated else "trace",
        measure,
        spread(values.cast(pl.Float64).to_numpy()),
        inflation,
        _caveats(inflation),
    )


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


def impossible(token: Token) -> str:
    """Why the stated token cannot be of this trace; '' when it can."""
    if token.inflation is None or 1 / UNIT_SLIP <= token.inflation <= UNIT_SLIP:
        return ""
    return (
        f"the token of {token.token_ns / 1e6:g} ms that was stated cannot be of this trace, where one takes"
        f" {token.token_ns * token.inflation / 1e6:g} ms: is --token-ms in ms?"
    )
