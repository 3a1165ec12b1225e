"""Decode, prefill and mixed steps of a dense-then-MoE model: CUDA graph replays with node ids, and eager steps.

Three dense layers come before 21 MoE layers, and the head kernel runs once a step. Decode steps replay one graph;
the prefill and the mixed step are launched kernel by kernel and share only some kernels with the decode steps.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from sample_traces.make.devices import H100, cuda_copy, cuda_kernel, cuda_node
from sample_traces.make.durations import balanced
from sample_traces.make.recorder import Recorder
from sample_traces.make.timeline import Timeline

T0_NS = 6_640_200_118_000_731
DENSE_LAYERS, LAYERS, STREAM, GRAPH = 3, 24, 7, 11
STEPS = (
    ("decode", "execute_context_0(0)_generation_8(8)", 1.0),
    ("decode", "execute_context_0(0)_generation_8(8)", 1.0),
    ("prefill", "execute_context_1(2048)_generation_0(0)", 9.0),
    ("decode", "execute_context_0(0)_generation_8(8)", 1.0),
    ("mixed", "execute_context_1(512)_generation_8(8)", 4.0),
    ("decode", "execute_context_0(0)_generation_8(8)", 1.0),
    ("decode", "execute_context_0(0)_generation_8(8)", 1.0),
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the program; `grows` ones take longer the more tokens a step has."""

    name: str
    median_ns: int
    grid: int
    block: int = 256
    grows: bool = True


