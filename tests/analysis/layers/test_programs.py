"""Models of many structures: the number of layers is right, or said to be unknown where no trace can tell."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.layers.programs import KINDS, Program, random_program

SEEDS = 12


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_are_as_many_as_the_model_has(kind: str, seed: int) -> None:
    program = random_program(kind, seed)
    found = program.cut()
    assert (found.layers or None, found.passes) == (program.layers, program.passes), (kind, seed)
    if program.layers is None:
        assert len(found.possible) > 1
        assert (found.layer == -1).all()


@pytest.mark.parametrize(
    "kind", ["linear and full attention", "state spaces, attention, experts", "dense layers first"]
)
def test_every_layer_mixes_tokens_once_and_opens_with_its_norm(kind: str) -> None:
    for seed in range(SEEDS):
        program = random_program(kind, seed)
        found = program.cut()
        mixers = [
            layer
            for name, layer in zip(program.kernels, found.layer.tolist(), strict=True)
            if any(part in name for part in ("attn", "flash", "fmha", "paged", "selective_scan", "chunk_gated_delta"))
        ]
        assert mixers == list(range(found.layers)), (kind, seed)
        first = np.flatnonzero(np.diff(found.layer, prepend=-1) > 0)
        assert {("norm" in program.kernels[at]) or ("rms" in program.kernels[at]) for at in first.tolist()} == {True}


@pytest.mark.parametrize("seed", range(4))
def test_the_users_number_tells_where_the_trace_cannot(seed: int) -> None:
    program = random_program("a shared block", seed)
    mixers = program.kernels.count("selective_scan")
    found = program.cut(mixers)
    assert (found.layers, found.shown) == (mixers, None)
    assert program.cut(mixers + 1).layers != mixers


def test_passes_number_their_layers_alike() -> None:
    program = random_program("micro-batches", 3)
    found = program.cut()
    layers = found.layer.reshape(program.passes, -1)
    assert (layers == layers[0]).all()
    assert layers.max() + 1 == program.layers


def test_a_draft_models_layers_are_not_the_models() -> None:
    target = [
        "embed",
        *(["norm", "t_qkv", "t_attn", "o", "norm", "up", "silu", "down"] * 24),
        "norm",
        "lm_head",
        "argmax",
    ]
    draft = [
        "d_embed",
        *(["d_norm", "d_qkv", "d_attn", "d_o", "d_norm", "d_up", "d_silu", "d_down"] * 6),
        "d_norm",
        "d_lm_head",
    ]
    program = random_program("dense", 0)
    assert type(program)(target + draft, 24).cut().layers == 24


@pytest.mark.parametrize("tail", [["lm_head"], ["lm_head", "rms_norm", "rms_norm"], ["rms_norm", "lm_head", "argmax"]])
def test_layers_whose_only_norm_is_inside(tail: list[str]) -> None:
    program = Program(["embed", "rms_norm", *["qkv_gemm", "attn", "rms_norm", "mlp"] * 24, *tail], 24)
    assert program.cut().layers == 24
