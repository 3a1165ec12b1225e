"""The declared tables of a batch dataset: stable names, units in them, one version for all; docs/dataset.md follows."""

from __future__ import annotations

import polars as pl

from trace_budget.schema.tables import Column, TableSpec

DATASET_VERSION = 1
CAVEAT = pl.Struct({"code": pl.String(), "severity": pl.String(), "count": pl.Int64(), "text": pl.String()})
TAG = pl.Struct({"key": pl.String(), "value": pl.String()})
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")
PLACE = "as found below the folder given, with the archive member"


def _text(name: str, meaning: str, nullable: bool = False) -> Column:
    return Column(name, pl.String(), meaning, nullable)


def _whole(name: str, meaning: str, nullable: bool = False) -> Column:
    return Column(name, pl.Int64(), meaning, nullable)


def _number(name: str, meaning: str, nullable: bool = False) -> Column:
    return Column(name, pl.Float64(), meaning, nullable)


TRACE_ID = _text("trace_id", "digest of the trace's content and of the rank its name tells; the key of every table")
RANK = _whole("rank", "rank of the process in its job", nullable=True)
PHASE = _text("phase", "decode, prefill, mixed, verify, draft or other: the phase of the counted steps")

RUNS = TableSpec(
    "runs",
    "One row per analysed trace. It is written last: a trace that has no row here is not finished.",
    (
        TRACE_ID,
        _text("path", f"where the trace lies, {PLACE}"),
        _text("format", "format of the trace"),
        _text("model", "model, by the file name", nullable=True),
        _text("device", "device name, by the trace, else by the file name", nullable=True),
        _text("vendor", "vendor of the device", nullable=True),
        PHASE,
        _whole("batch_size", "sequences per counted step (median), else by the file name", nullable=True),
        Column("tags", pl.List(TAG), "what else the file name pattern tells"),
        _text("job", "the job whose ranks belong together"),
        RANK,
        _whole("world_size", "ranks of the job, as recorded", nullable=True),
        Column("complete", pl.Boolean(), "false when the file was cut or damaged"),
        _whole("gpu_ops", "executions on devices"),
        _whole("events", "events in the file", nullable=True),
        _whole("source_bytes", "size of the file", nullable=True),
        _whole("resolution_ns", "grid of the recorded times"),
        _whole("steps", "steps found"),
        _whole("steps_used", "steps that count"),
        _number("step_ns", "step time, median over the counted steps"),
        _number("busy_ns", "device time per step, median over the counted steps"),
        _text("step_method", "how steps were found"),
        _text("step_confidence", "high, medium or low"),
        _whole("layers", "layers of the model", nullable=True),
        _text("layer_method", "how layers were found"),
        _text("layer_confidence", "high, medium or low"),
        Column("caveats", pl.List(CAVEAT), "what the reader of a figure must know"),
        _number("tokens_per_s_per_sequence", "at one token a step for each sequence", nullable=True),
        _number("tokens_per_s_per_device", "the same times the batch size, over the devices of the job", nullable=True),
    ),
)

STEPS = TableSpec(
    "steps",
    "One row per step of a trace, in host order.",
    (
        TRACE_ID,
        RANK,
        _whole("step_index", "number of the step, from 0"),
        _text("name", "annotation of the step", nullable=True),
        _text("phase", "phase of this step"),
        _text("engine", "inference engine that wrote the annotation", nullable=True),
        _whole("batch_size", "sequences in the step", nullable=True),
        _whole("class_index", "steps that run the same kernels share it", nullable=True),
        _whole("start_ns", "first start on the device", nullable=True),
        _whole("end_ns", "last end on the device", nullable=True),
        _whole("window_ns", "end_ns - start_ns", nullable=True),
        _whole("busy_ns", "time with any work on the device", nullable=True),
        _whole("interval_ns", "start to the next start; null for the last", nullable=True),
        _whole("cpu_ns", "length of the host annotation", nullable=True),
        _whole("gpu_ops", "executions in the step"),
        _whole("kernels", "kernels among them"),
        Column("complete", pl.Boolean(), "false for a step that the recording cut"),
        Column("used", pl.Boolean(), "counts in medians"),
        _text("why_out", "why it does not count, else empty"),
    ),
)

