"""The answer of `project`: the arithmetic line, the range, the threshold, the six questions, the verdict."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from msgspec import UNSET
from msgspec.structs import replace as replace_fields

from trace_budget.projection.evidence import QUESTIONS
from trace_budget.projection.ledger import source, usual_dilution
from trace_budget.projection.project import Projection
from trace_budget.reports import screen
from trace_budget.reports.readings import projected
from trace_budget.reports.structure import steps_by
from trace_budget.schema.band import Band
from trace_budget.schema.documents.project import (
    Blocker,
    Detect,
    Durations,
    Ends,
    Grade,
    HitRate,
    Matched,
    Model,
    Percentages,
    Required,
    SavingPerCall,
    SavingPerStep,
    Token,
    UsualDilution,
    Verdict,
)
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.units import ms_from_us, us_from_ns

SCHEMA = "trace-budget/verdict/1"
APART = 0.005  # relative: figures that differ more are worth a word
BOUND = Line("projected from the trace: a bound within the model, not a measurement", "dim")
FROM_STEP_ON = "from us/step on: what waits, overlap, hit rate, costs, missing times leave"


def project_report(found: Findings, projection: Projection) -> Report:
    """The Report of one projection."""
    tables = (_saving_table(projection), _evidence_table(projection))
    lines = screen.verdict_lines(found, projection)
    if projection.verdict.verdict == "INVALID":  # figures that are of no use are for files alone
        tables = (replace(tables[0], limit=0), replace(tables[1], limit=0))
    else:
        lines += (*screen.figure_lines(found, projection), *screen.settle_lines(projection), BOUND)
    answer = replace_fields(
        verdict_of(projection), throughput=screen.throughput_of(found, projection), steps_by=steps_by(found)
    )
    return Report(SCHEMA, answer, trace_facts(found.trace), lines, tables, (), projection.caveats)


def verdict_of(projection: Projection) -> Verdict:
    """The figures of one projection, keys as fixed in the interface; times in us, shares in %."""
    p = projection
    return Verdict(
        token=token_of(p),
        matched=_matched(p),
        saving_us_per_call=SavingPerCall(*_range(p.saving.mean_ns), p.saving.source, p.saving.kappa),
        saving_us_per_step=SavingPerStep(
            us_from_ns(p.limits.naive), us_from_ns(p.limits.exposed), us_from_ns(p.limits.chain), *_range(p.limits)
        ),
        saving_us_per_token=Ends(*_range(p.limits.over(p.token.tokens_per_step))),
        pct=pct_of(p),
        hit_rate=HitRate(p.hit_rate.low, p.hit_rate.high, "user" if p.candidate.hit_rate else "assumed"),
        required=Required(
            p.required.target_pct,
            _us(p.required.plain_ns),
            _us(p.required.diluted_ns),
            us_from_ns(p.required.ceiling_ns),
        ),
        headroom_us=_us(p.limits.headroom_ns),
        pace=p.limits.pace,
        detect=Detect(p.verdict.mde_pct, p.runs_needed, p.pairs_needed),
        model=Model(
            gap_max_us=us_from_ns(p.limits.gap_max_ns),
            dilution=p.verdict.dilution,
            dilution_usual=UsualDilution(*usual_dilution().ends, source()),
            steps=p.limits.steps,
            assumes="fixed order of work; a dependency starts its op within gap_max_us; no contention",
        ),
        evidence={key: Grade(a.grade, a.source, a.text) for key, a in p.evidence.items()},
        verdict=p.verdict.verdict,
        reason=p.verdict.reason,
        why=p.verdict.why,
        blockers=[Blocker(each.code, each.question, each.text, each.option or None) for each in p.verdict.blockers],
        readings=projected(p.readings),
    )


def token_of(p: Projection) -> Token:
    """The time of a step and of a token."""
    token = p.token
    return Token(
        step_us=us_from_ns(token.step_ns),
        steps=token.steps,
        busy_us=us_from_ns(token.busy_ns),
        cpu_us=_us(token.cpu_ns),
        tokens_per_step=token.tokens_per_step,
        token_us=us_from_ns(token.token_ns),
        source=token.source,
        measure=token.measure,
        mad_us=us_from_ns(token.spread.mad),
        ci95_us=[us_from_ns(v) for v in token.spread.ci95] if token.spread.ci95 else None,
        profiled_over_stated=token.inflation,
    )


def pct_of(p: Projection) -> Percentages:
    """Savings as % of a token."""
    return Percentages(p.pct.naive, *p.pct.ends, p.pct.ceiling)


def _matched(p: Projection) -> Matched:
    ops, m = p.match.ops, p.match
    inside = ops.filter(pl.col("layer_index") >= 0).height
    durations = ops["dur_ns"].drop_nulls().cast(pl.Float64).to_numpy()
    hit = m.layers_hit
    return Matched(
        kernel=m.kernel,
        names=list(m.names),
        calls_per_step=_whole(m.calls_per_step),
        calls=ops.height,
        layers=m.layers or None,
        layers_hit=hit,
        layer_types=m.layer_types if m.types else UNSET,
        calls_per_layer=_whole(inside / m.steps / hit) if hit else None,
        steps_hit=m.steps_hit,
        positions=sorted(ops.filter(pl.col("position") >= 0)["position"].unique().to_list()),
        dur_us=Durations(
            *(us_from_ns(float(v)) for v in (durations.mean(), _median(durations), durations.min(), durations.max()))
        ),
        us_per_step=us_from_ns(float(durations.sum()) / m.steps),
        exposed_us_per_step=us_from_ns(float(ops["solo_ns"].sum()) / m.steps),
    )


def _median(values: object) -> float:
    import numpy as np

    return float(np.median(values))  # type: ignore[call-overload]


def _whole(value: float) -> float | int:
    """A count as an integer where it is one."""
    return int(value) if float(value).is_integer() else value


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else us_from_ns(float(value_ns))


def _range(band_ns: Band) -> tuple[float, float, float]:
    return band_ns.each(us_from_ns).ends


def _saving_table(p: Projection) -> Table:
    """Saving per call, layer, step and token in us and % : low, expected, high, and the two simpler figures."""
    calls = p.match.calls_per_step
    per_layer = calls / p.match.layers_hit if p.match.layers_hit else None
    tokens = p.token.tokens_per_step
    rows = (
        ("low", p.limits.low, p.pct.low, float(p.saving.low.mean())),
        ("expected", p.limits.expected, p.pct.expected, float(p.saving.expected.mean())),
        ("high", p.limits.high, p.pct.high, float(p.saving.high.mean())),
        ("naive product", p.limits.naive, p.pct.naive, float(p.saving.expected.mean())),
        (
            "exposed (heuristic)",
            p.limits.exposed,
            100 * p.limits.exposed / (p.token.token_ns * tokens),
            float(p.saving.expected.mean()),
        ),
    )
    frame = pl.DataFrame(
        {
            "saving": [name for name, *_ in rows],
            "us_per_call": [us_from_ns(call) for *_, call in rows],
            "us_per_layer": [us_from_ns(call) * per_layer if per_layer else None for *_, call in rows],
            "us_per_step": [us_from_ns(step) for _, step, _, _ in rows],
            "ms_per_token": [ms_from_us(us_from_ns(step) / tokens) for _, step, _, _ in rows],
            "pct_of_token": [pct for _, _, pct, _ in rows],
        }
    )
    columns = (
        TableColumn("saving", "saving"),
        TableColumn("us_per_call", "us/call", 3),
        TableColumn("us_per_layer", "us/layer", 3),
        TableColumn("us_per_step", "us/step", 2),
        TableColumn("ms_per_token", "ms/token", 4),
        TableColumn("pct_of_token", "% of token", 3),
    )
    apart = any(abs(call * calls - step) > APART * abs(call * calls) for _, step, _, call in rows[:3])
    differ = apart or any(abs(pct - p.pct.expected) > APART * abs(p.pct.expected) for _, _, pct, _ in rows)
    return Table("saving", FROM_STEP_ON if apart else "", columns, frame, None if differ else 0)


def _evidence_table(p: Projection) -> Table:
    frame = pl.DataFrame(
        {
            "question": [f"{key} {QUESTIONS[key]}" for key in p.evidence],
            "grade": [a.grade for a in p.evidence.values()],
            "source": [a.source for a in p.evidence.values()],
            "answer": [a.text for a in p.evidence.values()],
        }
    )
    columns = (
        TableColumn("question", "question"),
        TableColumn("grade", "grade"),
        TableColumn("answer", "answer", prose=True),
    )
    return Table("evidence", "evidence (A measured here, B measured with control, C stated, D unknown)", columns, frame)
