"""Layers of one kernel sequence: periods, super-periods, odd layers, segments, counts: answers worked out by hand."""

import numpy as np
import pytest

from trace_budget.analysis.layers.names import Names
from trace_budget.analysis.layers.sequence import Layering, cut_sequence
from trace_budget.analysis.layers.tandem import best_run, candidate_periods

L = "norm qkv rope attn out norm2 up act down "
F = "norm qkv rope flash reduce out norm2 up act down "
M = "norm qkv rope attn out norm2 route sort moe1 moe2 sum "


def numbered(text: str) -> np.ndarray:
    names = text.split()
    return np.array([sorted(set(names)).index(name) for name in names], dtype=np.int64)


def cut(text: str, wanted: int | None = None) -> Layering:
    return cut_sequence(numbered(text), wanted)


def sizes(found: Layering) -> list[int]:
    """Kernels of each layer."""
    return np.bincount(found.layer[found.layer >= 0]).tolist()


def hits(text: str, found: Layering, name: str) -> list[int]:
    """The layer of each call of a kernel (-1 for none)."""
    return [int(layer) for kernel, layer in zip(text.split(), found.layer, strict=True) if kernel == name]


def test_a_plain_period_between_head_and_tail() -> None:
    text = "copy embed " + L * 24 + "final head sample"
    found = cut(text)
    assert (found.layers, found.method, found.confidence) == (24, "period", "high")
    assert found.layer.tolist() == [-1, -1, *np.repeat(np.arange(24), 9).tolist(), -1, -1, -1]
    (piece,) = found.segments
    assert (piece.period, piece.repeats, piece.layers) == (9, 24, 24)
    assert hits(text, found, "attn") == list(range(24))
    assert hits(text, found, "head") == [-1]


def test_the_example_of_the_method_page() -> None:
    text = "embed " + "norm qkv attn out norm2 up down " * 24 + "final head"
    run = best_run(numbered(text))
    assert run is not None
    assert (run.period, run.matching, run.stop - run.first) == (7, 161, 168)
    full = "norm qkv flash reduce out norm2 up down "
    text = "embed " + ("norm qkv attn out norm2 up down " + full) * 12 + "final head"
    found = cut(text)
    assert (found.layers, found.segments[0].period, len(hits(text, found, "flash"))) == (24, 15, 12)


@pytest.mark.parametrize("layers", [12, 1200])
def test_the_work_does_not_grow_with_the_length_beyond_one_look_at_each_kernel(layers: int) -> None:
    assert len(candidate_periods(numbered("embed " + (L + F) * layers + "head"), 3)) <= 2 * 24


def test_two_kinds_of_layers_that_alternate_are_two_layers() -> None:
    # As with sliding and full attention: the exact period is 19 kernels, the layers are 24, not 12.
    text = "embed " + (L + F) * 12 + "head"
    found = cut(text)
    assert (found.layers, found.confidence) == (24, "high")
    assert sizes(found) == [9, 10] * 12
    assert hits(text, found, "attn") == list(range(0, 24, 2))
    assert hits(text, found, "flash") == hits(text, found, "reduce") == list(range(1, 24, 2))
    assert hits(text, found, "up") == list(range(24))
    (piece,) = found.segments
    assert (piece.period, piece.repeats, piece.layers) == (19, 12, 24)


@pytest.mark.parametrize(("unit", "blocks", "full"), [(L * 3 + F, 16, 3), (F + L * 3, 16, 0), (L * 7 + F, 6, 7)])
def test_hybrids_with_one_full_attention_in_a_few_layers(unit: str, blocks: int, full: int) -> None:
    text = "embed " + unit * blocks + "head"
    found = cut(text)
    per_unit = unit.count("norm ")
    assert found.layers == blocks * per_unit
    assert hits(text, found, "flash") == list(range(full, blocks * per_unit, per_unit))
    assert hits(text, found, "down") == list(range(blocks * per_unit))


def test_a_linear_attention_layer_before_each_full_one() -> None:
    linear = "norm in conv gate delta out norm2 up act down "
    text = (linear + F) * 6
    found = cut(text)
    assert found.layers == 12
    assert hits(text, found, "delta") == list(range(0, 12, 2))
    assert hits(text, found, "flash") == list(range(1, 12, 2))


def test_two_norms_in_one_layer_do_not_make_two_layers() -> None:
    text = "embed " + "norm qkv rope attn out norm up act down " * 36 + "norm head"
    found = cut(text)
    assert found.layers == 36
    assert hits(text, found, "norm") == [layer for layer in range(36) for _ in range(2)] + [-1]


@pytest.mark.parametrize("dense", [1, 2, 3])
def test_dense_layers_before_the_layers_of_experts(dense: int) -> None:
    text = "embed " + L * dense + M * 26 + "final head"
    found = cut(text)
    assert found.layers == 26 + dense
    assert hits(text, found, "moe1") == list(range(dense, 26 + dense))
    assert hits(text, found, "up") == list(range(dense))
    assert hits(text, found, "attn") == list(range(26 + dense))
    assert hits(text, found, "embed") == hits(text, found, "head") == [-1]


def test_a_last_layer_fused_otherwise_is_a_layer_too() -> None:
    # The residual of each layer is fused with the norm of the next; the last one has none.
    fused = "add_norm qkv attn out add_norm2 up act down "
    text = (
        "embed norm qkv attn out add_norm2 up act down "
        + fused * 22
        + "add_norm qkv attn out add_norm2 up act_down head"
    )
    found = cut(text)
    assert found.layers == 24
    assert hits(text, found, "attn") == list(range(24))
    # No kernel tells whether this one still belongs to the last layer.
    assert hits(text, found, "act_down") == [-1]
    assert len(set(hits(text, found, "add_norm"))) == 23


