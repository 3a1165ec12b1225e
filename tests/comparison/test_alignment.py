"""Calls of two steps find each other by name, order and neighbours; hand-worked steps, and laws over random ones."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.step_of_calls import Call, layers_of, step_ops
from trace_budget.comparison.alignment import align, usual_step

NAMES = ("norm", "qkv", "attention", "out")


def aligned(before: list[Call], after: list[Call]) -> pl.DataFrame:
    return align(usual_step(step_ops(before), 1), usual_step(step_ops(after), 1))


def kept(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("slot_before").is_not_null() & pl.col("slot_after").is_not_null())


def test_the_usual_step_is_the_mean_over_its_steps() -> None:
    ops = step_ops([("a", 0, 100), ("b", 0, 10), ("a", 1, 300)], [("a", 0, 200), ("b", 0, 10), ("a", 1, 300)])
    usual = usual_step(ops, 2)
    rows = usual.slots.select("name", "turn", "layer_index", "calls", "n", "ns", "mean_ns", "var_ns").rows()
    assert rows == [
        ("a", 0, 0, 1.0, 2, 150.0, 150.0, 5_000.0),
        ("b", 0, 0, 1.0, 2, 10.0, 10.0, 0.0),
        ("a", 1, 1, 1.0, 2, 300.0, 300.0, 0.0),
    ]
    assert usual.op_slot["slot"].to_list() == [0, 1, 2, 0, 1, 2]


def test_a_call_that_only_some_steps_make_counts_in_part() -> None:
    usual = usual_step(step_ops([("a", -1, 100), ("b", -1, 40)], [("a", -1, 100)]), 2)
    rows = {row["name"]: row for row in usual.slots.to_dicts()}
    assert (rows["b"]["calls"], rows["b"]["ns"], rows["b"]["mean_ns"]) == (0.5, 20.0, 40.0)


def test_a_step_answers_itself_call_by_call() -> None:
    step = layers_of(NAMES, 5)
    pairs = aligned(step, step)
    assert pairs["slot_before"].to_list() == pairs["slot_after"].to_list() == list(range(20))
    assert pairs["group"].null_count() == 20


def test_a_fused_kernel_takes_the_place_of_two() -> None:
    before = layers_of(NAMES, 4)
    after = layers_of(("norm_qkv", "attention", "out"), 4)
    pairs = aligned(before, after)
    lone = pairs.filter(pl.col("group").is_not_null())
    groups = lone.group_by("group", maintain_order=True).agg("name", "layer_index").sort("group")
    assert [sorted(names) for names in groups["name"].to_list()] == [["norm", "norm_qkv", "qkv"]] * 4
    assert [set(layers) for layers in groups["layer_index"].to_list()] == [{0}, {1}, {2}, {3}]
    assert kept(pairs).height == 8


def test_a_kernel_replaced_in_every_second_layer_keeps_the_others_where_they_are() -> None:
    before = layers_of(NAMES, 6)
    after = [
        ("flash", layer, n) if name == "attention" and layer % 2 else (name, layer, n) for name, layer, n in before
    ]
    pairs = aligned(before, after)
    assert kept(pairs).filter(pl.col("name") == "attention")["layer_index"].to_list() == [0, 2, 4]
    new = pairs.filter(pl.col("name") == "flash")
    assert new.select("layer_index", "position").rows() == [(1, 2), (3, 2), (5, 2)]


def test_what_appears_where_nothing_vanished_stands_alone() -> None:
    before = layers_of(NAMES, 3)
    after = [
        call
        for layer in range(3)
        for call in (*before[4 * layer : 4 * layer + 2], ("copy", layer, 50), *before[4 * layer + 2 : 4 * layer + 4])
    ]
    new = aligned(before, after).filter(pl.col("slot_before").is_null())
    assert new["name"].to_list() == ["copy"] * 3
    assert new["layer_index"].to_list() == [0, 1, 2]
    assert (new["group"] < 0).all()
    assert new["position"].to_list() == [1, 1, 1]


def test_runs_without_a_common_kernel_share_nothing() -> None:
    pairs = aligned([("a", 0, 1)], [("b", 0, 1)])
    assert kept(pairs).is_empty()
    assert sorted(pairs["name"].to_list()) == ["a", "b"]


def test_the_order_of_side_streams_does_not_matter() -> None:
    before = [call for layer in range(6) for call in (("m1", layer, 10), ("side", layer, 5), ("m2", layer, 10))]
    after = [call for layer in range(6) for call in (("m1", layer, 10), ("m2", layer, 10), ("side", layer, 5))]
    pairs = aligned(before, after)
    assert kept(pairs).height == 18
    same_layer = kept(pairs).sort("slot_before")["layer_index"].to_list()
    assert same_layer == [layer for layer in range(6) for _ in range(3)]


calls = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c", "d")), st.integers(-1, 3), st.integers(1, 900)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(before=calls, after=calls)
def test_every_call_of_both_runs_appears_exactly_once(before: list[Call], after: list[Call]) -> None:
    pairs = aligned(before, after)
    assert sorted(pairs["slot_before"].drop_nulls()) == list(range(len(before)))
    assert sorted(pairs["slot_after"].drop_nulls()) == list(range(len(after)))
    assert pairs["ns_before"].sum() == sum(length for *_, length in before)
    assert pairs["ns_after"].sum() == sum(length for *_, length in after)
    both = kept(pairs)
    shared = Counter(name for name, *_ in before) & Counter(name for name, *_ in after)
    assert all(both.filter(pl.col("name") == name).height <= count for name, count in shared.items())


@settings(max_examples=50, deadline=None)
@given(step=calls, drop=st.sets(st.integers(0, 39)))
def test_calls_taken_out_vanish_and_nothing_else_does(step: list[Call], drop: set[int]) -> None:
    rest = [call for index, call in enumerate(step) if index not in drop]
    if not rest:
        return
    pairs = aligned(step, rest)
    gone = pairs.filter(pl.col("slot_after").is_null())
    assert pairs.filter(pl.col("slot_before").is_null()).height == len(rest) - kept(pairs).height
    missing = Counter(name for name, *_ in step) - Counter(name for name, *_ in rest)
    unchanged = {name for name, *_ in step} - set(missing)
    assert not set(gone["name"].to_list()) & unchanged


@pytest.mark.parametrize("layers", [2, 24])
def test_a_kernel_taken_out_of_every_layer_leaves_the_rest_paired_in_its_layer(layers: int) -> None:
    before = layers_of(NAMES, layers)
    after = [call for call in before if call[0] != "qkv"]
    pairs = aligned(before, after)
    assert pairs.filter(pl.col("slot_after").is_null())["name"].to_list() == ["qkv"] * layers
    assert kept(pairs).height == 3 * layers


def test_several_calls_that_took_several_places_pair_up_in_order() -> None:
    before = [("in", 0, 1), ("a", 0, 1), ("a", 0, 2), ("out", 0, 1)]
    after = [("in", 0, 1), ("b", 0, 1), ("b", 0, 1), ("b", 0, 1), ("out", 0, 1)]
    new = aligned(before, after).filter(pl.col("slot_before").is_null())
    assert sorted(new["position"].to_list()) == [1, 2, 2]
    assert new["group"].n_unique() == 1
