"""The answer of `check`: what is wrong with each trace, and how far its figures can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.schema.documents.others import Check, Finding
from trace_budget.schema.findings import Findings
from trace_budget.schema.quantities import TRUST
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.text import as_text

BROKEN_CODES = ("no_gpu_ops", "lost_kernels", "steps_unknown", "capture_sidecar", "aggregates_only")


@dataclass(frozen=True, slots=True)
class Checked:
    """One trace with everything found about it; `found` is None when no steps could be found."""

    trace: Trace
    found: Findings | None
    findings: tuple[Caveat, ...]


def trust_of(findings: tuple[Caveat, ...]) -> str:
    """good: nothing that moves a figure; usable: warnings to read; broken: do not project from it."""
    if any(f.severity == "error" or f.code in BROKEN_CODES for f in findings):
        return "broken"
    return "usable" if any(f.severity == "warning" for f in findings) else "good"


def check_report(checked: list[Checked], across: tuple[Caveat, ...]) -> Report:
    """Findings of all traces; `across` concerns several of them together (ranks missing or doubled)."""
    worst = max((trust_of((*c.findings, *across)) for c in checked), key=TRUST.index)
    rows = [_row(c.trace.path, finding) for c in checked for finding in c.findings] + [_row("all", f) for f in across]
    schema = {"trace": pl.String, "severity": pl.String, "code": pl.String, "count": pl.Int64, "text": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    answer = Check(
        trust=worst,
        traces=[{**trace_facts(c.trace), "trust": trust_of(c.findings)} for c in checked],
        findings=[Finding(path, code, severity, count, text) for path, severity, code, count, text in rows],
    )
    lines = tuple(_line(c) for c in checked)
    columns = (
        TableColumn("severity", "severity"),
        TableColumn("code", "code"),
        TableColumn("count", "count"),
        TableColumn("text", "what it means", prose=True),
    )
    first = trace_facts(checked[0].trace) if len(checked) == 1 else None
    return Report("trace-budget/check/1", answer, first, lines, _tables(frame, columns, len(checked)))


def _tables(frame: pl.DataFrame, columns: tuple[TableColumn, ...], traces: int) -> tuple[Table, ...]:
    """The findings; of several traces a table each to read, and all of them together for files."""
    if traces == 1:
        return (Table("findings", "", columns, frame),)
    each = frame.partition_by("trace", maintain_order=True)
    named = ("of all together" if rows["trace"][0] == "all" else str(rows["trace"][0]) for rows in each)
    shown = (Table("findings", title, columns, rows) for title, rows in zip(named, each, strict=True))
    return (Table("findings", "", columns, frame, 0), *shown)


def _row(path: str, finding: Caveat) -> tuple[str, str, str, int, str]:
    return as_text(path), finding.severity, finding.code, finding.count, finding.text


def _line(checked: Checked) -> Line:
    trust = trust_of(checked.findings)
    style = {"good": "good", "usable": "warn", "broken": "bad"}[trust]
    trace = checked.trace
    device = f", {trace.device_name}" if trace.device_name else ""
    partial = "" if trace.complete else ", PARTIAL"
    return Line(f"{trace.path}: {trust} ({trace.format}{device}, {trace.gpu_ops.height} GPU ops{partial})", style)


def across_ranks(traces: list[Trace]) -> tuple[Caveat, ...]:
    """Ranks of one job that are missing, doubled or unknown among several traces."""
    if len(traces) < 2:
        return ()
    ranks = [t.rank for t in traces]
    known = sorted(r for r in ranks if r is not None)
    out: list[Caveat] = []
    if len(known) < len(ranks):
        out.append(
            Caveat(
                "rank_unknown",
                f"{len(ranks) - len(known)} trace(s) do not tell their rank",
                len(ranks) - len(known),
                "warning",
            )
        )
    doubled = sorted({r for r in known if known.count(r) > 1})
    if doubled:
        out.append(Caveat("duplicate_rank", f"rank(s) {doubled} come more than once", len(doubled), "warning"))
    world = max((t.world_size or 0 for t in traces), default=0)
    missing = sorted(set(range(world)) - set(known))
    if missing:
        out.append(
            Caveat(
                "missing_ranks", f"{len(missing)} of {world} ranks are missing: {missing[:8]}", len(missing), "warning"
            )
        )
    return tuple(out)


def unusable(why: str) -> Caveat:
    """The finding for a trace whose steps cannot be found."""
    return Caveat("no_countable_step", why, 1, "error")
