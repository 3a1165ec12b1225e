"""The answer of `project`: the arithmetic line, the range, the threshold, the six questions, the verdict."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from trace_budget.projection.evidence import QUESTIONS
from trace_budget.projection.ledger import source, usual_dilution
from trace_budget.projection.project import Projection
from trace_budget.reports import screen
from trace_budget.reports.readings import projected
from trace_budget.reports.structure import steps_facts
from trace_budget.schema.band import Band
from trace_budget.schema.documents import Verdict, verdict_of
from trace_budget.schema.findings import Found
from trace_budget.schema.report import Json, Line, Report, Table, TableColumn, trace_facts
from trace_budget.units import ms_from_us, us_from_ns

SCHEMA = "trace-budget/verdict/1"
APART = 0.005  # relative: figures that differ more are worth a word
BOUND = Line("projected from the trace: a bound within the model, not a measurement", "dim")
FROM_STEP_ON = "from us/step on: what waits, overlap, hit rate, costs, missing times leave"


def project_report(found: Found, projection: Projection) -> Report:
    """The Report of one projection."""
    tables = (_saving_table(projection), _evidence_table(projection))
    lines = screen.verdict_lines(found, projection)
    if projection.verdict.verdict == "INVALID":  # figures that are of no use are for files alone
        tables = (replace(tables[0], limit=0), replace(tables[1], limit=0))
    else:
        lines += (*screen.figure_lines(found, projection), *screen.settle_lines(projection), BOUND)
    facts = {"throughput": screen.throughput_facts(found, projection), "steps_by": steps_facts(found)}
    return Report(
        SCHEMA, {**document(projection), **facts}, trace_facts(found.trace), lines, tables, (), projection.caveats
    )


def document(projection: Projection) -> dict[str, object]:
    """The JSON document, keys as fixed in the interface; times in us, shares in %."""
    p = projection
    return {
        "token": token_facts(p),
        "matched": _matched(p),
        **_savings(p),
        "hit_rate": {
            "low": p.hit_rate.low,
            "high": p.hit_rate.high,
            "source": "user" if p.candidate.hit_rate else "assumed",
        },
        "required": {
            "target_pct": p.required.target_pct,
            "us_per_call": _us(p.required.plain_ns),
            "us_per_call_with_dilution": _us(p.required.diluted_ns),
            "ceiling_us_per_call": us_from_ns(p.required.ceiling_ns),
        },
        "headroom_us": _us(p.limits.headroom_ns),
        "pace": p.limits.pace,
        "detect": {"mde_pct": p.verdict.mde_pct, "runs_needed": p.runs_needed, "pairs_needed": p.pairs_needed},
        "model": {
            "gap_max_us": us_from_ns(p.limits.gap_max_ns),
            "dilution": p.verdict.dilution,
            "dilution_usual": {**usual_dilution().named(), "source": source()},
            "steps": p.limits.steps,
            "assumes": "fixed order of work; a dependency starts its op within gap_max_us; no contention",
        },
        "evidence": {key: {"grade": a.grade, "source": a.source, "text": a.text} for key, a in p.evidence.items()},
        "verdict": p.verdict.verdict,
        "reason": p.verdict.reason,
        "why": p.verdict.why,
        "blockers": [
            {"code": each.code, "question": each.question, "text": each.text, "option": each.option or None}
            for each in p.verdict.blockers
        ],
        "readings": projected(p.readings),
    }


def figures(projection: Projection) -> Verdict:
    """The same, typed: who needs a figure of an answer takes it here."""
    return verdict_of(document(projection))


def token_facts(p: Projection) -> Json:
    """The time of a step and of a token."""
    token = p.token
    return {
        "step_us": us_from_ns(token.step_ns),
        "steps": token.steps,
        "busy_us": us_from_ns(token.busy_ns),
        "cpu_us": _us(token.cpu_ns),
        "tokens_per_step": token.tokens_per_step,
        "token_us": us_from_ns(token.token_ns),
        "source": token.source,
        "measure": token.measure,
        "mad_us": us_from_ns(token.spread.mad),
        "ci95_us": [us_from_ns(v) for v in token.spread.ci95] if token.spread.ci95 else None,
        "profiled_over_stated": token.inflation,
    }


def _savings(p: Projection) -> Json:
    """Savings per call, step and token in us, and per token in %."""
    tokens, limits = p.token.tokens_per_step, p.limits
    return {
        "saving_us_per_call": {
            **_range(p.saving.mean_ns),
            "source": p.saving.source,
            "kappa": p.saving.kappa,
        },
        "saving_us_per_step": {
            "naive": us_from_ns(limits.naive),
            "exposed": us_from_ns(limits.exposed),
            "chain": us_from_ns(limits.chain),
            **_range(limits),
        },
        "saving_us_per_token": _range(limits.over(tokens)),
        "pct": pct_facts(p),
    }


def pct_facts(p: Projection) -> Json:
    """Savings as % of a token."""
    return {"naive": p.pct.naive, **p.pct.named(), "ceiling": p.pct.ceiling}


def _matched(p: Projection) -> Json:
    ops, m = p.match.ops, p.match
    inside = ops.filter(pl.col("layer_index") >= 0).height
    durations = ops["dur_ns"].drop_nulls().cast(pl.Float64).to_numpy()
    hit = m.layers_hit
    return {
        "kernel": m.kernel,
        "names": list(m.names),
        "calls_per_step": _whole(m.calls_per_step),
        "calls": ops.height,
        "layers": m.layers or None,
        "layers_hit": hit,
        **({"layer_types": m.layer_types} if m.types else {}),
        "calls_per_layer": _whole(inside / m.steps / hit) if hit else None,
        "steps_hit": m.steps_hit,
        "positions": sorted(ops.filter(pl.col("position") >= 0)["position"].unique().to_list()),
        "dur_us": {
            "mean": us_from_ns(float(durations.mean())),
            "median": us_from_ns(float(_median(durations))),
            "min": us_from_ns(float(durations.min())),
            "max": us_from_ns(float(durations.max())),
        },
        "us_per_step": us_from_ns(float(durations.sum()) / m.steps),
        "exposed_us_per_step": us_from_ns(float(ops["solo_ns"].sum()) / m.steps),
    }


def _median(values: object) -> float:
    import numpy as np

    return float(np.median(values))  # type: ignore[call-overload]


def _whole(value: float) -> float | int:
    """A count as an integer where it is one."""
    return int(value) if float(value).is_integer() else value


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else us_from_ns(float(value_ns))


def _range(band_ns: Band) -> dict[str, float]:
    return band_ns.each(us_from_ns).named()


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
