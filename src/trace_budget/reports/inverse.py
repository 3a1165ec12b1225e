"""The answers of `threshold` and `estimate`: from a target back to us per call."""

from __future__ import annotations

import polars as pl
from msgspec.structs import asdict

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.projection.estimate import Estimate
from trace_budget.projection.ledger import usual_dilution
from trace_budget.projection.match import rows_matching
from trace_budget.projection.token import Token
from trace_budget.projection.verdict import dilution_of
from trace_budget.reports.structure import head, kernels_of, micros, steps_by
from trace_budget.reports.throughput import Served, served
from trace_budget.schema.documents import project as documents
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, Range
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.units import US_PER_S, show_count, show_pct, show_us, us_from_ns


def threshold_report(
    found: Findings, rows: pl.DataFrame, token: Token, policy: Policy, limit: int | None, kernel: str | None = None
) -> Report:
    """For every kernel (or those that `kernel` means) the us per call it must save for the target, and if it can."""
    frame = micros(rows_matching(rows, kernel, found.trace.path))
    target_us = policy.target_pct / 100 * us_from_ns(token.token_ns) * token.tokens_per_step
    columns = (
        TableColumn("kernel", "kernel"),
        TableColumn("calls_per_step", "calls/step"),
        TableColumn("ceiling_us_per_call", "mean us", 1),
        TableColumn("ceiling_pct", "% of token", 2, answer=True),
        TableColumn("required_us_per_call", "must save us", 3),
        TableColumn("required_speedup", "needed x", 2, answer=True),
        TableColumn("can", "can", answer=True),
    )
    usual = dilution_of(policy)
    text = (
        f"{show_pct(policy.target_pct)} of a token of {show_us(us_from_ns(token.token_ns))} us is"
        f" {show_us(target_us)} us a step. `on paper`: not with the usual loss of integration ({usual:g} is left)"
    )
    floor_ns = dispatch_floor(found.trace).floor_ns
    shortest = f"99 % of the kernels here take {show_us(us_from_ns(floor_ns))} us or more" if floor_ns else ""
    rate = served(found, token.token_ns)
    answer = documents.Threshold(
        target_pct=policy.target_pct,
        token_us=us_from_ns(token.token_ns),
        target_us_per_step=target_us,
        floor_us=None if floor_ns is None else us_from_ns(floor_ns),
        rows=frame.to_dicts(),
        steps_by=steps_by(found),
        throughput=None if rate is None else rate.document(),
    )
    caveats = (*found.trace.caveats, *found.steps.caveats, *found.layers.caveats, *token.caveats)
    return Report(
        "trace-budget/threshold/1",
        answer,
        trace_facts(found.trace),
        (Line(text), *([Line(shortest)] if shortest else []), *(() if rate is None else (rate.line(),)), *head(found)),
        (Table("threshold", "", columns, frame, limit, kernels_of(found)),),
        (),
        caveats,
    )


def estimate_report(
    result: Estimate, saving_us: float, token_us: float, hit: Range, target_pct: float, tokens_per_step: float
) -> Report:
    """The arithmetic alone: every factor is the user's."""
    hits = f"{hit.high:g}" if hit.low == hit.high else f"{hit.low:g} to {hit.high:g}"
    split = f" / {tokens_per_step:g} tokens a step" if tokens_per_step != 1 else ""
    usual = result.required_us_per_call / usual_dilution().expected
    answer = (
        f"{show_pct(result.pct)} of a token on paper, {show_pct(target_pct)} wanted",
        f"saves   {show_us(saving_us)} us x {show_count(result.calls)} calls x hit {hits}{split} = "
        f"{show_us(result.saving_us_per_token)} of {show_us(token_us)} us a token",
        f"needs   {show_us(result.required_us_per_call)} us a call for {show_pct(target_pct)},"
        f" {show_us(usual)} us where {usual_dilution().expected:g} is left after integration",
    )
    serves = (Served(US_PER_S / token_us, None, 1).line_with(result.pct),) if token_us > 0 else ()
    note = Line("an upper bound from stated figures: no overlap, no launch limits, nothing lost in integration", "dim")
    estimate = documents.Estimate(
        saving_us_per_call=saving_us,
        calls_per_step=result.calls,
        hit_rate=documents.HitRate(hit.low, hit.high, "user"),
        tokens_per_step=tokens_per_step,
        token_us=token_us,
        saving_us_per_step=result.saving_us_per_step,
        saving_us_per_token=result.saving_us_per_token,
        saving_us_per_token_low=result.low_us_per_token,
        pct=result.pct,
        pct_low=result.low_pct,
        target_pct=target_pct,
        required_us_per_call=result.required_us_per_call,
    )
    frame = pl.DataFrame({key: [value] for key, value in asdict(estimate).items() if isinstance(value, int | float)})
    table = Table("estimate", "", _estimate_columns(target_pct), frame, 0)
    lines = (*(Line(text) for text in answer), *serves, note)
    return Report("trace-budget/estimate/1", estimate, None, lines, (table,))


def _estimate_columns(target_pct: float) -> tuple[TableColumn, ...]:
    return (
        TableColumn("saving_us_per_call", "us/call", 3),
        TableColumn("calls_per_step", "calls/step"),
        TableColumn("saving_us_per_token", "us/token", 3),
        TableColumn("pct", "% of token", 5),
        TableColumn("required_us_per_call", f"us/call for {target_pct:g} %", 4),
    )
