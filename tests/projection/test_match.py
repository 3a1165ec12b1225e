"""Which calls a selection means: by name, call site, grid, stream, layer; and what is told when none is left."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from projection.builders import Op, Range, graph_steps, hand_trace, repeated_steps
from trace_budget import api
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.projection.match import MOST_LISTED, Match, match
from trace_budget.projection.target import PreparedRank, prepared_rank
from trace_budget.schema.options import Scope, Selection
from trace_budget.schema.trace import Trace

LAYER = [("norm", 5.0), ("gdn_fused", 13.0), ("gdn_gate", 4.0), ("gdn_fused", 11.0), ("mlp", 30.0)]


def site(trace: Trace, scope: Scope | None = None) -> PreparedRank:
    return prepared_rank(api.analyse(trace, scope or Scope()))


def matched(trace: Trace, kernel: str, scope: Scope | None = None, **narrow: Any) -> Match:
    seen = site(trace, scope)
    return match(seen.ops, Selection(kernel, **narrow), seen.found.steps, seen.found.layers, trace.path)


@pytest.fixture(scope="module")
def decode() -> Trace:
    return graph_steps([*LAYER * 12, ("lm_head", 90.0)], 1_500)


def test_calls_layers_and_steps_are_counted(decode: Trace) -> None:
    got = matched(decode, "gdn_fused")
    assert (got.kernel, got.names) == ("gdn_fused", ("gdn_fused",))
    assert (got.ops.height, got.calls_per_step, got.steps, got.steps_hit) == (72, 24, 3, 3)
    assert (got.layers, got.layers_hit, got.constant) == (12, 12, True)
    assert got.ops["dur_ns"].unique().sort().to_list() == [11_000, 13_000]


def test_one_call_site(decode: Trace) -> None:
    assert sorted(matched(decode, "gdn_fused").ops["position"].unique()) == [1, 3]
    got = matched(decode, "gdn_fused", position=3)
    assert (got.calls_per_step, got.ops["dur_ns"].unique().to_list()) == (12, [11_000])
    with pytest.raises(NotInTraceError, match=r"--position 2.*position \[1, 3\]"):
        matched(decode, "gdn_fused", position=2)


def test_some_layers(decode: Trace) -> None:
    got = matched(decode, "gdn_gate", layers=(0, 5, 11))
    assert got.ops["layer_index"].unique().sort().to_list() == [0, 5, 11]
    assert (got.calls_per_step, got.layers_hit) == (3, 3)
    with pytest.raises(NotInTraceError, match="layers"):
        matched(decode, "gdn_gate", layers=(77,))


def test_several_kernels_are_never_summed_silently(decode: Trace) -> None:
    with pytest.raises(NotInTraceError) as told:
        matched(decode, "gdn_")
    text = str(told.value)
    assert told.value.choices == (
        "--kernel gdn_fused  24 calls, 288.0 us a step",
        "--kernel gdn_gate   12 calls, 48.0 us a step",
    )
    assert "--all-matches" in text
    got = matched(decode, "gdn_", all_matches=True)
    assert (got.kernel, set(got.names)) == ("2 kernels matching gdn_", {"gdn_fused", "gdn_gate"})
    assert got.calls_per_step == 36


def test_a_long_list_of_kernels_is_cut() -> None:
    chain = [(f"kernel_{'x' * 120}_{i}", 5.0) for i in range(12)]
    chain[7] = (chain[7][0], 9.0)
    trace = graph_steps(chain, 200)
    with pytest.raises(NotInTraceError) as told:
        matched(trace, "kernel_")
    assert "found 12" in str(told.value)
    assert len(told.value.choices) == MOST_LISTED
    assert copied(told.value.choices, trace)[0] == chain[7][0]  # the largest first


def copied(choices: tuple[str, ...], trace: Trace) -> list[str]:
    """The kernels that are matched when a choice is pasted back."""
    return [matched(trace, shlex.split(choice)[1]).kernel for choice in choices]


def test_names_that_differ_in_their_middle_alone_are_shown_apart() -> None:
    names = [f"Cijk_{'A' * 60}_MT{tile}_{'B' * 90}_WG" for tile in ("16x64", "16x32", "128x128")]
    trace = graph_steps([(name, 5.0) for name in names], 200)
    with pytest.raises(NotInTraceError) as told:
        matched(trace, "Cijk")
    assert sorted(copied(told.value.choices, trace)) == sorted(names)
    assert all("…" in choice for choice in told.value.choices)


def test_nothing_found_is_answered_with_the_closest_names(decode: Trace) -> None:
    with pytest.raises(NotInTraceError) as told:
        matched(decode, "gdn_fuse_x")
    assert "--kernel gdn_fused" in told.value.choices
    assert "hand.json" in str(told.value)
    assert "5 other kernels" in str(told.value)


def on_two_streams() -> Trace:
    ops = []
    for step in range(3):
        at = 1_000.0 * step
        ops += [Op("k", at + 10, 20, 7, grid=(4, 1, 1)), Op("k", at + 40, 20, 8, grid=(8, 2, 1))]
        ops += [Op("k", at + 70, 20, 7, grid=(8, 2, 1)), Op("copy", at + 95, 3, 9, kind="memcpy")]
    return hand_trace(ops, (), [Range(1_000.0 * step, 1_000.0 * step + 100) for step in range(3)])


def test_grids_and_streams() -> None:
    trace = on_two_streams()
    assert matched(trace, "k").calls_per_step == 3
    assert matched(trace, "k", stream=7).calls_per_step == 2
    for text in ("8,2,1", "8x2x1", "8, 2"):
        assert matched(trace, "k", grid=text).calls_per_step == 2
    assert matched(trace, "k", grid="8,2", stream=7).calls_per_step == 1
    with pytest.raises(NotInTraceError, match=r"--stream 9.*\[7, 8\]"):
        matched(trace, "k", stream=9)
    with pytest.raises(NotInTraceError, match=r"--grid 5.*\(4, 1, 1\)"):
        matched(trace, "k", grid="5")
    for text in ("big", "1,2,3,4", "-1"):
        with pytest.raises(UsageError, match="not a grid"):
            matched(trace, "k", grid=text)


def test_copies_are_no_kernels_unless_there_is_nothing_else() -> None:
    with pytest.raises(NotInTraceError):
        matched(on_two_streams(), "copy")
    alone = hand_trace([Op("copy", 10.0 * i, 3, kind="memcpy") for i in range(6)])
    assert matched(alone, "copy").ops.height == 6


def test_only_counted_steps_are_matched(decode: Trace) -> None:
    got = matched(decode, "gdn_fused", Scope(steps="1:"))
    assert (got.steps, got.ops["step_index"].unique().sort().to_list()) == (2, [1, 2])


def test_steps_that_run_it_unequally_often_are_not_constant() -> None:
    chains = [[("a", 10.0), ("k", 5.0)], [("a", 10.0), ("k", 5.0)], [("a", 10.0), ("a", 10.0)]]
    got = matched(repeated_steps(chains, 100), "k", Scope(steps="0:3"))
    assert (got.steps, got.steps_hit, got.constant) == (3, 2, False)
    assert got.calls_per_step == pytest.approx(2 / 3)


def test_calls_without_times_are_counted() -> None:
    ops = [Op("k", 10.0 * i, None if i == 3 else 4.0) for i in range(6)]
    got = matched(hand_trace(ops), "k")
    assert (got.ops.height, got.ops["dur_ns"].null_count()) == (6, 1)