NORM = Kernel("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", 2_880, 8, 512, grows=False)
ROPE = Kernel("triton_poi_fused_cat_index_mul_sub_1", 2_304, 16, 128, grows=False)
QKV = Kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 12_352, 96, 384)
MLA_DECODE = Kernel(
    "void flash::flash_fwd_splitkv_mla_kernel<flash::Flash_fwd_mla_kernel_traits_bf16>", 18_944, 132, 256
)
MLA_COMBINE = Kernel("void flash::flash_fwd_splitkv_mla_combine_kernel<float, 512, 32>", 3_200, 16, 256)
MLA_PREFILL = Kernel("void flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<3, 192, 128>>", 31_232, 132, 384)
O_PROJ = Kernel("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 10_304, 64, 384)
DENSE_UP = Kernel("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 41_472, 132, 384)
DENSE_ACT = Kernel("triton_poi_fused_mul_silu_2", 2_752, 64, 128)
DENSE_DOWN = Kernel("nvjet_tst_64x16_64x16_4x1_v_bz_TNT", 22_592, 80, 384)
ROUTER = Kernel("void vllm::moe::grouped_topk_fused_kernel<float, __nv_bfloat16, int>", 4_928, 8, 128)
ALIGN = Kernel("void vllm::moe::moe_align_block_size_kernel<int>", 3_456, 2, 1024, grows=False)
EXPERTS = Kernel("fused_moe_kernel", 38_208, 528, 128)
COMBINE = Kernel("void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>", 3_520, 8, 512)
EMBED = Kernel("triton_poi_fused_embedding_3", 2_112, 8, 128, grows=False)
HEAD = Kernel("lm_head_fp8_gemm_kernel", 96_640, 1010, 384, grows=False)
SAMPLE = Kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ArgMaxOps<float>>>", 9_984, 8, 512)


def _layer(index: int, phase: str) -> tuple[Kernel, ...]:
    """The kernels of one layer; a mixed step runs both attention kernels."""
    attention = {
        "decode": (MLA_DECODE, MLA_COMBINE),
        "prefill": (MLA_PREFILL,),
        "mixed": (MLA_PREFILL, MLA_DECODE, MLA_COMBINE),
    }[phase]
    dense = (DENSE_UP, DENSE_ACT, DENSE_DOWN)
    block = dense if index < DENSE_LAYERS else (ROUTER, ALIGN, EXPERTS, EXPERTS, COMBINE)
    return (NORM, QKV, ROPE, *attention, O_PROJ, NORM, *block)


def _program(phase: str) -> list[tuple[Kernel, int | None]]:
    """Kernel and layer of everything the graph holds, or the eager step launches."""
    body = [(kernel, layer) for layer in range(LAYERS) for kernel in _layer(layer, phase)]
    return [(EMBED, None), *body, (NORM, None)]


class _Run:
    """Host and device times while the steps are laid out."""

    def __init__(self) -> None:
        self.rng = random.Random("once_per_step")
        self.recorder = Recorder(H100, LAYERS, pid=5521, first_correlation=812_300)
        self.host_ns, self.device_ns = T0_NS, T0_NS
        self.drawn: dict[Kernel, list[int]] = {}

    def draw(self, kernels: list[Kernel], factor: float) -> None:
        """Draw the durations of a step's calls."""
        for kernel in dict.fromkeys(kernels):
            median_ns = round(kernel.median_ns * (factor if kernel.grows else 1.0))
            self.drawn[kernel] = balanced(self.rng, kernels.count(kernel), median_ns, 0.02)

    def call(self, name: str, dur_ns: int, cbid: int) -> tuple[int, int]:
        """A host call that enqueues work; returns its correlation and the first instant its work can start."""
        at = self.host_ns
        self.host_ns += dur_ns + self.rng.randrange(400, 900)
        return self.recorder.call(name, at, dur_ns, enqueues=True, args={"cbid": cbid}), at + 4_800

    def place(self, step: int, kernel: Kernel, layer: int | None, correlation: int, **rest: object) -> None:
        """Put one kernel behind the work ahead of it; `rest` may hold its node in the graph and a release time."""
        gap_ns = 928 + self.rng.randrange(0, 160)
        start_ns = max(self.device_ns + gap_ns, int(str(rest.get("release_ns", 0))))
        shape = (STREAM, correlation, kernel.grid, kernel.block)
        node = rest.get("node")
        args = cuda_kernel(*shape) if node is None else cuda_node(*shape, graph=GRAPH, node=int(str(node)))
        where = {"step": step, "layer": layer, "stream": STREAM, "start_ns": start_ns, "correlation": correlation}
        self.device_ns = self.recorder.op(kernel.name, dur_ns=self.drawn[kernel].pop(), args=args, **where)

    def replay(self, step: int, program: list[tuple[Kernel, int | None]]) -> None:
        """One graph launch for the whole program."""
        correlation, release_ns = self.call("cudaGraphLaunch", 61_400, 311)
        for node, (kernel, layer) in enumerate(program):
            self.place(step, kernel, layer, correlation, node=node, release_ns=release_ns)

    def eager(self, step: int, program: list[tuple[Kernel, int | None]]) -> None:
        """One launch for each kernel."""
        for kernel, layer in program:
            correlation, release_ns = self.call("cudaLaunchKernel", self.rng.randrange(2_600, 3_400), 211)
            self.place(step, kernel, layer, correlation, release_ns=release_ns)

    def finish(self, step: int) -> None:
        """Copy the tokens and wait for them, outside the annotation."""
        correlation, _ = self.call("cudaMemcpyAsync", 3_610, 41)
        where = {"step": step, "stream": STREAM, "start_ns": self.device_ns + 1_280, "correlation": correlation}
        args, name = cuda_copy(STREAM, correlation, 64, 1_472), "Memcpy DtoH (Device -> Pinned)"
        self.device_ns = self.recorder.op(name, dur_ns=1_472, args=args, kind="memcpy", **where)
        self.recorder.call(
            "cudaEventSynchronize", self.host_ns, self.device_ns + 3_290 - self.host_ns, args={"cbid": 137}
        )
        self.host_ns = self.device_ns + 3_290 + 141_700


def once_per_step() -> Timeline:
    """Seven steps; one head kernel and one sampling kernel in each, launched outside the graph."""
    run = _Run()
    for phase, annotation, factor in STEPS:
        step, opened = run.recorder.step(phase, annotation), run.host_ns
        program = _program(phase)
        run.draw([kernel for kernel, _ in program] + [HEAD, SAMPLE], factor)
        run.host_ns += 212_600
        (run.replay if phase == "decode" else run.eager)(step, program)
        run.eager(step, [(HEAD, None), (SAMPLE, None)])
        run.recorder.range(annotation, opened, run.host_ns + 18_300)
        run.host_ns += 22_000
        run.finish(step)
    return run.recorder.timeline()
