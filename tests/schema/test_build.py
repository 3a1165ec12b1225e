"""From raw columns to declared tables: filling, sorting, numbering, linking, names."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.schema import build
from trace_budget.schema.tables import CALLS, GPU_OPS, MARKERS, SYNCS


def test_ops_are_sorted_numbered_and_filled_with_nulls() -> None:
    raw = pl.DataFrame(
        {"kind": ["kernel"] * 3, "name": ["b", "a", "c"], "start_ns": [5, None, 1], "end_ns": [9, None, 4]}
    )
    ops = build.gpu_ops(raw)
    assert tuple(ops.columns) == GPU_OPS.column_names()
    assert ops["op_id"].to_list() == [0, 1, 2]
    assert ops["name"].to_list() == ["c", "b", "a"]
    assert ops["start_ns"].to_list() == [1, 5, None]
    for column in ("device", "stream", "launch_id", "grid_x", "bytes"):
        assert ops[column].null_count() == 3


def test_equal_starts_keep_the_order_of_the_file() -> None:
    raw = pl.DataFrame({"kind": ["kernel"] * 4, "name": list("dcba"), "start_ns": [7] * 4, "end_ns": [8] * 4})
    assert build.gpu_ops(raw)["name"].to_list() == list("dcba")


def test_undeclared_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"markers: columns \['colour'\] are not declared"):
        build.markers(pl.DataFrame({"colour": ["red"]}))


def test_ops_are_linked_to_the_call_that_enqueues() -> None:
    calls = build.calls(
        pl.DataFrame(
            {
                "name": ["hipStreamSynchronize", "hipGraphLaunch", "hipLaunchKernel", "hipMemcpyAsync"],
                "start_ns": [1, 2, 3, 4],
                "end_ns": [2, 3, 4, 5],
                "correlation": [7, 7, 8, None],
            }
        )
    )
    raw = pl.DataFrame(
        {
            "kind": ["kernel"] * 4,
            "name": list("abcd"),
            "start_ns": [10, 11, 12, 13],
            "end_ns": [11, 12, 13, 14],
            "correlation": [7, 8, 9, None],
        }
    )
    assert build.gpu_ops(raw, calls)["launch_id"].to_list() == [1, 2, None, None]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernelExC", "launch"),
        ("hipExtModuleLaunchKernel", "launch"),
        ("cuLaunchKernel", "launch"),
        ("hipGraphLaunch", "graph_launch"),
        ("cudaGraphLaunch_v10000", "graph_launch"),
        ("cudaMemcpyAsync", "memcpy"),
        ("hipMemsetAsync", "memset"),
        ("hipDeviceSynchronize", "sync"),
        ("cudaStreamQuery", "sync"),
        ("cudaEventRecordWithFlags", "event_record"),
        ("hipStreamWaitEvent", "stream_wait"),
        ("cudaMalloc", "other"),
    ],
)
def test_what_a_call_does_is_told_by_its_name(name: str, kind: str) -> None:
    calls = build.calls(pl.DataFrame({"name": [name], "start_ns": [1], "end_ns": [2]}))
    assert calls["kind"].to_list() == [kind]


def test_empty_tables_have_the_declared_columns() -> None:
    for spec, make in ((CALLS, build.calls), (MARKERS, build.markers), (SYNCS, build.syncs)):
        made = make(spec.empty())
        assert tuple(made.columns) == spec.column_names()
        assert made.height == 0


def test_control_characters_never_reach_a_terminal() -> None:
    names = build.names_from_text(pl.Series("name", ["a\x1b[2Jb", None, "plain", "a\x1b[2Jb", "tab\there"]))
    assert names.to_list() == ["a?[2Jb", "<unnamed>", "plain", "a?[2Jb", "tab?here"]


@given(st.lists(st.text(max_size=5), min_size=1, max_size=20))
def test_names_keep_their_rows(texts: list[str]) -> None:
    names = build.names_from_text(pl.Series("name", texts))
    assert isinstance(names.dtype, pl.Enum)
    clean = ["".join("?" if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text) for text in texts]
    assert names.to_list() == clean
