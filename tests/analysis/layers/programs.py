"""Random models as sequences of kernel names, with the number of layers that they have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trace_budget.analysis.layers.names import names_of
from trace_budget.analysis.layers.sequence import Layering, cut_sequence

STYLES = (
    "norm qkv rope attn o_gemm gate_up silu down",
    "rms_norm_kernel nvjet_tst_128x64 rotary_embedding flash_fwd_splitkv nvjet_tst_64x64 nvjet_tst_256x64 act_and_mul"
    " nvjet_tst_64x128",
    "fused_add_rmsnorm Cijk_Alik_Bljk_MT128x64 rope_cached paged_attention_ll4mi Cijk_Alik_Bljk_MT64x64"
    " Cijk_Alik_Bljk_MT256x64 silu_and_mul Cijk_Alik_Bljk_MT64x128",
    "rms_norm_f32 mul_mat_vec_q4_K rope_neox flash_attn_ext_vec mul_mat_vec_q4_K mul_mat_vec_q4_K silu_mul_f32"
    " mul_mat_vec_q6_K",
    "triton_red_fused_rms gemm rope fmha_v2 gemm gemm swiglu gemm",
)
FORMATS = ("_q4_K", "_q5_K", "_q6_K", "_q8_0")
HEADS = (["embed"], ["embedding_kernel", "copy_pos"])
MOE = ["router_gemm", "topk_softmax", "moe_align", "fused_moe_kernel", "moe_act", "fused_moe_kernel_2", "moe_sum"]


@dataclass
class Model:
    """How one model's kernels are named; `mixed`: another number format in each layer."""

    rng: np.random.Generator
    style: list[str] = field(default_factory=list)
    fp8: bool = False
    mixed: bool = False

    def product(self, index: int) -> list[str]:
        """A matrix product, with the quantisation before it."""
        name = self.style[index]
        if self.mixed and "mul_mat" in name:
            name = name.rsplit("_q", 1)[0] + str(self.rng.choice(FORMATS))
        return [*(["quant_fp8"] if self.fp8 else []), name]

    def attention(self, full: bool = False, norms: bool = False) -> list[str]:
        """Norm, projections and attention; `full` runs another kernel and a reduction, `norms` those of q and k."""
        norm, rope, attn = self.style[0], self.style[2], self.style[3]
        inner = [norm, norm] if norms else []
        kernels = [attn + "_full", "reduce_segments"] if full else [attn]
        return [norm, *self.product(1), *inner, rope, *kernels, *self.product(4)]

    def cross(self, same: bool) -> list[str]:
        """Attention to an encoder, by the same kernel or another."""
        return [self.style[0], "q_gemm", self.style[3] + ("" if same else "_cross"), self.style[4]]

    def linear(self) -> list[str]:
        """Linear attention."""
        middle = ["gdn_causal_conv1d", "l2norm", "chunk_gated_delta", "gated_out"]
        return [self.style[0], *self.product(1), *middle, *self.product(4)]

    def state_space(self) -> list[str]:
        """A Mamba block."""
        return [self.style[0], "in_proj", "conv1d_update", "selective_scan", "o_mix"]

    def mlp(self) -> list[str]:
        """A dense MLP."""
        return [self.style[0], *self.product(5), self.style[6], *self.product(7)]

    def experts(self) -> list[str]:
        """Experts in place of it."""
        return [self.style[0], *MOE]


@dataclass(frozen=True)
class Program:
    """The kernels of one step, the layers it has, and how often it runs them all; None where no trace can tell."""

    kernels: list[str]
    layers: int | None
    passes: int = 1

    def cut(self, wanted: int | None = None) -> Layering:
        """As the analysis cuts it."""
        column = pl.Series(self.kernels, dtype=pl.Enum(list(dict.fromkeys(self.kernels))))
        return cut_sequence(column.to_physical().to_numpy().astype(np.int64), wanted, names_of(column))


def random_model(rng: np.random.Generator) -> Model:
    """A style of names, with or without quantisation."""
    style = STYLES[int(rng.integers(len(STYLES)))].split()
    return Model(rng, style, bool(rng.random() < 0.3), bool(rng.random() < 0.3))


