"""The answer of `project --weights`: every phase with its share, and the workload they make together."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from trace_budget.projection.mixture import Mixture
from trace_budget.reports.project import STYLES, project_report
from trace_budget.schema.findings import Found
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.units import show_number, show_pct, us_from_ns

COLUMNS = (
    TableColumn("phase", "phase"),
    TableColumn("share", "share of steps", 3),
    TableColumn("step_us", "step us", 1),
    TableColumn("saving_us_per_step", "expected us/step", 2),
    TableColumn("pct_of_step", "% of step", 3),
)


def mixture_report(found: Found, mixture: Mixture) -> Report:
    """The report of the phase that saves most, with the weighted figures and their verdict in its place."""
    base = project_report(found, mixture.main)
    rows = pl.DataFrame(
        [
            {
                "phase": share.phase,
                "share": share.weight,
                "step_us": us_from_ns(share.step_ns),
                "saving_us_per_step": us_from_ns(share.saved("expected")),
                "pct_of_step": 100 * share.saved("expected") / share.step_ns,
            }
            for share in mixture.shares
        ]
    )
    pct = {name: getattr(mixture.pct, name) for name in ("naive", "low", "expected", "high", "ceiling")}
    document = {
        **base.document,
        "mixture": {"step_us": us_from_ns(mixture.step_ns), "pct": pct, "rows": rows.to_dicts()},
        "verdict": mixture.verdict.verdict,
        "reason": mixture.verdict.reason,
        "why": mixture.verdict.why,
    }
    text = (
        f"weighted over phases: {show_pct(pct['expected'])} of a mean step of "
        f"{show_number(us_from_ns(mixture.step_ns) / 1000, 3)} ms ({show_pct(pct['low'])} to {show_pct(pct['high'])})"
    )
    verdict = Line(f"{mixture.verdict.verdict}: {mixture.verdict.why}", STYLES[mixture.verdict.verdict])
    tables = (*base.tables, Table("mixture", text, COLUMNS, rows))
    return replace(base, document=document, tables=tables, footer=(verdict, *base.footer[1:]))
