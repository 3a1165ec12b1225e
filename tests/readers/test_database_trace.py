"""Records become a Trace: launches by key, unusable times told, nothing lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from trace_budget.readers.records import Records, trace_of, with_launch_ids
from trace_budget.schema.tables import MARKERS

NO_MARKERS = MARKERS.empty().drop("marker_id")


@dataclass(frozen=True)
class Somewhere:
    path: Path = Path(__file__)
    damage: str = ""


def calls_of(*rows: tuple[str, int | None, int | None, int | None]) -> pl.DataFrame:
    names = {"name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64, "correlation": pl.Int64}
    return pl.DataFrame(rows, schema=names, orient="row")


def ops_of(*rows: tuple[str, int | None, int | None, int | None]) -> pl.DataFrame:
    return calls_of(*rows).with_columns(pl.lit("kernel").alias("kind"))


def test_launches_are_numbered_in_time_and_found_by_key() -> None:
    calls = calls_of(("hipLaunchKernel", 50, 60, 7), ("hipGraphLaunch", 10, 20, 8))
    ops, ordered = with_launch_ids(
        ops_of(("a", 100, 110, 7), ("b", 1, 2, 8), ("c", 3, 4, 8), ("d", 5, 6, None)), calls, ["correlation"]
    )
    assert ordered["name"].to_list() == ["hipGraphLaunch", "hipLaunchKernel"]
    assert ops["launch_id"].to_list() == [1, 0, 0, None]


def test_a_call_that_enqueues_wins_among_equal_keys() -> None:
    calls = calls_of(
        ("hipStreamSynchronize", 1, 2, 7), ("hipLaunchKernel", 3, 4, 7), ("hipModuleLaunchKernel", 5, 6, 7)
    )
    ops, ordered = with_launch_ids(ops_of(("a", 100, 110, 7)), calls, ["correlation"])
    assert ordered["name"][ops["launch_id"][0]] == "hipLaunchKernel"


def test_calls_without_a_usable_end_keep_their_work() -> None:
    calls = calls_of(("hipLaunchKernel", 30, None, 1), ("hipLaunchKernel", 20, 10, 2), ("hipLaunchKernel", None, 5, 3))
    ops = ops_of(("a", 100, 110, 1), ("b", 110, 120, 2), ("c", 120, 130, 3))
    trace = trace_of(Somewhere(), "test", Records(ops, calls, NO_MARKERS, ("correlation",)))
    assert trace.calls.select("start_ns", "end_ns").rows() == [(20, 20), (30, 30)]
    assert trace.gpu_ops["launch_id"].to_list() == [1, 0, None]
    assert {c.code: c.count for c in trace.caveats} == {"bad_call_times": 3, "orphan_ops": 1}


def test_a_damaged_source_is_told_and_the_trace_is_not_complete() -> None:
    calls = calls_of(("hipLaunchKernel", 1, 2, 1))
    records = Records(ops_of(("a", 3, 4, 1)), calls, NO_MARKERS, ("correlation",))
    trace = trace_of(Somewhere(damage="its writer did not close it"), "test", records)
    assert not trace.complete
    assert [c.code for c in trace.caveats] == ["partial_file"]
    assert "did not close it" in trace.caveats[0].text


@pytest.mark.parametrize(("earliest", "start"), [(0, 0), (1, None)])
def test_a_start_of_0_is_a_time_on_relative_clocks_only(earliest: int, start: int | None) -> None:
    records = Records(ops_of(("a", 0, 4, 1)), calls_of(), NO_MARKERS, ("correlation",), earliest_ns=earliest)
    assert trace_of(Somewhere(), "test", records).gpu_ops["start_ns"].to_list() == [start]