def test_two_regimes_in_one_step_are_two_segments() -> None:
    encoder, decoder = "enc_norm enc_qkv enc_attn enc_out enc_up enc_down ", "norm qkv attn cross out up down "
    text = "patch " + encoder * 18 + "pool project " + decoder * 24 + "head"
    found = cut(text)
    assert found.layers == 42
    assert [(piece.period, piece.repeats) for piece in found.segments] == [(6, 18), (7, 24)]
    assert hits(text, found, "enc_attn") == list(range(18))
    assert hits(text, found, "cross") == list(range(18, 42))
    assert hits(text, found, "pool") == hits(text, found, "project") == [-1]


@pytest.mark.parametrize("at", [3, 12, 20])
@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("substituted", L.replace("attn", "other_attn")),
        ("inserted", L.replace("attn", "attn combine")),
        ("missing", L.replace("act ", "")),
        ("longer", L.replace("attn", "a1 a2 a3 a4")),
    ],
)
def test_one_odd_layer_does_not_end_the_repetition(name: str, odd: str, at: int) -> None:
    text = "embed " + L * at + odd + L * (23 - at) + "head"
    found = cut(text)
    assert found.layers == 24, name
    assert hits(text, found, "norm") == list(range(24))
    assert hits(text, found, "down") == list(range(24))


def test_two_equal_layers_are_weak_evidence() -> None:
    text = "embed " + L * 2 + "head"
    found = cut(text)
    assert (found.layers, found.confidence) == (2, "low")
    assert hits(text, found, "down") == [0, 1]


def test_counts_tell_where_no_order_repeats() -> None:
    generator = np.random.default_rng(3)
    parts = [" ".join(["norm", *generator.permutation(["a", "b", "c", "d", "e"]).tolist()]) for _ in range(9)]
    text = "embed " + " ".join(parts) + " head"
    found = cut(text)
    assert (found.layers, found.method, found.confidence) == (9, "counts", "low")
    assert hits(text, found, "norm") == list(range(9))


def test_equal_counts_in_a_random_order_are_no_layers() -> None:
    generator = np.random.default_rng(3)
    found = cut(" ".join(generator.permutation(["a", "b", "c", "d", "e", "f"] * 12).tolist()))
    assert (found.layers, found.method) == (0, "none")


@pytest.mark.parametrize("text", ["", "one", "a b", "a b c d e f g", "copy " * 300, "a b a", "a " * 40 + "b " * 40])
def test_sequences_without_layers(text: str) -> None:
    found = cut(text)
    assert (found.layers, found.method, found.segments) == (0, "none", ())
    assert (found.layer == -1).all()


def test_a_long_loop_of_one_kernel_hides_no_layers() -> None:
    text = "copy " * 500 + L * 24 + "head"
    found = cut(text)
    assert found.layers == 24
    assert hits(text, found, "attn") == list(range(24))


def test_a_loop_inside_each_layer_is_no_layer() -> None:
    text = "embed " + (L + "expert_up expert_down " * 8) * 12 + "head"
    found = cut(text)
    assert found.layers == 12
    assert hits(text, found, "expert_up") == [layer for layer in range(12) for _ in range(8)]


@pytest.mark.parametrize("text", [L * 24, "embed " + (L + F) * 12 + "head", "embed " + L * 3 + M * 21 + "head"])
def test_the_users_count_that_the_trace_shows_changes_nothing(text: str) -> None:
    assert cut(text, 24).layer.tolist() == cut(text).layer.tolist()


def test_the_users_count_picks_among_segments_and_counts() -> None:
    encoder, decoder = "enc_norm enc_qkv enc_attn enc_out enc_up enc_down ", "norm qkv attn cross out up down "
    text = encoder * 18 + decoder * 24
    assert cut(text).layers == 42
    assert cut(text, 42).layers == 42
    only = cut(text, 24)
    assert (only.layers, hits(text, only, "enc_attn"), hits(text, only, "cross")) == (24, [-1] * 18, list(range(24)))
    by_count = cut("embed " + (L + F) * 12 + "head", 12)
    assert (by_count.layers, by_count.method, by_count.confidence) == (12, "user", "medium")
    assert hits("embed " + (L + F) * 12 + "head", by_count, "attn") == list(range(12))


def test_a_users_count_that_nothing_shows_leaves_what_the_trace_shows() -> None:
    assert cut(L * 24, 7).layers == 24


def opened(text: str, *norms: str) -> Layering:
    names = sorted(set(text.split()))
    return cut_sequence(numbered(text), names=Names(norms=np.array([name in norms for name in names])))


def test_a_layer_opens_with_the_norm_that_is_fused_into_the_end_of_the_one_before() -> None:
    text = "embed norm0 " + "qkv attn out norm2 up down add_norm " * 8 + "head"
    found = opened(text, "norm0", "norm2", "add_norm")
    assert found.layers == 8
    assert hits(text, found, "norm0") == [0]
    assert hits(text, found, "add_norm") == [*range(1, 8), -1]
    assert hits(text, found, "qkv") == hits(text, found, "down") == list(range(8))


def test_a_layer_opens_with_the_second_of_two_equal_norms() -> None:
    text = "embed norm0 " + "qkv attn out add_norm up down add_norm " * 8 + "head"
    found = opened(text, "norm0", "add_norm")
    assert hits(text, found, "norm0") == [0]
    assert hits(text, found, "add_norm") == [0, *[layer for layer in range(1, 8) for _ in range(2)], -1]


def test_layers_that_end_with_a_norm_keep_it_where_none_opens_the_first() -> None:
    text = "embed " + "qkv attn out norm2 up down norm " * 8 + "head"
    found = opened(text, "norm", "norm2")
    assert hits(text, found, "norm") == hits(text, found, "qkv") == list(range(8))
