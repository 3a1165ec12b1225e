"""Layers of a trace: positions the same in all steps, kernels on other streams, module names, the user's count."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import DECODE, US, Tape, decode_steps
from trace_budget.analysis import layers as layers_room
from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.layers import template as template_room
from trace_budget.analysis.steps import find_steps
from trace_budget.schema.findings import Layers
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace

L = "norm qkv rope attn out norm2 up act down "
F = "norm qkv rope flash reduce out norm2 up act down "


def layers_of(trace: Trace, wanted: int | None = None) -> Layers:
    return find_layers(trace, find_steps(trace), Scope(layers=wanted))


def table(trace: Trace, found: Layers) -> pl.DataFrame:
    return trace.gpu_ops.select(pl.col("name").cast(pl.String), "stream").with_columns(
        pl.Series("layer", found.op_layer), pl.Series("position", found.op_position)
    )


def places(trace: Trace, found: Layers, name: str) -> set[int]:
    return set(table(trace, found).filter((pl.col("name") == name) & (pl.col("layer") >= 0))["position"].to_list())


def test_a_kernel_has_one_position_in_layers_of_all_kinds() -> None:
    trace = decode_steps(2, "embed " + (L * 3 + F) * 3 + "head").trace()
    found = layers_of(trace)
    # The template: the shorter kind, with the kernels of the other kind where they stand.
    order = ["norm", "qkv", "rope", "attn", "flash", "reduce", "out", "norm2", "up", "act", "down"]
    assert [places(trace, found, name) for name in order] == [{place} for place in range(11)]
    assert places(trace, found, "head") == set()
    assert (found.layers, found.method, found.confidence, found.caveats) == (12, "period", "high", ())


def test_two_calls_of_one_kernel_are_two_call_sites() -> None:
    trace = decode_steps(2, ("gemm attn gemm norm act ") * 6).trace()
    assert len(places(trace, layers_of(trace), "gemm")) == 2


def test_positions_do_not_depend_on_what_other_steps_run() -> None:
    tape = Tape()
    for number in range(5):
        odd = L.replace("attn", "attn combine") if number == 2 else L
        with tape.range(DECODE):
            tape.graph("embed " + L * 5 + odd + L * 6 + "head")
        tape.idle(20 * US)
    trace = tape.trace()
    found = layers_of(trace)
    for name in L.split():
        assert len(places(trace, found, name)) == 1, name
    assert [layer for name, _, layer, _ in table(trace, found).rows() if name == "combine"] == [5]


def test_steps_that_do_not_count_have_no_layers() -> None:
    tape = Tape()
    with tape.range("execute_context_1(512)_generation_0(0)"):
        tape.launch("embed " + L * 6)
    with tape.range(DECODE):
        tape.graph("embed " + L * 6)
    found = layers_of(tape.trace())
    assert found.op_layer.tolist() == [-1] * 56 + np.repeat(np.arange(6), 9).tolist()


def test_equal_steps_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    search: Callable[..., object] = layers_room.cut_sequence

    def counted(codes: np.ndarray, wanted: int | None, norms: np.ndarray) -> object:
        searched.append(codes.size)
        return search(codes, wanted, norms)

    monkeypatch.setattr(layers_room, "cut_sequence", counted)
    layers_of(decode_steps(40, "embed " + L * 12 + "head").trace())
    assert searched == [110]


def with_side(per_layer: Callable[[int], tuple[str, int]], layers: int = 8, steps: int = 3) -> Trace:
    """Steps whose layers start kernels on stream 9: `per_layer` gives names and a lag in us."""
    tape = Tape()
    for _ in range(steps):
        with tape.range(DECODE):
            begin = tape.clock.get((0, 7), tape.device_ns)
            for layer in range(layers):
                names, lag = per_layer(layer)
                tape.graph(L)
                for turn, name in enumerate(names.split()):
                    tape.graph([name], stream=9, at=begin + layer * 90 * US + lag * US + turn * US, dur=US)
            tape.launch("final head")
        tape.idle(20 * US)
    return tape.trace()


def side_layers(trace: Trace, found: Layers, name: str) -> list[int]:
    return table(trace, found).filter(pl.col("name") == name)["layer"].to_list()


def test_a_kernel_beside_every_layer_belongs_to_it() -> None:
    trace = with_side(lambda layer: ("shared_up shared_down", 40))
    found = layers_of(trace)
    assert side_layers(trace, found, "shared_up") == list(range(8)) * 3
    assert places(trace, found, "shared_up") | places(trace, found, "shared_down") == {9, 10}
    assert found.confidence == "high"


def test_a_stream_that_lags_is_dealt_out_in_order() -> None:
    trace = with_side(lambda layer: ("shared", 130))
    assert side_layers(trace, layers_of(trace), "shared") == list(range(8)) * 3


def test_two_calls_beside_every_second_layer_stay_there() -> None:
    trace = with_side(lambda layer: ("gate gate" if layer % 2 else "", 40))
    found = layers_of(trace)
    assert side_layers(trace, found, "gate") == [1, 1, 3, 3, 5, 5, 7, 7] * 3
    assert len(places(trace, found, "gate")) == 2


def test_a_kernel_that_runs_once_beside_the_layers_is_in_none() -> None:
    trace = with_side(lambda layer: ("once" if layer == 5 else "", 40), layers=12)
    assert side_layers(trace, layers_of(trace), "once") == [-1] * 3


def test_side_kernels_before_and_after_the_layers_are_in_none() -> None:
    tape = Tape()
    for _ in range(2):
        with tape.range(DECODE):
            begin = tape.clock.get((0, 7), tape.device_ns)
            tape.graph("embed " + L * 8 + "final head")
            for offset in (1, 200, 400, 735):
                tape.graph(["beside"], stream=9, at=begin + offset * US, dur=US)
        tape.idle(20 * US)
    trace = tape.trace()
    assert side_layers(trace, layers_of(trace), "beside") == [-1, 2, 4, -1] * 2


@pytest.mark.parametrize("stream", [-1, None, -(2**63), 2**63 - 1])
def test_streams_of_any_number_or_none(stream: int | None) -> None:
    trace = with_side(lambda layer: ("shared", 40))
    place = pl.when(pl.col("stream") == 7).then(pl.lit(stream, dtype=pl.Int64)).otherwise("stream").alias("stream")
    moved = replace(trace, gpu_ops=trace.gpu_ops.with_columns(place))
    assert layers_of(moved).op_layer.tolist() == layers_of(trace).op_layer.tolist()
    assert layers_of(moved).op_position.tolist() == layers_of(trace).op_position.tolist()
    assert layers_of(moved).segments[0].stream == stream


def with_modules(layers: int, kernels: str, modules: str = "Qwen3DecoderLayer", extra: str = "") -> Tape:
    tape = Tape()
    for _ in range(2):
        with tape.range(DECODE):
            tape.launch("embed")
            for number in range(layers):
                with tape.range(f"nn.Module: {modules}_{number}", kind="module"):
                    for part in kernels.split(";"):
                        with tape.range(f"nn.Module: Linear_{number}", kind="module"):
                            tape.launch(part)
                tape.launch(extra)
            tape.launch("head")
        tape.idle(20 * US)
    return tape


def test_module_names_win_over_what_repeats() -> None:
    # Two equal halves in one layer would make 12 layers of it.
    trace = with_modules(6, "a b c d e; a b c d e").trace()
    found = layers_of(trace)
    assert (found.layers, found.method, found.confidence) == (6, "modules (Qwen3DecoderLayer)", "high")
    assert found.op_layer.tolist() == ([-1, *np.repeat(np.arange(6), 10).tolist(), -1]) * 2
    assert found.op_position.tolist() == ([-1, *list(range(10)) * 6, -1]) * 2
    nameless = replace(trace, markers=trace.markers.filter(pl.col("kind") != "module"))
    assert find_layers(nameless, find_steps(trace)).layers == 12


def test_kernels_between_modules_belong_to_none_and_tear_nothing() -> None:
    trace = with_modules(6, "a b c; d", extra="between").trace()
    found = layers_of(trace)
    rows = table(trace, found)
    assert rows.filter(pl.col("name") == "between").select("layer", "position").unique().rows() == [(-1, -1)]
    assert [places(trace, found, name) for name in "abcd"] == [{0}, {1}, {2}, {3}]


def test_work_of_another_thread_inside_a_layer_does_not_tear_it() -> None:
    tape = Tape()
    with tape.range(DECODE):
        for number in range(6):
            with tape.range(f"nn.Module: Layer_{number}", kind="module"):
                tape.launch("a b")
                tape.launch(["copy"] if number == 3 else [], stream=7)
                tape.launch("c d")
    trace = tape.trace()
    calls = trace.calls.with_columns(pl.when(pl.col("launch_id") == 14).then(2).otherwise("tid").alias("tid"))
    found = layers_of(replace(trace, calls=calls))
    assert [places(trace, found, name) for name in "abcd"] == [{0}, {1}, {2}, {3}]


def test_modules_that_own_little_are_not_the_layers() -> None:
    tape = Tape()
    with tape.range(DECODE):
        for number in range(8):
            with tape.range(f"nn.Module: RMSNorm_{number}", kind="module"):
                tape.launch("norm")
            tape.launch("qkv rope attn out up down")
    found = layers_of(tape.trace())
    assert (found.layers, found.method) == (8, "period")


def test_the_users_count_is_used_and_a_contradiction_told() -> None:
    trace = decode_steps(2, "embed " + (L + F) * 6 + "head").trace()
    assert layers_of(trace, 12).method == "user"
    halved = layers_of(trace, 6)
    assert (halved.layers, halved.op_layer.max()) == (6, 5)
    assert [caveat.code for caveat in halved.caveats] == ["layers_overridden"]
    wrong = layers_of(trace, 7)
    assert (wrong.layers, wrong.caveats[0].code, wrong.caveats[0].severity) == (7, "layers_overridden", "warning")


def test_no_layers_are_told() -> None:
    trace = decode_steps(3, "a b c d e f").trace()
    found = layers_of(trace)
    assert (found.layers, found.method, found.confidence, found.segments) == (0, "none", "low", ())
    assert (found.op_layer.max(), found.op_position.max()) == (-1, -1)
    assert [(c.code, c.severity) for c in found.caveats] == [("no_layers", "warning")]


def test_steps_that_show_other_layers_are_told() -> None:
    tape = Tape()
    for layers in (12, 11, 12):
        with tape.range(DECODE):
            tape.graph("embed " + L * layers + "head")
        tape.idle(20 * US)
    found = layers_of(tape.trace())
    assert (found.layers, found.confidence) == (12, "medium")
    assert [(c.code, c.count) for c in found.caveats] == [("layers_vary", 1)]


def test_layers_beyond_the_limits_have_no_position_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_room, "LONGEST", 15)
    trace = decode_steps(2, "embed " + (L + F) * 6 + "head").trace()
    found = layers_of(trace)
    unknown = next(c for c in found.caveats if c.code == "positions_unknown")
    assert (unknown.severity, unknown.count) == ("warning", 2 * 6 * 10)
    assert places(trace, found, "flash") == {-1}
    assert -1 in places(trace, found, "norm")


def test_kernels_of_unknown_start_are_in_no_layer() -> None:
    trace = decode_steps(2, "embed " + L * 8 + "head").trace()
    nothing = pl.lit(None, dtype=pl.Int64)
    blind = replace(trace, gpu_ops=trace.gpu_ops.with_columns(nothing.alias("start_ns"), nothing.alias("end_ns")))
    assert layers_of(blind).layers == 0


@given(shift=st.integers(0, 2**60), device=st.integers(0, 2**31 - 1))
@settings(deadline=None, max_examples=10)
def test_the_origin_of_time_and_the_number_of_the_device_do_not_matter(shift: int, device: int) -> None:
    trace = with_side(lambda layer: ("shared", 40))
    times = [(pl.col(column) + shift).alias(column) for column in ("start_ns", "end_ns")]
    moved = trace.gpu_ops.with_columns(*times, pl.lit(device, dtype=pl.Int32).alias("device"))
    ours, theirs = layers_of(trace), layers_of(replace(trace, gpu_ops=moved))
    assert ours.op_layer.tolist() == theirs.op_layer.tolist()
    assert ours.op_position.tolist() == theirs.op_position.tolist()
