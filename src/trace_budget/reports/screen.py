"""The first screen of `project`: verdict and answer, why, the arithmetic, what would settle it."""

from __future__ import annotations

import numpy as np

from trace_budget.labels import labels
from trace_budget.projection.project import Projection
from trace_budget.reports.structure import kernels_of
from trace_budget.reports.throughput import served
from trace_budget.schema.documents import project as documents
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line
from trace_budget.units import show_count, show_number, show_pct, show_us, us_from_ns

STYLES = {"GO": "good", "MARGINAL": "warn", "NO-GO": "bad", "INVALID": "bad"}
MOST_LABEL = 60
APART = 0.005  # relative: figures that differ more are worth a word
ENOUGH_STEPS = 8
HIDDEN = 0.005  # of the kernel's time: less of it under other work is none


def label_of(found: Findings, p: Projection) -> str:
    """What is replaced, as `--kernel` takes it."""
    return labels([p.match.kernel], MOST_LABEL, kernels_of(found))[0]


def verdict_lines(found: Findings, p: Projection) -> tuple[Line, ...]:
    """The answer in one line, and all that speaks against it."""
    verdict, style = p.verdict, STYLES[p.verdict.verdict]
    if verdict.verdict == "INVALID":
        return Line(f"INVALID   {label_of(found, p)}", style), Line(verdict.why)
    answer = f"{show_pct(p.pct.expected)} of a token expected, {show_pct(p.required.target_pct)} wanted"
    also = (each.text for each in verdict.blockers[1:] if each.code != "missing_evidence")
    return (
        Line(f"{verdict.verdict}   {answer}   {label_of(found, p)}", style),
        Line(f"why     {verdict.why}"),
        *(Line(f"also    {text}") for text in also),
    )


def figure_lines(found: Findings, p: Projection) -> tuple[Line, ...]:
    """The arithmetic, the range, what is needed, tokens per second, and what all of it rests on."""
    spread = f"range   {show_pct(p.pct.low)} to {show_pct(p.pct.high)}"
    return (
        Line(_arithmetic(p)),
        Line(f"{spread}; {_overlap(p)}; {_pace(p)}"),
        Line(f"needs   {_needs(p)}"),
        *_served(found, p),
        Line(f"read as {_read_as(found, p)}", "dim"),
    )


def _arithmetic(p: Projection) -> str:
    m, saved = p.match, us_from_ns(float(p.saving.expected.mean()))
    hit = f" x hit {p.hit_rate.high:g}" if p.hit_rate.high != 1 else ""
    layers = f" ({m.layers_hit} of {m.layers} layers{m.of_type})" if m.layers else ""
    cost = f" - {show_us(p.candidate.per_step_us)} us a step" if p.candidate.per_step_us else ""
    split = f" / {p.token.tokens_per_step:g} tokens a step" if p.token.tokens_per_step != 1 else ""
    product = show_us(us_from_ns(p.limits.naive) / p.token.tokens_per_step)
    token = show_us(us_from_ns(p.token.token_ns))
    differs = abs(p.pct.naive - p.pct.expected) > APART * abs(p.pct.naive)
    paper = f" = {show_pct(p.pct.naive)} on paper" if differs else ""
    return (
        f"saves   {show_us(saved)} us x {show_count(m.calls_per_step)} calls{layers}{hit}{cost}{split}"
        f" = {product} of {token} us a token{paper}"
    )


def _overlap(p: Projection) -> str:
    """How much of the kernel other work covers."""
    durations = float(p.match.ops["dur_ns"].sum() or 0)
    hidden = 1.0 - float(p.match.ops["solo_ns"].sum() or 0) / durations if durations else 0.0
    return "no overlap" if hidden < HIDDEN else f"{show_number(100 * hidden, 0)} % of it overlaps"


def _busy(p: Projection) -> str:
    return f"{show_number(min(100 * p.token.busy_ns / p.token.step_ns, 100.0), 0)} %" if p.token.step_ns else "-"


def _pace(p: Projection) -> str:
    """Who sets the pace, how busy the device is, and what the host leaves of a step where that limits the saving."""
    pace, headroom, busy = p.limits.pace, p.limits.headroom_ns, f"{_busy(p)} busy"
    if pace == "unknown":
        return f"device {busy}"
    binds = headroom is not None and (pace == "host" or headroom < p.limits.naive)
    spare = f", headroom {show_us(us_from_ns(headroom))} us" if headroom is not None and binds else ""
    if pace == "device":
        return f"device sets the pace ({busy}{spare})"
    who = "something outside may set" if pace == "outside" else "host sets"
    return f"{who} the pace (device {busy}{spare})"


