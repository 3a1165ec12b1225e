"""What one command warns of, no other prints bare: every command over traces with every kind of trouble."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

import trace_budget as tb
from builders import DECODE, US, Tape
from trace_budget import api
from trace_budget.batches.rows import run_row
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.report import Report
from trace_budget.schema.trace import Caveat, Trace

LAYER = "norm qkv rope attn o_gemm norm gate_up silu down "
MODEL = ("embed " + LAYER * 12 + "norm lm_head argmax").split()
ZAMBA = "norm in_proj conv1d ssm o_mix " * 3 + "concat norm qkv attn o_gemm norm gate_up silu down "
BLOCKS = ("embed " + ZAMBA * 6 + "norm lm_head argmax").split()


def eager(model: list[str], without: tuple[int, ...] = (), steps: int = 5, idle_ns: int = 20 * US) -> Trace:
    """Eager steps of equal kernels; in each the records at some places are lost, their launches are there."""
    tape = Tape()
    for _ in range(steps):
        with tape.range(DECODE):
            for place, name in enumerate(model):
                correlation = tape.call("cudaLaunchKernel")
                if place not in without:
                    tape.run([name], correlation)
        tape.idle(idle_ns)
    return tape.trace()


def empty_replays() -> Trace:
    tape = Tape()
    for _ in range(6):
        with tape.range(DECODE):
            tape.call("hipGraphLaunch")
            tape.launch("norm attn norm attn")
        tape.idle(900 * US)
    return tape.trace()


def waits() -> Trace:
    """A few calls of seconds among equal ones."""
    trace = eager(MODEL)
    long = (pl.col("op_id") % 113) == 7
    end = pl.when(long).then(pl.col("start_ns") + 400 * 10 * US).otherwise("end_ns").alias("end_ns")
    return replace(trace, gpu_ops=trace.gpu_ops.with_columns(end))


def told_by_reader() -> Trace:
    return eager(MODEL).with_caveats((Caveat("damaged_events_dropped", "events were dropped", 3, "warning"),))


TRACES = {
    "launches_without_kernels": lambda: eager(MODEL, (4, 13)),
    "replays_without_kernels": empty_replays,
    "layers_ambiguous": lambda: eager(BLOCKS),
    "no_layers": lambda: eager(["attn", *"abcdefgh"]),
    "duration_outliers": waits,
    "mostly_idle": lambda: eager(MODEL, idle_ns=1_500 * US),
    "damaged_events_dropped": told_by_reader,
    "single_step": lambda: eager(MODEL, steps=1),
}


def reports(trace: Trace) -> dict[str, Report]:
    """The answer of every command that prints a count or a share of one trace."""
    candidate = Candidate("one", Change(saving_us=1.0), Selection("attn"))
    return {
        "kernels": tb.kernels(trace),
        "steps": tb.steps(trace),
        "layers": tb.layers(trace),
        "overlap": tb.overlap(trace),
        "threshold": tb.threshold(trace),
        "project": project_question.candidate_report(trace, candidate),
        "rank": tb.rank(trace, CandidateSet((candidate,), Policy(), TokenInput())),
    }


def warned(caveats: tuple[Caveat, ...]) -> set[str]:
    return {caveat.code for caveat in caveats if caveat.severity in ("warning", "error")}


@pytest.mark.parametrize("code", TRACES)
def test_what_check_warns_of_every_command_says(code: str) -> None:
    trace = TRACES[code]()
    findings = tb.check([trace]).document["findings"]
    checked = {finding["code"] for finding in findings if finding["severity"] != "note"}
    assert code in checked
    for command, report in reports(trace).items():
        missing = checked - warned(report.caveats)
        assert not missing, (command, missing)


@pytest.mark.parametrize("code", TRACES)
def test_each_warning_is_told_once(code: str) -> None:
    trace = TRACES[code]()
    for command, report in reports(trace).items():
        told = [(caveat.code, caveat.text) for caveat in report.caveats]
        assert len(told) == len(set(told)), command


def test_a_whole_trace_warns_of_nothing() -> None:
    of_the_candidate = {"below_dispatch_floor"}
    for command, report in reports(eager(MODEL)).items():
        assert warned(report.caveats) <= (of_the_candidate if command in ("project", "rank") else set()), command


@pytest.mark.parametrize("code", TRACES)
def test_rows_of_a_batch_say_it_too(code: str) -> None:
    found = api.analyse(TRACES[code]())
    source = SimpleNamespace(relative="trace.json", name="trace.json")
    identity = SimpleNamespace(trace_id="t", source=source, rank=None, world_size=None)
    told = SimpleNamespace(model=None, device=None, batch_size=None, tags={})
    row = run_row(SimpleNamespace(identity=identity, job=""), told, found)  # type: ignore[arg-type]
    assert code in {caveat["code"] for caveat in row["caveats"]}
