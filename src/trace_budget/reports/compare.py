"""The answer of `compare`: what moved, what the step gained, what was predicted, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from msgspec.structs import asdict

from trace_budget.comparison.compare import Comparison
from trace_budget.comparison.engagement import Engagement
from trace_budget.comparison.outcome import Predicted
from trace_budget.comparison.realised import Realised
from trace_budget.comparison.recording import totals
from trace_budget.reports.structure import micros
from trace_budget.reports.throughput import makes_tokens, served, signed
from trace_budget.schema.documents import compared as documents
from trace_budget.schema.documents.compared import Compared, Counts, Engaged, Pair, Recording, Relocated, Saved, Sides
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import ms_from_us, percent, show_count, show_pct, show_us, us_from_ns

SCHEMA = "trace-budget/compare/1"
STYLES = {"realised": "good", "no change": "dim", "partly realised": "warn", "not resolved": "warn"}
ROWS = 30


def compare_report(before: Trace, after: Trace, found: Sequence[Comparison]) -> Report:
    """The Report of all pairs; the verdict is that of the device with the longest step, which sets the pace."""
    main = pace(found)
    whole = {"before": _recording(before), "after": _recording(after)}
    answer = Compared(
        **asdict(_told(main)),
        before=trace_facts(before),
        after=trace_facts(after),
        recordings=whole,
        devices=[_told(each) for each in found],
        rows=_sites(found).to_dicts(),
    )
    return Report(
        SCHEMA,
        answer,
        trace_facts(before),
        (
            Line(f"{main.outcome.word}: {main.outcome.why}", STYLES.get(main.outcome.word, "bad")),
            *_lines(main),
            *_whole_line(whole, main),
        ),
        _tables(found, main),
        caveats=_caveats(before, after, found),
    )


def pace(found: Sequence[Comparison]) -> Comparison:
    """The comparison of the device whose step takes longest in BEFORE, in its main phase."""
    first = {each.pair.devices: each for each in reversed(found)}
    return max(first.values(), key=lambda each: each.realised.before.median)


def _told(c: Comparison) -> Pair:
    """One pair as the JSON document has it; times in us per step (per recording on that basis)."""
    return Pair(
        verdict=c.outcome.word,
        why=c.outcome.why,
        basis=c.pair.basis,
        phase=c.pair.phase,
        device=c.pair.devices[0],
        device_after=c.pair.devices[1],
        realised=_realised(c.realised),
        kernel_us=Saved(*(us_from_ns(ns) for ns in (*c.kernel_ns, c.moved.kernel_ns))),
        predicted=_predicted(c.predicted),
        conversion=c.outcome.conversion,
        saved_at_kernel_us=us_from_ns(c.moved.own_ns),
        relocated=Relocated(us_from_ns(c.moved.beside_ns), _shown(c.neighbours).to_dicts()),
        engagement=_engagement(c.engagement),
        candidates=_candidates(c).to_dicts(),
        drift=c.drift,
        throughput=_throughputs(c),
    )


def _realised(got: Realised) -> documents.Realised:
    interval = None if got.low_ns is None or got.high_ns is None else [us_from_ns(got.low_ns), us_from_ns(got.high_ns)]
    return documents.Realised(
        measure=got.measure,
        step_us=Sides(us_from_ns(got.before.median), us_from_ns(got.after.median)),
        steps=Counts(got.before.n, got.after.n),
        saving_us=us_from_ns(got.saving_ns),
        pct=got.pct,
        drift_us=us_from_ns(got.drift_ns),
        corrected_us=us_from_ns(got.corrected.saving_ns),
        corrected_pct=got.corrected.pct,
        ci95_us=interval,
        resolved=got.resolved,
    )


def _throughputs(c: Comparison) -> documents.Throughputs | None:
    """Tokens per second of both, where a step brings every sequence on by a token."""
    if c.pair.basis != "step" or not makes_tokens(c.pair.before):
        return None
    before, after = served(c.pair.before, c.realised.before.median), served(c.pair.after, c.realised.after.median)
    if before is None or after is None:
        return None
    return documents.Throughputs(before.document(), after.document(), 100 * (after.now / before.now - 1))


def _served(c: Comparison) -> list[Line]:
    both = _throughputs(c)
    if both is None:
        return []
    now, then = both.before, both.after
    text = f"serves  {show_us(now.tokens_per_s_per_sequence)} -> {show_us(then.tokens_per_s_per_sequence)} tokens/s"
    device = ""
    if now.tokens_per_s_per_device and then.tokens_per_s_per_device and (now.batch_size, now.devices) != (1, 1):
        device = f", {show_us(now.tokens_per_s_per_device)} -> {show_us(then.tokens_per_s_per_device)} a device"
    return [Line(f"{text} a sequence ({signed(both.gain_pct)}){device}")]


def _predicted(p: Predicted | None) -> documents.Predicted | None:
    if p is None:
        return None
    return documents.Predicted(p.source, us_from_ns(p.naive_ns), *p.saved_ns.each(us_from_ns).ends)


def _engagement(e: Engagement | None) -> Engaged | None:
    if e is None:
        return None
    return Engaged(
        word=e.word,
        taken=e.taken,
        same_name=e.same_name,
        old_calls=Sides(e.old_calls_before, e.old_calls_after),
        old_layers=Counts(e.layers_before, e.layers_old_after),
        new_kernels=list(e.new_names),
        new_calls=e.new_calls,
        layers_hit=e.layers,
        steps_hit=e.steps_hit,
        steps=e.steps,
    )


def _recording(trace: Trace) -> Recording:
    """A whole recording, mean over its devices; the window is that of the longest device."""
    rows = totals(trace).filter(pl.col("kernels") > 0)
    return Recording(
        gpus=rows.height,
        kernels=int(rows["kernels"].sum()),
        kernel_us_per_gpu=us_from_ns(float(rows["kernel_ns"].sum()) / max(rows.height, 1)),
        window_us=us_from_ns(float(rows["window_ns"].max() or 0)),  # type: ignore[arg-type]
    )


def _lines(c: Comparison) -> list[Line]:
    got, unit = c.realised, "step" if c.pair.basis == "step" else "recording"
    interval = "no interval: too few steps" if got.low_ns is None or got.high_ns is None else (
        f"95 %: {us_from_ns(got.low_ns):+,.1f} to {us_from_ns(got.high_ns):+,.1f} us,"
        f" {'resolved' if got.resolved else 'not resolved'}"
    )  # fmt: skip
    step = (
        f"{unit} {show_us(us_from_ns(got.before.median))} -> {show_us(us_from_ns(got.after.median))} us ({got.measure},"
        f" medians of {got.before.n} and {got.after.n}): {_less(got.saving_ns)} ({show_pct(got.pct)} saved; {interval})"
    )
    kernels = (
        f"device work {show_us(us_from_ns(c.kernel_ns[0]))} -> {show_us(us_from_ns(c.kernel_ns[1]))} us a {unit}:"
        f" {_less(c.moved.kernel_ns)}"
    )
    own: tuple[Line, ...] = ()
    if got.drift_ns and c.drift is not None:
        text = (
            f"everything else takes {c.drift:.3f} times as long, which makes {_less(got.drift_ns)}; the change itself:"
            f" {_less(got.corrected.saving_ns)}"
        )
        own = (Line(text),)
    return [Line(step), *_served(c), *own, Line(kernels), *_prediction(c, unit), *_engaged(c.engagement)]


def _less(saved_ns: float) -> str:
    return f"{show_us(us_from_ns(abs(saved_ns)))} us {'less' if saved_ns >= 0 else 'more'}"


def _prediction(c: Comparison, unit: str) -> list[Line]:
    p = c.predicted
    refused = [Line(each.text, "bad") for each in c.caveats if each.code == "saving_invalid"]
    if p is None:
        return refused
    origin = "measured change of the calls, replayed on BEFORE" if p.source == "measured" else f"{p.source}, on BEFORE"
    low, expected, high, naive = (show_us(us_from_ns(ns)) for ns in (*p.saved_ns.ends, p.naive_ns))
    arrived = "" if c.outcome.conversion is None else f"; realised / predicted = {c.outcome.conversion:.2f}"
    text = f"predicted {expected} us a {unit} ({low} to {high}, product {naive}; {origin}){arrived}"
    return [Line(text), *refused]


def _engaged(e: Engagement | None) -> list[Line]:
    if e is None:
        return []
    old = f"{show_count(e.old_calls_before)} -> {show_count(e.old_calls_after)} calls a step of the old kernel"
    if e.same_name:
        changed = "their time changed" if e.taken else "their time did not change"
        return [Line(f"{e.word}: {old}, {changed} in {100 * e.taken:.0f} %")]
    if not e.new_names:
        return [Line(f"{e.word}: {old}, nothing in their place")]
    new = " + ".join(e.new_names)
    where = f"{e.layers} of {e.layers_before} layers, {e.steps_hit} of {e.steps} steps"
    return [Line(f"{e.word}: {old}; {show_count(e.new_calls)} calls of {new} in {where}")]


def _whole_line(whole: dict[str, Recording], main: Comparison) -> tuple[Line, ...]:
    """What the recordings hold as wholes, where that is what was compared or several GPUs share them."""
    before, after = whole["before"], whole["after"]
    if main.pair.basis == "step" and before.gpus == 1:
        return ()
    saved_us = before.kernel_us_per_gpu - after.kernel_us_per_gpu
    word = "less" if saved_us >= 0 else "more"
    window = percent(before.window_us - after.window_us, before.window_us)
    text = (
        f"recordings: kernel time per GPU {ms_from_us(before.kernel_us_per_gpu):,.2f} -> "
        f"{ms_from_us(after.kernel_us_per_gpu):,.2f} ms, {ms_from_us(abs(saved_us)):,.2f} ms {word}"
        f" (mean of {before.gpus} and {after.gpus}); window {ms_from_us(before.window_us):,.2f} ->"
        f" {ms_from_us(after.window_us):,.2f} ms, {show_pct(window)} less; kernels {before.kernels:,} ->"
        f" {after.kernels:,}"
    )
    return (Line(text),)


def _shown(sites: pl.DataFrame) -> pl.DataFrame:
    """Sites in us, with the names of the interface."""
    shown = micros(sites).rename({"us_before": "us_per_step_before", "us_after": "us_per_step_after"})
    return shown.with_columns(pl.when(pl.col("position") >= 0).then("position").alias("position"))


def _sites(found: Sequence[Comparison]) -> pl.DataFrame:
    return pl.concat(
        _shown(c.sites).with_columns(
            pl.lit(c.pair.devices[0], dtype=pl.Int32).alias("device"), pl.lit(c.pair.phase).alias("phase")
        )
        for c in found
    )


_COLUMNS = (
    TableColumn("change", "change"),
    TableColumn("kernel", "kernel"),
    TableColumn("position", "site"),
    TableColumn("calls_before", "calls"),
    TableColumn("calls_after", "after"),
    TableColumn("us_per_step_before", "us/step", 2),
    TableColumn("us_per_step_after", "after", 2),
    TableColumn("difference_us", "diff", 2),
)
_CANDIDATE_COLUMNS = (
    TableColumn("id", "candidate"),
    TableColumn("engaged", "engaged"),
    TableColumn("calls_before", "old calls"),
    TableColumn("calls_after", "after"),
    TableColumn("predicted_us", "predicted us", 2),
    TableColumn("saved_us", "saved at kernel us", 2),
)
_DEVICE_COLUMNS = (
    TableColumn("device", "device"),
    TableColumn("phase", "phase"),
    TableColumn("step_us_before", "step us before", 1),
    TableColumn("step_us_after", "after", 1),
    TableColumn("pct_saved", "% saved", 2),
    TableColumn("kernel_us_saved", "kernel us saved", 1),
    TableColumn("verdict", "verdict"),
)


def _tables(found: Sequence[Comparison], main: Comparison) -> tuple[Table, ...]:
    rows = _sites(found)
    moved = _shown(main.sites).filter(pl.col("change") != "same")
    title = f"call sites that changed ({moved.height} of {main.sites.height}; negative: less time)"
    tables = [Table("sites", "", _COLUMNS, rows, 0), Table("changed", title, _COLUMNS, moved, ROWS)]
    if main.moved.relocated:
        tables.append(Table("neighbours", "neighbours that grew", _COLUMNS, _shown(main.neighbours)))
    if len(main.suspects) > 1:
        tables.append(Table("candidates", "candidates one by one", _CANDIDATE_COLUMNS, _candidates(main)))
    if len(found) > 1:
        tables.append(Table("devices", "devices and phases", _DEVICE_COLUMNS, _by_device(found)))
    return tuple(tables)


def _candidates(c: Comparison) -> pl.DataFrame:
    """One row per candidate: what was predicted of it alone, and what its calls and what took their place saved."""
    rows = c.suspects
    return pl.DataFrame(
        {
            "id": pl.Series([s.id for s in rows], dtype=pl.String),
            "kernel": pl.Series([s.kernel for s in rows], dtype=pl.String),
            "engaged": pl.Series([s.engagement.word for s in rows], dtype=pl.String),
            "calls_before": pl.Series([s.engagement.old_calls_before for s in rows], dtype=pl.Float64),
            "calls_after": pl.Series([s.engagement.old_calls_after for s in rows], dtype=pl.Float64),
            "predicted_us": pl.Series(
                [None if s.predicted_ns is None else us_from_ns(s.predicted_ns) for s in rows], dtype=pl.Float64
            ),
            "saved_us": pl.Series([us_from_ns(s.saved_ns) for s in rows], dtype=pl.Float64),
        }
    )


def _by_device(found: Sequence[Comparison]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "device": pl.Series([c.pair.devices[0] for c in found], dtype=pl.Int32),
            "phase": [c.pair.phase for c in found],
            "step_us_before": [us_from_ns(c.realised.before.median) for c in found],
            "step_us_after": [us_from_ns(c.realised.after.median) for c in found],
            "pct_saved": [c.realised.pct for c in found],
            "kernel_us_saved": [us_from_ns(c.moved.kernel_ns) for c in found],
            "verdict": [c.outcome.word for c in found],
        }
    )


def _caveats(before: Trace, after: Trace, found: Sequence[Comparison]) -> tuple[Caveat, ...]:
    """Those of the comparison first; each text once."""
    several = len({each.pair.devices for each in found}) > 1
    parts: list[Caveat] = [
        _of(f"device {each.pair.devices[0]}: " if several else "", c) for each in found for c in each.caveats
    ]
    for side, trace in (("BEFORE", before), ("AFTER", after)):
        parts += [_of(f"{side}: ", c) for c in trace.caveats]
    return tuple({caveat.text: caveat for caveat in parts}.values())


def _of(whose: str, caveat: Caveat) -> Caveat:
    return replace(caveat, text=whose + caveat.text)