def _needs(p: Projection) -> str:
    need, diluted, full = p.required.plain_ns, p.required.diluted_ns, p.required.ceiling_ns
    if need is None:
        return "no call is hit: no saving per call reaches the target"
    text = f"{show_us(us_from_ns(need))} us a call{speed_up(need, full)} for {show_pct(p.required.target_pct)}"
    if diluted is not None:
        text += f", {show_us(us_from_ns(diluted))} us where {p.verdict.dilution:g} is left after integration"
    durations = p.match.ops["dur_ns"].drop_nulls().to_numpy()
    median = float(np.median(durations)) if durations.size else full
    apart = f" (median {show_us(us_from_ns(median))})" if abs(median - full) > APART * full else ""
    return f"{text}; a call takes {show_us(us_from_ns(full))} us{apart}, all {show_pct(p.pct.ceiling)} of a token"


def speed_up(need_ns: float, full_ns: float) -> str:
    """The speed-up that a saving per call is, in brackets; empty where the call takes less than that."""
    return f" ({full_ns / (full_ns - need_ns):.2f}x)" if 0 <= need_ns < full_ns else ""


def throughput_of(found: Findings, p: Projection) -> documents.Throughput | None:
    """The `throughput` object of the document."""
    rate = served(found, p.token.token_ns)
    return None if rate is None else rate.document_with(p.pct)


def _served(found: Findings, p: Projection) -> tuple[Line, ...]:
    rate = served(found, p.token.token_ns)
    return () if rate is None else (rate.line_with(p.pct.expected),)


def _read_as(found: Findings, p: Projection) -> str:
    steps = found.steps
    used = len(steps.used)
    token = f"; a token takes {show_us(us_from_ns(p.token.token_ns))} us as stated" if p.token.source == "user" else ""
    return (
        f"{steps.phase}, {used} of {steps.frame.height} step(s), by {steps.method} ({steps.confidence}); step"
        f" {show_us(us_from_ns(p.token.step_ns))} us ({p.token.measure}, median){token}; {left_out(found)} % of device"
        " time left out"
    )


def left_out(found: Findings) -> str:
    """The share of device time that lies outside the counted steps, in %."""
    ops = found.trace.gpu_ops
    durations = (ops["end_ns"] - ops["start_ns"]).fill_null(0).to_numpy()
    total = float(durations.sum())
    counted = float(durations[np.isin(found.steps.op_step, found.steps.used)].sum())
    return show_number(100 * (1 - counted / total), 0) if total else "0"


def settle_lines(p: Projection) -> tuple[Line, ...]:
    """Which options would settle what is open, and how big an A/B of the whole is."""
    blocked = [each.option for each in p.verdict.blockers if each.option]
    out = [
        *(blocked or _options(p)),
        *([f"record {ENOUGH_STEPS} steps or more"] if p.token.steps < ENOUGH_STEPS else []),
    ]
    lines = [Line(f"settle  {'; '.join(dict.fromkeys(out))}")] if out and p.verdict.verdict != "INVALID" else []
    if p.verdict.verdict in ("GO", "MARGINAL") and p.runs_needed:
        left = show_pct(p.pct.expected * p.verdict.dilution)
        runs = f"{p.runs_needed} runs an arm, or {p.pairs_needed} interleaved pairs"
        text = f"measure {runs}, to see {left} after integration"
        lines.append(Line(text, "dim"))
    return tuple(lines)


_SETTLES = {
    ("Q1", "C"): "--baseline-us (is the saving true in here?)",
    ("Q2", "D"): "--calls",
    ("Q3", "D"): "--layers",
    ("Q4", "C"): "--hit-rate",
    ("Q4", "D"): "--hit-rate",
    ("Q5", "D"): "a trace with host launches",
    ("Q6", "D"): "--overhead-us",
}


def _options(p: Projection) -> list[str]:
    """The options that answer open questions."""
    asked = [_SETTLES.get((key, answer.grade)) for key, answer in p.evidence.items()]
    stated = p.candidate.baseline_us is not None
    return [option for option in asked if option and not (stated and option.startswith("--baseline-us"))]
