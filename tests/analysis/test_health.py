"""What `check` finds in one trace: each finding made on purpose, and its absence in a healthy trace."""

from dataclasses import replace

import polars as pl
import pytest

from builders import DECODE, US, Tape, decode_steps
from trace_budget.analysis.health import health
from trace_budget.analysis.steps import find_steps
from trace_budget.schema.trace import Caveat, Trace

MODEL = ["embed", *["norm", "qkv", "attn", "out", "norm2", "up", "down"] * 8, "head"]


def found(trace: Trace, token_ns: float | None = None) -> dict[str, Caveat]:
    return {caveat.code: caveat for caveat in health(trace, find_steps(trace), token_ns)}


def replays(sizes: list[int], name: str = DECODE) -> Trace:
    tape = Tape()
    for size in sizes:
        with tape.range(name):
            tape.graph(MODEL[:size])
        tape.idle(20 * US)
    return tape.trace()


def test_a_healthy_trace_has_no_findings() -> None:
    assert found(replays([58] * 5), 600_000) == {}


def stretched(trace: Trace, name: str, calls: int, dur_ns: int) -> Trace:
    """The first calls of a kernel take that long (the others keep their times)."""
    mine = pl.col("name").cast(pl.String) == name
    long = mine & (mine.cum_sum() <= calls)
    end = pl.when(long).then(pl.col("start_ns") + dur_ns).otherwise("end_ns").alias("end_ns")
    return replace(trace, gpu_ops=trace.gpu_ops.with_columns(end))


def test_calls_far_above_their_like() -> None:
    trace = replays([58] * 5)
    assert "duration_outliers" not in found(stretched(trace, "attn", 1, 200 * US))
    outlier = found(stretched(trace, "attn", 1, 201 * US))["duration_outliers"]
    # 201 of 3,091 us are more than 5 % of the kernel time.
    assert (outlier.count, outlier.severity, outlier.example) == (1, "warning", "attn")
    long = replays([58] * 20)
    assert found(stretched(long, "attn", 1, 201 * US))["duration_outliers"].severity == "note"


def test_kernels_that_start_before_their_predecessor_ended() -> None:
    early = found(stretched(replays([58] * 5), "attn", 3, 12 * US))["same_stream_overlaps"]
    assert (early.count, early.severity) == (3, "note")
    assert "2.00 us" in early.text


def test_overlaps_between_streams_or_unknown_streams_are_none() -> None:
    tape = decode_steps(3, "a b c d")
    tape.run("beside", stream=9, at=100_000_000, dur=50 * US)
    trace = tape.trace()
    assert "same_stream_overlaps" not in found(trace)
    nowhere = trace.gpu_ops.with_columns(pl.lit(None, dtype=pl.Int64).alias("stream"))
    assert "same_stream_overlaps" not in found(replace(trace, gpu_ops=nowhere))


@pytest.mark.parametrize(("short", "told"), [(18, True), (14, False)])
def test_many_kernels_at_the_dispatch_floor(short: int, told: bool) -> None:
    tape = Tape()
    for _ in range(4):
        with tape.range(DECODE):
            tape.graph("tiny " * short, dur=2 * US).graph("work " * (50 - short), dur=40 * US)
        tape.idle(20 * US)
    findings = found(tape.trace())
    assert ("many_at_dispatch_floor" in findings) is told
    if told:
        assert findings["many_at_dispatch_floor"].count == 4 * short
        assert "36 % of kernels" in findings["many_at_dispatch_floor"].text
        assert "2.00 us" in findings["many_at_dispatch_floor"].text


def test_long_kernels_of_one_length_are_not_at_the_floor() -> None:
    assert "many_at_dispatch_floor" not in found(decode_steps(3, "work " * 60, idle_ns=0).trace())
    tape = Tape()
    with tape.range(DECODE):
        tape.graph("work " * 60, dur=300 * US)
    assert "many_at_dispatch_floor" not in found(tape.trace())


@pytest.mark.parametrize(("idle_us", "told"), [(24, False), (26, True)])
def test_a_device_that_mostly_waits(idle_us: int, told: bool) -> None:
    # 100 us busy in each step: the device idles 20 % of a step of 125 us.
    findings = found(decode_steps(4, "a b c d e f g h i j", idle_ns=idle_us * US).trace())
    assert ("mostly_idle" in findings) is told
    if told:
        assert findings["mostly_idle"].severity == "warning"
        assert "busy 79 %" in findings["mostly_idle"].text


@pytest.mark.parametrize(
    ("token_us", "told"), [(110, False), (133, False), (109, True), (90, True), (134, True), (0, False)]
)
def test_steps_that_take_longer_than_the_stated_token(token_us: int, told: bool) -> None:
    # Steps are 120 us apart.
    findings = found(decode_steps(4, "a b c d e f g h i j").trace(), token_us * 1000.0)
    assert ("profiler_inflation" in findings) is told
    if token_us == 90:
        assert "1.33 times" in findings["profiler_inflation"].text


def test_times_that_are_not_known_are_no_finding() -> None:
    trace = decode_steps(4, "a b c").trace()
    nothing = pl.lit(None, dtype=pl.Int64)
    blind = replace(trace, gpu_ops=trace.gpu_ops.with_columns(nothing.alias("start_ns"), nothing.alias("end_ns")))
    assert found(blind, 1_000.0) == {}
