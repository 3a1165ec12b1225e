"""Call sites: appeared, vanished, grew, shrank or same, with figures worked by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from analysis.step_of_calls import Call, layers_of, step_ops
from trace_budget.comparison.alignment import align, usual_step
from trace_budget.comparison.call_sites import beside, call_sites

NAMES = ("norm", "qkv", "attention", "out")


def pairs_of(before: list[list[Call]], after: list[list[Call]]) -> pl.DataFrame:
    return align(usual_step(step_ops(*before), len(before)), usual_step(step_ops(*after), len(after)))


def sites_of(before: list[list[Call]], after: list[list[Call]]) -> dict[str, dict[str, object]]:
    return {row["kernel"]: row for row in call_sites(pairs_of(before, after)).to_dicts()}


def with_lengths(step: list[Call], name: str, lengths: list[int]) -> list[Call]:
    rest = iter(lengths)
    return [(n, layer, next(rest) if n == name else length) for n, layer, length in step]


def test_a_shorter_kernel_shrank_by_the_sum_of_its_differences() -> None:
    before = with_lengths(layers_of(NAMES, 4), "out", [1_000, 1_010, 990, 1_000])
    after = with_lengths(before, "out", [700, 712, 688, 700])
    row = sites_of([before], [after])["out"]
    assert (row["change"], row["position"], row["layers_before"], row["layers_after"]) == ("shrank", 3, 4, 4)
    assert (row["ns_before"], row["ns_after"], row["difference_ns"]) == (4_000.0, 2_800.0, -1_200.0)
    spread = np.std([-300, -298, -302, -300], ddof=1)
    assert row["error_ns"] == pytest.approx(2 * spread * 2)


def test_differences_within_the_noise_are_the_same() -> None:
    before = with_lengths(layers_of(NAMES, 4), "out", [1_000, 1_100, 900, 1_000])
    after = with_lengths(before, "out", [1_100, 900, 1_000, 1_040])
    assert sites_of([before], [after])["out"]["change"] == "same"


def test_one_call_once_is_the_same_within_five_percent() -> None:
    assert sites_of([[("a", -1, 1_000)]], [[("a", -1, 1_040)]])["a"]["change"] == "same"
    assert sites_of([[("a", -1, 1_000)]], [[("a", -1, 1_060)]])["a"]["change"] == "grew"
    assert sites_of([[("a", -1, 1_000)]], [[("a", -1, 1_000)]])["a"]["error_ns"] is None


def test_steps_tell_the_noise_of_a_single_call() -> None:
    before = [[("a", -1, length)] for length in (1_000, 1_010, 990)]
    after = [[("a", -1, length)] for length in (960, 970, 950)]
    row = sites_of(before, after)["a"]
    assert row["change"] == "shrank"
    assert row["error_ns"] == pytest.approx(2 * np.sqrt(100 / 3 + 100 / 3))


def test_fused_kernels_name_their_counterparts() -> None:
    sites = sites_of([layers_of(NAMES, 3)], [layers_of(("norm_qkv", "attention", "out"), 3, 1_500)])
    assert (sites["norm"]["change"], sites["norm"]["counterpart"]) == ("vanished", "norm_qkv")
    assert (sites["norm_qkv"]["change"], sites["norm_qkv"]["counterpart"]) == ("appeared", "norm + qkv")
    assert sites["norm_qkv"]["layers_after"] == 3
    assert sites["attention"]["counterpart"] is None


def test_the_largest_difference_comes_first_and_sums_are_kept() -> None:
    before, after = layers_of(NAMES, 3), with_lengths(layers_of(NAMES, 3), "qkv", [10, 10, 10])
    rows = call_sites(pairs_of([before], [after]))
    assert rows["kernel"][0] == "qkv"
    assert rows["difference_ns"].sum() == rows["ns_after"].sum() - rows["ns_before"].sum() == -2_970.0


def test_a_kernel_replaced_in_some_layers_keeps_one_row() -> None:
    before = layers_of(NAMES, 4)
    after = [
        ("flash", layer, 400) if name == "attention" and layer > 1 else (name, layer, n) for name, layer, n in before
    ]
    row = sites_of([before], [after])["attention"]
    assert (row["calls_before"], row["calls_after"], row["layers_before"], row["layers_after"]) == (4.0, 2.0, 4, 2)
    assert row["change"] == "shrank"


def test_neighbours_stand_within_two_places() -> None:
    step = [(name, 0, 10) for name in "abcdefg"]
    pairs = pairs_of([step], [step])
    chosen = (pairs["name"] == "d").to_numpy()
    assert pairs.filter(pl.Series(beside(pairs, chosen)))["name"].to_list() == ["b", "c", "e", "f"]
    edge = (pairs["name"] == "a").to_numpy()
    assert pairs.filter(pl.Series(beside(pairs, edge)))["name"].to_list() == ["b", "c"]
