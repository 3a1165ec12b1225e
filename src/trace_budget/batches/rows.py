"""From what the analyses found to the rows of the dataset's tables."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from trace_budget.analysis.kernels import kernel_table, layer_map, op_table
from trace_budget.batches.jobs import Planned
from trace_budget.batches.names import PathFacts
from trace_budget.batches.question import Question
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.project import Projection
from trace_budget.projection.reading import agree
from trace_budget.readers.rank_names import rank_in
from trace_budget.reports.project import verdict_of
from trace_budget.reports.throughput import gain_pct, makes_tokens, served
from trace_budget.schema.dataset import FAILURES, KERNELS, LAYERS, PROJECTIONS, QUESTIONS, RUNS, STEPS
from trace_budget.schema.documents.project import Ends, Percentages, SavingPerStep
from trace_budget.schema.findings import Findings
from trace_budget.schema.tables import TableSpec
from trace_budget.schema.trace import Trace
from trace_budget.text import safe
from trace_budget.units import US_PER_S

Row = Mapping[str, object]


def table_of(spec: TableSpec, rows: pl.DataFrame | list[Row]) -> pl.DataFrame:
    """Rows as a declared table: its columns in order, cast to their types."""
    schema = spec.schema()
    if isinstance(rows, list):
        return pl.DataFrame(rows, schema=schema)
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def rank_of(trace: Trace, planned: Planned) -> int | None:
    """The rank by the trace, else by the first look, else by the file name."""
    known = (trace.rank, planned.identity.rank, rank_in(planned.identity.source.name))
    return next((rank for rank in known if rank is not None), None)


def run_row(planned: Planned, facts: PathFacts, found: Findings) -> Row:
    """The row of `runs`."""
    trace, steps, layers = found.trace, found.steps, found.layers
    used = steps.frame.filter(pl.col("used"))
    batch = used["batch_size"].drop_nulls().median()
    size = int(batch) if isinstance(batch, int | float) else facts.batch_size
    rate = served(found, steps.step_ns, size) if makes_tokens(found) else None
    caveats = (*trace.caveats, *steps.caveats, *layers.caveats)
    return {
        "trace_id": planned.identity.trace_id,
        "path": safe(planned.identity.source.relative),
        "format": trace.format,
        "model": facts.model,
        "device": trace.device_name or facts.device,
        "vendor": trace.vendor,
        "phase": steps.phase,
        "batch_size": size,
        "tags": [{"key": key, "value": value} for key, value in facts.tags.items()],
        "job": safe(planned.job),
        "rank": rank_of(trace, planned),
        "world_size": trace.world_size if trace.world_size is not None else planned.identity.world_size,
        "complete": trace.complete,
        "gpu_ops": trace.gpu_ops.height,
        "events": trace.events,
        "source_bytes": trace.source_bytes,
        "resolution_ns": trace.resolution_ns,
        "steps": steps.frame.height,
        "steps_used": used.height,
        "step_ns": steps.step_ns,
        "busy_ns": used["busy_ns"].median(),
        "step_method": steps.method,
        "step_confidence": steps.confidence,
        "layers": layers.layers or None,
        "layer_method": layers.method,
        "layer_confidence": layers.confidence,
        "caveats": [{"code": c.code, "severity": c.severity, "count": c.count, "text": c.text} for c in caveats],
        "tokens_per_s_per_sequence": None if rate is None else rate.now,
        "tokens_per_s_per_device": None if rate is None else rate.per_device,
    }


def step_rows(trace_id: str, rank: int | None, found: Findings) -> pl.DataFrame:
    """The rows of `steps`."""
    return table_of(STEPS, _keyed(found.steps.frame, trace_id, rank))


def kernel_rows(trace_id: str, rank: int | None, found: Findings) -> pl.DataFrame:
    """The rows of `kernels` for one phase."""
    frame = kernel_table(found.trace, found.steps, found.layers, found.overlap)
    return table_of(KERNELS, _keyed(frame, trace_id, rank, found.steps.phase))


def layer_rows(trace_id: str, rank: int | None, found: Findings) -> pl.DataFrame:
    """The rows of `layers` for one phase."""
    frame = layer_map(op_table(found.trace, found.steps, found.layers, found.overlap))
    return table_of(LAYERS, _keyed(frame, trace_id, rank, found.steps.phase))


def _keyed(frame: pl.DataFrame, trace_id: str, rank: int | None, phase: str | None = None) -> pl.DataFrame:
    keys = {"trace_id": trace_id, **({"phase": phase} if phase else {})}
    rank_column = pl.lit(rank, dtype=pl.Int64).alias("rank")
    return frame.with_columns(rank_column, *(pl.lit(value).alias(name) for name, value in keys.items()))


def projected_row(projection: Projection, candidate: Candidate) -> Row:
    """The row of `projections`, but for its keys; the figures are those of the JSON document of `project`."""
    figures = verdict_of(projection)
    return {
        "candidate": candidate.id,
        "outcome": "projected",
        "kernel": figures.matched.kernel,
        "calls_per_step": figures.matched.calls_per_step,
        "layers": figures.matched.layers,
        "layers_hit": figures.matched.layers_hit,
        "median_us": figures.matched.dur_us.median,
        "step_us": figures.token.step_us,
        "token_us": figures.token.token_us,
        **_spread("saving_per_call", "us", figures.saving_us_per_call),
        "saving_per_step_naive_us": figures.saving_us_per_step.naive,
        **_spread("saving_per_step", "us", figures.saving_us_per_step),
        **_spread("saving_per_token", "us", figures.saving_us_per_token),
        "naive_pct": figures.pct.naive,
        **_spread("saving", "pct", figures.pct),
        "ceiling_pct": figures.pct.ceiling,
        "target_pct": figures.required.target_pct,
        "required_us_per_call": figures.required.us_per_call,
        "dilution": figures.model.dilution,
        **{q: figures.evidence[q.upper()].grade for q in QUESTIONS},
        "verdict": figures.verdict,
        "reason": figures.reason,
        "why": figures.why,
        "reading": projection.readings[0].label if projection.readings else None,
        "readings": len(projection.readings) or None,
        "readings_agree": agree(projection.readings) if projection.readings else None,
        "tokens_per_s_per_sequence": US_PER_S / figures.token.token_us if figures.token.token_us > 0 else None,
        "throughput_gain_expected_pct": gain_pct(figures.pct.expected) if figures.pct.expected < 100 else None,
    }


def _spread(stem: str, unit: str, ends: Ends | SavingPerStep | Percentages) -> Row:
    return {f"{stem}_low_{unit}": ends.low, f"{stem}_expected_{unit}": ends.expected, f"{stem}_high_{unit}": ends.high}


def absent_row(candidate: Candidate, question: Question, why: str) -> Row:
    """The row of a candidate that the trace cannot answer; all figures are unknown."""
    known = {"candidate": candidate.id, "outcome": "not_in_trace", "target_pct": question.policy.target_pct}
    return {**known, "reason": "not_in_trace", "why": safe(why)}


def projection_rows(trace_id: str, rank: int | None, phase: str, rows: list[Row]) -> pl.DataFrame:
    """The rows of `projections`."""
    return table_of(PROJECTIONS, [{"trace_id": trace_id, "rank": rank, "phase": phase, **row} for row in rows])


def runs_table(row: Row) -> pl.DataFrame:
    """The table `runs` of one trace."""
    return table_of(RUNS, [row])


def failure_table(trace_id: str | None, path: str, outcome: str, code: str, reason: str, size: int) -> pl.DataFrame:
    """The table `failures` of one file."""
    return table_of(
        FAILURES,
        [
            {
                "trace_id": trace_id, "path": safe(path), "outcome": outcome, "code": code, "reason": safe(reason),
                "source_bytes": size,
            }
        ],
    )  # fmt: skip
