"""What a batch says in the end: the spread of the projected % over traces, best and worst, verdicts, by group."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import convert

from trace_budget.batches.names import checked_pattern
from trace_budget.batches.run import Batch
from trace_budget.batches.work import FAILED
from trace_budget.errors import UsageError
from trace_budget.schema.documents import others as documents
from trace_budget.schema.documents.others import Failure
from trace_budget.schema.quantities import VERDICTS
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.units import show_count

SCHEMA = "trace-budget/batch/1"
GROUPS = ("model", "device", "phase", "batch_size", "format", "job", "vendor")
ALL = "all traces"
_EXTREMES = 3
_SHOWN_FAILURES = 20
_SPREAD = (("min", 0.0), ("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("max", 1.0))


def summary(batch: Batch, by: Sequence[str] = ()) -> Report:
    """The report of a batch; `by` names columns of runs, or tags of the name pattern, whose values make groups."""
    runs, projections, failures = batch.table("runs"), batch.table("projections"), batch.table("failures")
    keyed = _with_groups(runs, by)
    rows = projections.join(keyed, on="trace_id", how="left", maintain_order="left")
    groups = pl.concat([_spread(rows.with_columns(pl.lit(ALL).alias("group"))), *([_spread(rows)] if by else [])])
    known = rows.filter(pl.col("outcome") == "projected")
    best, worst = (_extremes(known, descending) for descending in (True, False))
    counts = _counts(batch, runs, failures)
    answer = documents.Batch(
        **counts,
        question=batch.dataset.question.key(),
        out=batch.dataset.store.address,
        by=list(by),
        groups=groups.to_dicts(),
        best=best.to_dicts(),
        worst=worst.to_dicts(),
        failures=convert(failures.sort("path").drop("source_bytes").to_dicts(), list[Failure]),
    )
    tables = (
        _group_table(groups),
        _extreme_table("best", best),
        _extreme_table("worst", worst),
        *_failure_tables(failures),
    )
    return Report(SCHEMA, answer, None, _lines(batch, counts), tables)


def _with_groups(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """trace_id, path and group: the values of the columns asked for, put together."""
    values = [_group_value(name).fill_null("-") for name in by]
    group = pl.concat_str(values, separator=" · ") if values else pl.lit(ALL)
    return runs.select("trace_id", "path", "job", group.alias("group"))


def _group_value(name: str) -> pl.Expr:
    if name in GROUPS:
        return pl.col(name).cast(pl.String)
    tag = pl.element().filter(pl.element().struct.field("key") == name).struct.field("value").first()
    return pl.col("tags").list.eval(tag).list.first()


def check_groups(by: Sequence[str], name_pattern: str | None) -> None:
    """Raise UsageError for a group that neither the runs nor the name pattern gives."""
    known = (*GROUPS, *(checked_pattern(name_pattern).names if name_pattern else ()))
    for name in by:
        if name not in known:
            raise UsageError("no such group", where="--by", expected=f"some of {', '.join(known)}", found=ascii(name))


def _spread(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per group and candidate: how many traces, the spread of the expected %, the verdicts."""
    pct = pl.col("saving_expected_pct")
    return (
        rows.group_by("group", "candidate")
        .agg(
            pl.len().cast(pl.Int64).alias("traces"),
            pl.col("job").n_unique().cast(pl.Int64).alias("jobs"),
            (pl.col("outcome") != "projected").sum().cast(pl.Int64).alias("absent"),
            *(pct.quantile(at, "linear").alias(f"{name}_pct") for name, at in _SPREAD),
            pl.col("saving_low_pct").min().alias("lowest_low_pct"),
            pl.col("saving_high_pct").max().alias("highest_high_pct"),
            *((pl.col("verdict") == verdict).sum().cast(pl.Int64).alias(verdict) for verdict in VERDICTS),
        )
        .sort("group", "candidate")
    )


def _extremes(known: pl.DataFrame, descending: bool) -> pl.DataFrame:
    ordered = known.sort("saving_expected_pct", "path", "candidate", descending=[descending, False, False])
    columns = ("path", "candidate", "saving_low_pct", "saving_expected_pct", "saving_high_pct", "verdict", "why")
    return ordered.head(_EXTREMES).select(columns)


def _counts(batch: Batch, runs: pl.DataFrame, failures: pl.DataFrame) -> dict[str, int]:
    failed = failures.filter(pl.col("outcome") == FAILED).height
    return {
        "traces": runs.height,
        "jobs": runs["job"].n_unique(),
        "failed": failed,
        "left_out": failures.height - failed,
        "other_files": batch.others,
        "done_before": batch.resumed,
    }


def _lines(batch: Batch, counts: dict[str, int]) -> tuple[Line, ...]:
    head = f"{show_count(counts['traces'])} traces of {show_count(counts['jobs'])} jobs"
    rest = f"{show_count(counts['failed'])} files failed, {show_count(counts['left_out'])} left out"
    settled = f"{show_count(counts['done_before'])} were settled before"
    more = f"{show_count(counts['other_files'])} files are no traces; {settled}"
    place = f"dataset: {batch.dataset.store.address} (question={batch.dataset.question.key()})"
    return (Line(head, "title"), Line(rest, "warn" if counts["failed"] else "plain"), Line(more), Line(place, "dim"))


def _group_table(groups: pl.DataFrame) -> Table:
    shown = [TableColumn("group", "group"), TableColumn("candidate", "candidate"), TableColumn("traces", "traces")]
    shown += [TableColumn("absent", "absent")] if groups["absent"].sum() else []
    shown += [TableColumn(f"{name}_pct", f"{name} %", 3) for name in ("min", "median", "max")]
    shown += [TableColumn(verdict, verdict) for verdict in VERDICTS]
    return Table("groups", "expected saving, % of a token, over traces", tuple(shown), groups)


def _extreme_table(name: str, frame: pl.DataFrame) -> Table:
    columns = (
        TableColumn("path", "trace"),
        TableColumn("candidate", "candidate"),
        TableColumn("saving_low_pct", "low %", 3),
        TableColumn("saving_expected_pct", "expected %", 3),
        TableColumn("saving_high_pct", "high %", 3),
        TableColumn("verdict", "verdict"),
    )
    return Table(name, name, columns, frame, None if frame.height else 0)


def _failure_tables(failures: pl.DataFrame) -> tuple[Table, ...]:
    columns = (
        TableColumn("outcome", "outcome"),
        TableColumn("code", "code"),
        TableColumn("reason", "reason", prose=True),
    )
    ordered = failures.sort("outcome", "path")
    return (Table("failures", "files without an answer", columns, ordered, _SHOWN_FAILURES),) if failures.height else ()
