"""The answer of `project --weights`: every phase with its share, and the workload they make together."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from msgspec import convert
from msgspec.structs import replace as replace_fields

from trace_budget.projection.mixture import Mixture
from trace_budget.reports import screen
from trace_budget.reports.project import pct_of, project_report
from trace_budget.schema.band import Band
from trace_budget.schema.documents import project as documents
from trace_budget.schema.documents.project import Phase, Verdict
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.units import ms_from_us, show_number, show_pct, us_from_ns

WHOLE = "all phases, weighted"
COLUMNS = (
    TableColumn("phase", "phase"),
    TableColumn("share", "share of steps", 3),
    TableColumn("step_us", "step us", 1),
    TableColumn("saving_us_per_step", "expected us/step", 2),
    TableColumn("pct_of_step", "% of step", 3),
    TableColumn("low_pct", "low", 3),
    TableColumn("high_pct", "high", 3),
)


def mixture_report(found: Findings, mixture: Mixture, policy: Policy) -> Report:
    """The weighted figures and their verdict first, then the phase that saves most, named as such.

    In the document `pct`, `detect` and the verdict are of the workload, the other figures of `phase`.
    """
    base, weighted = project_report(found, mixture.main), mixture.weighted(policy)
    whole = project_report(found, weighted)
    phases = [_row(share.phase, share.weight, share.step_ns, share.saved_ns) for share in mixture.shares]
    rows = pl.DataFrame([*phases, _row(WHOLE, 1.0, mixture.step_ns, mixture.saved_ns)])
    keys = Phase.__struct_fields__
    parts = convert([{key: row[key] for key in keys} for row in phases], list[Phase])
    mixed = documents.Mixture(us_from_ns(mixture.step_ns), pct_of(weighted), parts)
    answer = replace_fields(whole.answered(Verdict), phase=mixture.main_phase, mixture=mixed)
    saving, others = base.tables[0], whole.tables[1:]
    title = "; ".join(filter(None, (f"phase {mixture.main_phase}", saving.title)))
    tables = (Table("mixture", "", COLUMNS, rows), replace(saving, title=title), *others)
    weighted = mixture.weighted(policy)
    if weighted.verdict.verdict == "INVALID":
        return replace(whole, answer=answer, tables=(replace(tables[0], limit=0), *whole.tables))
    figures = (*_headline(mixture), *screen.figure_lines(found, mixture.main), *screen.settle_lines(weighted))
    lines = (*screen.verdict_lines(found, weighted), *figures)
    return replace(whole, answer=answer, lines=lines, tables=tables)


def _row(phase: str, share: float, step_ns: float, saved_ns: Band) -> dict[str, object]:
    """One row of the table, in us and % of the step it is about."""
    low, expected, high = saved_ns.ends
    return {
        "phase": phase,
        "share": share,
        "step_us": us_from_ns(step_ns),
        "saving_us_per_step": us_from_ns(expected),
        "pct_of_step": 100 * expected / step_ns,
        "low_pct": 100 * low / step_ns,
        "high_pct": 100 * high / step_ns,
    }


def _headline(mixture: Mixture) -> tuple[Line, ...]:
    pct, ms = mixture.pct, ms_from_us(us_from_ns(mixture.stated_ns or mixture.step_ns))
    of = "the step as stated, of" if mixture.stated_ns else "a mean step of"
    span = f"{show_pct(pct.low)} to {show_pct(pct.high)}"
    answer = f"{WHOLE}: {show_pct(pct.expected)} of {of} {show_number(ms, 3)} ms ({span})"
    return Line(answer), Line(f"phase {mixture.main_phase}, which saves most a step, alone:", "dim")