def random_program(kind: str, seed: int) -> Program:
    """A program of one kind."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    count = int(rng.integers(12, 70))
    tails = ([model.style[0], "lm_head", "argmax"], ["final_norm", "logits_gemm", "sample", "copy"])
    head, tail = HEADS[int(rng.integers(2))], tails[int(rng.integers(2))]
    layers, truth = KINDS[kind](model, rng, count)
    kernels = [*head, *[name for layer in layers for name in layer], *tail]
    if kind == "token prediction":
        more = [*model.attention(), *model.experts()]
        return Program([*kernels, "mtp_embed", "enorm_rms", "hnorm_rms", "eh_proj", *more, *tail], truth)
    passes = int(rng.integers(2, 5)) if kind == "micro-batches" else 1
    return Program(kernels * passes, truth, passes)


Layers = tuple[list[list[str]], int | None]


def _dense(model: Model, rng: np.random.Generator, count: int) -> Layers:
    norms = bool(rng.random() < 0.5)
    return [model.attention(norms=norms) + model.mlp() for _ in range(count)], count


def _alternating(model: Model, rng: np.random.Generator, count: int) -> Layers:
    every = int(rng.integers(2, 8))
    return [model.attention(full=i % every == every - 1) + model.mlp() for i in range(count)], count


def _hybrid(model: Model, rng: np.random.Generator, count: int) -> Layers:
    every, norms = int(rng.integers(3, 9)), bool(rng.random() < 0.5)
    turn, count = int(rng.integers(every)), max(count, 4 * every)
    tail = model.experts if rng.random() < 0.5 else model.mlp
    return [
        (model.attention(norms=norms) if i % every == turn else model.linear()) + tail() for i in range(count)
    ], count


def _jamba(model: Model, rng: np.random.Generator, count: int) -> Layers:
    every = int(rng.choice([4, 6, 8]))
    turn, count = int(rng.integers(every)), every * int(rng.integers(4, 8))
    return [
        (model.attention() if i % every == turn else model.state_space()) + (model.experts() if i % 2 else model.mlp())
        for i in range(count)
    ], count


def _first_dense(model: Model, rng: np.random.Generator, count: int) -> Layers:
    dense = int(rng.integers(1, 5))
    return [model.attention() + (model.mlp() if i < dense else model.experts()) for i in range(count)], count


def _two_stacks(model: Model, rng: np.random.Generator, count: int) -> Layers:
    decoder, same = int(rng.integers(6, 33)), bool(rng.random() < 0.5)
    count = min(count, 32)
    encode = [model.attention() + model.mlp() for _ in range(count)]
    return encode + [model.attention() + model.cross(same) + model.mlp() for _ in range(decoder)], count + decoder


def _vision(model: Model, rng: np.random.Generator, count: int) -> Layers:
    tower = int(rng.integers(8, 33))
    one = ["layernorm", "vis_qkv", "vis_rope", "vis_flash", "vis_o", "layernorm", "vis_fc", "gelu", "vis_fc2"]
    between = [["patch_merge", "project", "embed_scatter"]]
    return [one] * tower + between + _dense(model, rng, count)[0], count + tower


def _zamba(model: Model, rng: np.random.Generator, count: int) -> Layers:
    every = int(rng.integers(2, 8))
    layers: list[list[str]] = []
    for _ in range(int(rng.integers(4, 10))):
        layers += [model.state_space() for _ in range(every)] + [["concat", *model.attention(), *model.mlp()]]
    return layers, None


def _nemotron(model: Model, rng: np.random.Generator, count: int) -> Layers:
    every = int(rng.integers(2, 6))
    layers: list[list[str]] = []
    for _ in range(int(rng.integers(3, 8))):
        layers += [model.state_space() + model.mlp() for _ in range(every)]
        layers += [model.state_space() + model.attention() + model.mlp()]
    return layers, None


def _state_spaces(model: Model, rng: np.random.Generator, count: int) -> Layers:
    return [model.state_space() for _ in range(count)], count


KINDS = {
    "dense": _dense,
    "sliding and full attention": _alternating,
    "linear and full attention": _hybrid,
    "state spaces, attention, experts": _jamba,
    "dense layers first": _first_dense,
    "encoder and decoder": _two_stacks,
    "vision tower": _vision,
    "a shared block": _zamba,
    "blocks that are layers": _nemotron,
    "state spaces alone": _state_spaces,
    "token prediction": _first_dense,
    "micro-batches": _dense,
}
