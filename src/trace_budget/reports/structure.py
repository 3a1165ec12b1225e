"""The answers of `kernels`, `steps`, `layers` and `overlap`."""

from __future__ import annotations

import polars as pl
from msgspec import UNSET, Struct

from trace_budget.analysis.kernels import kernel_table, layer_map, op_table
from trace_budget.projection.match import rows_matching
from trace_budget.reports.readings import lines as reading_lines
from trace_budget.reports.readings import structural
from trace_budget.reports.throughput import makes_tokens, served
from trace_budget.schema.documents.structure import Kernels, Layers, Overlap, Segment, Steps, StepsBy
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.schema.trace import Trace
from trace_budget.text import cut_middle
from trace_budget.units import NS_PER_US, show_count, show_us, us_from_ns

MOST_METHOD = 40


def micros(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with `_ns` columns as `_us` columns (floats): what people and JSON read."""
    return frame.with_columns(
        [(pl.col(c) / NS_PER_US).alias(_renamed(c)) for c in frame.columns if "_ns" in c or c.startswith("ns_")]
    ).drop([c for c in frame.columns if "_ns" in c or c.startswith("ns_")])


def _renamed(column: str) -> str:
    return (
        column.replace("_ns", "_us").replace("ns_", "us_", 1)
        if column.startswith("ns_")
        else column.replace("_ns", "_us")
    )


def kernels_of(found: Findings) -> tuple[str, ...]:
    """Every kernel of the trace: what labels are distinguished from."""
    names: list[str] = found.trace.gpu_ops["name"].unique(maintain_order=True).cast(pl.String).drop_nulls().to_list()
    return tuple(names)


def steps_by(found: Findings) -> StepsBy:
    """How sure the steps are: part of every document that holds figures per step."""
    steps = found.steps
    return StepsBy(steps.method, steps.confidence, steps.frame.height, len(steps.used))


def head(found: Findings) -> tuple[Line, ...]:
    """One line on what all figures rest on: steps, their method and confidence, layers."""
    steps, layers = found.steps, found.layers
    used = len(steps.used)
    text = (
        f"{steps.phase}, {used} of {steps.frame.height} step(s), by {cut_middle(steps.method, MOST_METHOD)}"
        f" ({steps.confidence}); step {show_us(us_from_ns(steps.step_ns))} us;"
        f" {layers.layers or 'no'} layers by {cut_middle(layers.method, MOST_METHOD)} ({layers.confidence})"
    )
    return (Line(text),)


def kernels_report(found: Findings, kernel: str | None = None) -> Report:
    """Every kernel of the counted steps, or those that `kernel` means, most time first."""
    frame = kernel_table(found.trace, found.steps, found.layers, found.overlap)
    rows = rows_matching(micros(frame), kernel, found.trace.path).select(
        "kernel", "kind", "calls_per_step", "calls", "layers", "layers_hit", "calls_per_layer", "steps_hit", "mean_us",
        "median_us", "min_us", "max_us", "us_per_step", "pct_of_step", "exposed_us_per_step", *_types(found),
    )  # fmt: skip
    columns = (
        TableColumn("kernel", "kernel"),
        TableColumn("calls_per_step", "calls/step"),
        TableColumn("layers_hit", "layers"),
        *(TableColumn(name, "of type", prose=True) for name in _types(found)),
        TableColumn("mean_us", "mean us", 2),
        TableColumn("us_per_step", "us/step", 1, answer=True),
        TableColumn("pct_of_step", "% step", 2, answer=True),
        TableColumn("exposed_us_per_step", "exposed us", 1),
    )
    step_us = us_from_ns(found.steps.step_ns)
    answer = Kernels(found.steps.phase, step_us, rows.to_dicts(), steps_by(found))
    table = Table("kernels", "", columns, rows, among=kernels_of(found))
    return _report("kernels", found, answer, head(found), (table,))


def _types(found: Findings) -> tuple[str, ...]:
    """The column of layer types, where a model's configuration gives them."""
    return ("layer_types",) if found.layers.types else ()


def aggregates_report(trace: Trace, kernel: str | None = None) -> Report:
    """Kernel sums of a format without a timeline: counts and means, nothing per step."""
    frame = trace.aggregates if trace.aggregates is not None else pl.DataFrame()
    total = float(frame["total_ns"].sum()) if frame.height else 0.0
    share = 100.0 * pl.col("total_ns") / pl.lit(total if total > 0 else None, dtype=pl.Float64)
    rows = (
        micros(frame.with_columns(share.alias("pct_of_total")))
        .rename({"name": "kernel"})
        .with_columns(pl.col("kernel").cast(pl.String))
    )
    rows = rows_matching(rows, kernel, trace.path)
    columns = (
        TableColumn("kernel", "kernel"),
        TableColumn("calls", "calls"),
        TableColumn("mean_us", "mean us", 2),
        TableColumn("total_us", "total us", 1),
        TableColumn("pct_of_total", "% of kernel time", 2),
    )
    lines = (Line("kernel sums of a whole run: no timeline, so no steps, layers, overlap or shares of a token"),)
    return Report(
        "trace-budget/kernels/1",
        Kernels(None, None, rows.to_dicts()),
        trace_facts(trace),
        lines,
        (Table("kernels", "", columns, rows),),
        (),
        trace.caveats,
    )


def steps_report(found: Findings) -> Report:
    """Every step with its window, interval, host time and whether it counts."""
    rows = micros(found.steps.frame).select(
        "step_index", "name", "phase", "engine", "batch_size", "class_index", "gpu_ops", "kernels", "window_us",
        "busy_us", "interval_us", "cpu_us", "complete", "used", "why_out",
    )  # fmt: skip
    columns = (
        TableColumn("step_index", "step"),
        TableColumn("name", "name"),
        TableColumn("phase", "phase"),
        TableColumn("kernels", "kernels"),
        TableColumn("window_us", "GPU window us", 1),
        TableColumn("interval_us", "interval us", 1),
        TableColumn("cpu_us", "host us", 1),
        TableColumn("why_out", "left out"),
    )
    rate = served(found, found.steps.step_ns) if makes_tokens(found) else None
    answer = Steps(
        method=found.steps.method,
        confidence=found.steps.confidence,
        phase=found.steps.phase,
        step_us=us_from_ns(found.steps.step_ns),
        readings=structural(found),
        rows=rows.to_dicts(),
        steps_by=steps_by(found),
        throughput=None if rate is None else rate.document(),
    )
    lines = (*head(found), *(() if rate is None else (rate.line(),)), *reading_lines(found))
    return _report("steps", found, answer, lines, (Table("steps", "", columns, rows, 60),))


def layers_report(found: Findings, kernel: str | None = None) -> Report:
    """The layer x kernel map and the call sites of one layer."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    rows = rows_matching(micros(layer_map(ops)), kernel, found.trace.path, "no kernel inside the layers matches")
    layers, sites = found.layers, call_sites(rows)
    answer = Layers(
        layers=layers.layers or None,
        segments=[Segment(s.stream, s.first_op, s.period, s.repeats, s.layers) for s in layers.segments],
        method=layers.method,
        confidence=layers.confidence,
        rows=rows.to_dicts(),
        sites=sites.to_dicts(),
        layer_types=list(layers.types) or UNSET,
        steps_by=steps_by(found),
    )
    kinds = ", ".join(f"{layers.types.count(kind)} {kind}" for kind in dict.fromkeys(layers.types))
    text = (
        f"{show_count(layers.layers)} layers{f' ({kinds})' if kinds else ''}; one row per call site of a layer"
        " (--format csv writes the whole layer x kernel map)"
    )
    sites_table = Table("sites", "", _SITE_COLUMNS, sites, among=kernels_of(found))
    tables = (Table("layers", "layer x kernel map", _MAP_COLUMNS, rows, 0), sites_table)
    return _report("layers", found, answer, (*head(found), Line(text, "dim")), tables)


_MAP_COLUMNS = (
    TableColumn("layer_index", "layer"),
    TableColumn("position", "position"),
    TableColumn("kernel", "kernel"),
    TableColumn("calls", "calls"),
    TableColumn("mean_us", "mean us", 2),
)
_SITE_COLUMNS = (
    TableColumn("position", "position"),
    TableColumn("kernel", "kernel"),
    TableColumn("layers_hit", "layers hit"),
    TableColumn("calls_per_step", "calls/step"),
    TableColumn("mean_us", "mean us", 2),
)


def call_sites(rows: pl.DataFrame) -> pl.DataFrame:
    """The layer x kernel map summed over layers: one row per position and kernel."""
    return (
        rows.group_by("position", "kernel")
        .agg(
            pl.col("layer_index").n_unique().alias("layers_hit"),
            ((pl.col("mean_us") * pl.col("calls")).sum() / pl.col("calls").sum()).alias("mean_us"),
            pl.col("calls").sum().alias("calls_per_step"),
        )
        .sort("position", "kernel")
        .select("position", "kernel", "layers_hit", "calls_per_step", "mean_us")
    )


def overlap_report(found: Findings) -> Report:
    """Busy, idle and hidden time per device and stream, and the exposed time of each kernel."""
    kernels = micros(kernel_table(found.trace, found.steps, found.layers, found.overlap)).select(
        "kernel", "kind", "calls_per_step", "us_per_step", "exposed_us_per_step"
    )
    kernels = kernels.with_columns((pl.col("us_per_step") - pl.col("exposed_us_per_step")).alias("hidden_us_per_step"))
    devices, streams = micros(found.overlap.devices), micros(found.overlap.streams)
    device, stream = TableColumn("device", "device"), TableColumn("stream", "stream")
    tables = (
        Table("kernels", "exposed time per step", _EXPOSED_COLUMNS, kernels),
        Table("devices", "devices (whole trace)", (device, *_BUSY_COLUMNS), devices),
        Table("streams", "streams (whole trace)", (device, stream, *_BUSY_COLUMNS), streams),
    )
    answer = Overlap(devices.to_dicts(), streams.to_dicts(), kernels.to_dicts(), steps_by(found))
    text = (
        "exposed: nothing else runs on the device at that time; neither an upper nor a lower bound of what can be saved"
    )
    return _report("overlap", found, answer, (*head(found), Line(text, "dim")), tables)


_EXPOSED_COLUMNS = (
    TableColumn("kernel", "kernel"),
    TableColumn("us_per_step", "us/step", 1),
    TableColumn("exposed_us_per_step", "exposed us", 1),
    TableColumn("hidden_us_per_step", "hidden us", 1),
)
_BUSY_COLUMNS = (
    TableColumn("gpu_ops", "ops"),
    *(TableColumn(f"{name}_us", f"{name} us", 1) for name in ("window", "busy", "idle", "kernel", "overlap")),
)


def _report(
    question: str, found: Findings, answer: Struct, lines: tuple[Line, ...], tables: tuple[Table, ...]
) -> Report:
    caveats = (*found.trace.caveats, *found.steps.caveats, *found.layers.caveats)
    return Report(f"trace-budget/{question}/1", answer, trace_facts(found.trace), lines, tables, (), caveats)