KERNELS = TableSpec(
    "kernels",
    "One row per kernel, phase and rank, over the counted steps of that phase.",
    (
        TRACE_ID,
        RANK,
        PHASE,
        _text("kernel", "kernel name as recorded"),
        _text("kind", "kernel, memcpy or memset"),
        _number("calls_per_step", "calls per step, mean"),
        _whole("calls", "calls in the counted steps"),
        _whole("layers", "layers of the model", nullable=True),
        _whole("layers_hit", "layers that run it, median over the steps that do", nullable=True),
        _number("calls_per_layer", "calls in each of them", nullable=True),
        _whole("steps", "counted steps"),
        _whole("steps_hit", "counted steps that run it"),
        _number("mean_ns", "time per call, mean", nullable=True),
        _number("median_ns", "time per call, median", nullable=True),
        _whole("min_ns", "shortest call", nullable=True),
        _whole("max_ns", "longest call", nullable=True),
        _number("ns_per_step", "time per step, mean"),
        _number("pct_of_step", "share of the median step time", nullable=True),
        _number("exposed_ns_per_step", "time per step during which nothing else runs on the device"),
    ),
)

LAYERS = TableSpec(
    "layers",
    "The layer x kernel map: one row per layer, position, kernel, phase and rank.",
    (
        TRACE_ID,
        RANK,
        PHASE,
        _whole("layer_index", "layer, from 0"),
        _whole("position", "call site in the layer"),
        _text("kernel", "kernel name as recorded"),
        _number("calls", "calls per step that runs it, mean"),
        _number("mean_ns", "time per call, mean", nullable=True),
    ),
)


def _spread(stem: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return tuple(
        _number(
            f"{stem}_{end}_{unit}", f"{meaning}: {end} bound" if end != "expected" else f"{meaning}: expected", True
        )
        for end in ("low", "expected", "high")
    )


PROJECTIONS = TableSpec(
    "projections",
    "One row per trace and candidate: what the replacement does end to end, and the verdict.",
    (
        TRACE_ID,
        RANK,
        PHASE,
        _text("candidate", "label of the candidate"),
        _text("outcome", "projected, or not_in_trace when the trace lacks what was asked for"),
        _text("kernel", "kernel that matched", nullable=True),
        _number("calls_per_step", "matched calls per step, mean", nullable=True),
        _whole("layers", "layers of the model", nullable=True),
        _whole("layers_hit", "layers that run it", nullable=True),
        _number("median_us", "time per matched call today, median", nullable=True),
        _number("step_us", "step time, median", nullable=True),
        _number("token_us", "time per token that percentages are of", nullable=True),
        *_spread("saving_per_call", "us", "saving per call"),
        _number("saving_per_step_naive_us", "saving per call x calls", nullable=True),
        *_spread("saving_per_step", "us", "saving per step"),
        *_spread("saving_per_token", "us", "saving per token"),
        _number("naive_pct", "naive saving, of a token", nullable=True),
        *_spread("saving", "pct", "saving, of a token"),
        _number("ceiling_pct", "all matched calls together, of a token", nullable=True),
        _number("target_pct", "worth it from this share of a token"),
        _number("required_us_per_call", "saving per call that reaches the target", nullable=True),
        _number("dilution", "share of the projected saving expected to arrive", nullable=True),
        *(_text(q, f"grade of evidence question {q.upper()}: A to D", nullable=True) for q in QUESTIONS),
        _text("verdict", "GO, MARGINAL, NO-GO or INVALID", nullable=True),
        _text("reason", "reason of the verdict, or not_in_trace"),
        _text("why", "the same in one sentence"),
        _text("reading", "how the trace is read for these figures", nullable=True),
        _whole("readings", "readings that the trace cannot exclude", nullable=True),
        Column("readings_agree", pl.Boolean(), "whether all readings come to one verdict", nullable=True),
        _number("tokens_per_s_per_sequence", "as traced", nullable=True),
        _number("throughput_gain_expected_pct", "how many % more with the saving", nullable=True),
    ),
)

FAILURES = TableSpec(
    "failures",
    "One row per file that gave no run: failed, or left out on purpose, with the reason.",
    (
        _text("trace_id", "digest as in the other tables; null when the file could not be read", nullable=True),
        _text("path", f"where the file lies, {PLACE}"),
        _text("outcome", "failed or left_out"),
        _text(
            "code",
            "unreadable_input, not_in_trace, bug, worker_died, unreachable; or left out: capture_sidecar, frontend, "
            "companion, no_timeline, duplicate",
        ),
        _text("reason", "the reason in one line"),
        _whole("source_bytes", "size of the file", nullable=True),
    ),
)

DATASET_TABLES = (RUNS, STEPS, KERNELS, LAYERS, PROJECTIONS, FAILURES)
