"""The schema check names what a reader broke."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from builders import decode_steps
from trace_budget.schema.check import SchemaViolationError, checked
from trace_budget.schema.trace import Caveat, Trace, empty_trace


def test_good_traces_pass_unchanged() -> None:
    for trace in (decode_steps(2, "a b c").trace(), empty_trace("x", "hand")):
        assert checked(trace) is trace


def ops(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Trace:
    trace = decode_steps(2, "a b c").trace()
    return replace(trace, gpu_ops=change(trace.gpu_ops))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop("stream"), "gpu_ops: columns"),
        (lambda f: f.with_columns(pl.col("start_ns").cast(pl.Float64)), r"gpu_ops.start_ns: Float64, declared Int64"),
        (lambda f: f.with_columns(pl.col("name").cast(pl.String)), r"gpu_ops.name: String"),
        (lambda f: f.with_columns(pl.lit(None, dtype=f["kind"].dtype).alias("kind")), r"gpu_ops.kind: 6 nulls"),
        (lambda f: f.with_columns(pl.col("op_id") + 1), "op_id: not 0 … 5"),
        (lambda f: f.with_columns(pl.col("start_ns").reverse()), "start_ns: not sorted"),
        (lambda f: f.with_columns(pl.when(pl.col("op_id") > 0).then("start_ns").alias("start_ns")), "are not last"),
        (lambda f: f.with_columns((pl.col("start_ns") - 1).alias("end_ns")), "an end before its start"),
        (lambda f: f.with_columns(pl.col("launch_id") + 99), "launch_id: not a row of calls"),
    ],
    ids=["column", "type", "name type", "null", "numbers", "order", "unknown starts", "ends", "launches"],
)
def test_each_rule_is_checked(change: Callable[[pl.DataFrame], pl.DataFrame], words: str) -> None:
    with pytest.raises(SchemaViolationError, match=words):
        checked(ops(change))


def test_calls_and_markers_are_numbered_too() -> None:
    trace = decode_steps(2, "a b c").trace()
    with pytest.raises(SchemaViolationError, match="launch_id"):
        checked(replace(trace, calls=trace.calls.with_columns(pl.col("launch_id") * 2)))
    with pytest.raises(SchemaViolationError, match="marker_id"):
        checked(replace(trace, markers=trace.markers.with_columns(pl.col("marker_id") * 2)))


def test_caveats_are_added_not_replaced() -> None:
    trace = decode_steps(2, "a b c").trace(caveats=(Caveat("one", "first"),))
    more = trace.with_caveats([Caveat("two", "second"), Caveat("three", "third")])
    assert [caveat.code for caveat in more.caveats] == ["one", "two", "three"]
    assert [caveat.code for caveat in trace.caveats] == ["one"]
