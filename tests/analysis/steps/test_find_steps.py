"""Steps of one device: devices and processes, odd traces, and what must not change the answer."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import DECODE, MS, US, Tape, decode_steps
from trace_budget.analysis.steps import find_steps
from trace_budget.errors import NotInTraceError
from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace, empty_trace

STEP = "embed " + "norm qkv attn out norm up down " * 4 + "head"


def two_devices() -> Tape:
    tape = Tape()
    for _ in range(3):
        with tape.range(DECODE):
            tape.launch("a b c", device=0).launch("p q r s t", device=1)
        tape.idle(20 * US)
    return tape


def test_figures_are_of_the_device_with_most_kernel_time() -> None:
    steps = find_steps(two_devices().trace())
    assert (steps.device, steps.frame["kernels"].to_list()) == (1, [5, 5, 5])
    several = next(c for c in steps.caveats if c.code == "several_devices")
    assert (several.count, "[0, 1]" in several.text, "of device 1" in several.text) == (2, True, True)


def test_a_device_can_be_asked_for() -> None:
    steps = find_steps(two_devices().trace(), Scope(device=0))
    assert (steps.device, steps.frame["kernels"].to_list()) == (0, [3, 3, 3])
    assert {c.code for c in steps.caveats} == set()
    with pytest.raises(NotInTraceError, match=r"no such device.*one of \[0, 1\], found 7"):
        find_steps(two_devices().trace(), Scope(device=7))


def test_devices_that_are_not_told_are_one() -> None:
    tape = Tape()
    for _ in range(3):
        with tape.range(DECODE):
            tape.launch("a b c", device=None)
    steps = find_steps(tape.trace())
    assert (steps.device, steps.frame["kernels"].to_list()) == (None, [3, 3, 3])


def test_processes_on_one_device_are_kept_apart() -> None:
    tape = Tape()
    for _ in range(3):
        with tape.range(DECODE):
            tape.launch("a b c", pid=11).launch("p q r s t", pid=12, stream=8)
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].to_list() == [5, 5, 5]
    several = next(c for c in steps.caveats if c.code == "several_processes_on_device")
    assert (several.severity, several.text.count("the busiest one, 12")) == ("warning", 1)


def test_an_empty_trace_has_no_steps() -> None:
    with pytest.raises(NotInTraceError, match="no device work"):
        find_steps(empty_trace("empty.json", "hand"))


@pytest.mark.parametrize("kernels", [["one"], ["one"] * 50, ["a", "b"]])
def test_hardly_any_kernels(kernels: list[str]) -> None:
    steps = find_steps(Tape().run(kernels).trace())
    assert (steps.method, steps.frame["kernels"].to_list()) == ("whole trace", [len(kernels)])
    assert steps.step_ns == len(kernels) * 10 * US


def test_a_trace_of_copies_only() -> None:
    steps = find_steps(Tape().run("h2d " * 9, kind="memcpy").trace())
    assert steps.frame.select("gpu_ops", "kernels").row(0) == (9, 0)
    tape = Tape()
    with tape.range(DECODE):
        tape.launch("h2d d2h", kind="memcpy")
    assert find_steps(tape.trace()).frame["gpu_ops"].to_list() == [2]


def test_equal_times_and_no_length() -> None:
    tape = Tape()
    for number in range(4):
        with tape.range(DECODE):
            tape.launch("a b c d", at=200 * MS + number * MS, dur=0)
    steps = find_steps(tape.trace())
    assert steps.frame["window_ns"].to_list() == [0] * 4
    assert steps.frame["busy_ns"].to_list() == [0] * 4
    assert steps.frame["interval_ns"].to_list() == [MS] * 3 + [None]


def test_steps_that_overlap_out_of_order_have_no_interval() -> None:
    tape = Tape()
    for start in (300, 200, 250):
        with tape.range(DECODE):
            tape.launch("a b c d", at=start * MS)
    assert find_steps(tape.trace()).frame["interval_ns"].to_list() == [None, 50 * MS, None]


def annotated() -> Trace:
    return decode_steps(5, STEP).trace()


def delimited() -> Trace:
    tape = Tape()
    for _ in range(5):
        tape.run(STEP).idle(30 * US)
    return tape.trace()


def replayed() -> Trace:
    tape = Tape()
    for _ in range(5):
        tape.graph(STEP).idle(30 * US)
    return tape.trace()


SOURCES = pytest.mark.parametrize("source", [annotated, delimited, replayed])
FEW = settings(deadline=None, max_examples=12)


@SOURCES
@FEW
@given(shift=st.integers(-99 * MS, 2**60))
def test_the_origin_of_time_does_not_matter(source: Callable[[], Trace], shift: int) -> None:
    trace = source()
    moved = [pl.col("start_ns") + shift, pl.col("end_ns") + shift]
    host = [pl.col("start_ns") + max(shift, 0), pl.col("end_ns") + max(shift, 0)]
    again = replace(
        trace,
        gpu_ops=trace.gpu_ops.with_columns(moved),
        calls=trace.calls.with_columns(host),
        markers=trace.markers.with_columns(host),
    )
    ours, theirs = find_steps(trace), find_steps(again)
    assert ours.op_step.tolist() == theirs.op_step.tolist()
    kept = ["window_ns", "busy_ns", "interval_ns", "used", "why_out", "class_index", "kernels"]
    assert ours.frame.select(kept).equals(theirs.frame.select(kept))


@SOURCES
@FEW
@given(device=st.integers(-1, 2**31 - 1), stream=st.integers(-(2**63), 2**63 - 1))
def test_the_numbers_of_devices_and_streams_do_not_matter(
    source: Callable[[], Trace], device: int, stream: int
) -> None:
    trace = source()
    place = (pl.lit(device, dtype=pl.Int32).alias("device"), pl.lit(stream, dtype=pl.Int64).alias("stream"))
    steps = find_steps(replace(trace, gpu_ops=trace.gpu_ops.with_columns(*place)))
    assert steps.device == device
    assert steps.op_step.tolist() == find_steps(trace).op_step.tolist()


@SOURCES
@FEW
@given(seed=st.integers(0, 2**32))
def test_the_order_of_rows_in_the_file_does_not_matter(source: Callable[[], Trace], seed: int) -> None:
    trace = source()
    order = np.random.default_rng(seed).permutation(trace.gpu_ops.height)
    shuffled = trace.gpu_ops[order].drop("op_id")
    again = checked(replace(trace, gpu_ops=build.gpu_ops(shuffled)))
    assert find_steps(again).frame.equals(find_steps(trace).frame)
