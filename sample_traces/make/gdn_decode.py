"""The founding cases on a Hygon DCU (gfx936): a 64-layer hybrid model, decode by HIP graph replay, 44 ms a token.

Every fourth layer has full attention, the other 48 are gated-delta-net layers with the three kernels of the founding
cases. vLLM with asynchronous scheduling: the host prepares a step while the device still runs the one before.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from sample_traces.make.devices import BW1000, rocm_copy, rocm_kernel, rocm_task
from sample_traces.make.durations import balanced, slower
from sample_traces.make.recorder import Recorder
from sample_traces.make.timeline import Timeline

T0_NS = 4_201_337_512_000_413
INTERVALS_NS = (44_000_000 - 31_240, 44_000_000 + 12_480, 44_000_000 - 12_480, 44_000_000 + 57_310)
WARM_UP_FACTOR = 1.07
NODE_COST_NS = 1_200
COPY_STREAM = 3

_ADD_NORM = (
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, "
    "c10::BFloat16 const*, float, int, int)"
)
_NORM = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, float, int, int)"
_SILU = (
    "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>"
    "(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)"
)
_CACHE = "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>"
_EMBED = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
_ARGMAX = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, "
    "unsigned int, long, 4, 4> >"
)


def _gemm(tile: str, waves: int) -> str:
    """A Tensile kernel name of gfx936."""
    return (
        f"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0"
        f"_DTLA0_DTLB0_EPS0_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA936_IU1_K1_LBSPPA128_LBSPPB128_LPA16_LPB16_LRVW8_MIWT1_1"
        f"_NEPBS16_NLCA1_NLCB1_ONLL1_PGR2_PLR1_SIA3_SS1_SU32_TLDS1_VWA1_VWB1_WSGRA0_WSGRB0_WS64_WG64_{waves}_1"
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the program: its median time and how far calls scatter; grid and block only show outside graphs."""

    name: str
    median_ns: int
    spread: float = 0.02
    grid: int = 1
    block: int = 256


QKVZ = Kernel(_gemm("16x64x256", 4), 138_400, 0.01)
QKV = Kernel(_gemm("16x48x256", 4), 118_640, 0.01)
O_PROJ = Kernel(_gemm("16x32x512", 2), 52_720, 0.01)
GATE_UP = Kernel(_gemm("16x128x128", 4), 254_690, 0.006)
DOWN = Kernel(_gemm("16x32x256", 4), 140_200, 0.008)
ADD_NORM = Kernel(_ADD_NORM, 6_320)
FIRST_NORM = Kernel(_NORM, 5_920)
MLP = (ADD_NORM, GATE_UP, Kernel(_SILU, 7_520), DOWN)
LINEAR_LAYER = (
    ADD_NORM,
    QKVZ,
    Kernel(_gemm("16x16x256", 1), 9_840),
    Kernel("_causal_conv1d_update_kernel", 8_160),
    Kernel("gdn_fused", 20_272),
    Kernel("gdr_split", 12_936),
    Kernel("layer_norm_fwd_kernel", 6_080),
    Kernel("gdn_out_proj", 55_040, 0.01),
    *MLP,
)
ATTENTION_LAYER = (
    ADD_NORM,
    QKV,
    Kernel("triton_red_fused_qk_rmsnorm_rope_1", 8_880),
    Kernel(_CACHE, 5_920),
    Kernel("kernel_unified_attention_3d", 41_360, 0.04),
    Kernel("reduce_segments", 6_480),
    Kernel("triton_poi_fused_mul_sigmoid_2", 5_760),
    O_PROJ,
    *MLP,
)
PATTERN = (LINEAR_LAYER, LINEAR_LAYER, LINEAR_LAYER, ATTENTION_LAYER)
EMBED = Kernel(_EMBED, 6_880)
SLOTS = Kernel("_compute_slot_mapping_kernel", 5_160, grid=16)
LM_HEAD = Kernel(_gemm("16x256x64", 4), 1_412_000, 0.004, grid=3104)
ARGMAX = Kernel(_ARGMAX, 31_480, block=512)


def graph_nodes(layers: int) -> list[tuple[Kernel, int | None]]:
    """The captured graph in order: kernel and layer; the first layer has no residual to add yet."""
    nodes: list[tuple[Kernel, int | None]] = [(EMBED, None)]
    for layer in range(layers):
        kernels = PATTERN[layer % len(PATTERN)]
        nodes += [(FIRST_NORM if layer == 0 and i == 0 else k, layer) for i, k in enumerate(kernels)]
    return [*nodes, (ADD_NORM, None)]


class _Run:
    """Lays out the steps one after the other."""

    def __init__(self, layers: int, seed: str) -> None:
        self.rng = random.Random(seed)
        self.nodes = graph_nodes(layers)
        self.recorder = Recorder(BW1000, layers, pid=1187, first_correlation=90_211)

    def durations(self, factor: float) -> dict[str, list[int]]:
        """For every kernel of the graph, the durations of its calls in one step."""
        kernels = {kernel.name: kernel for kernel, _ in self.nodes}
        counts = {name: sum(kernel.name == name for kernel, _ in self.nodes) for name in kernels}
        drawn = {n: balanced(self.rng, counts[n], k.median_ns, k.spread) for n, k in kernels.items()}
        return drawn if factor == 1.0 else {name: slower(values, factor) for name, values in drawn.items()}

    def host(self, annotation: str, at_ns: int) -> dict[str, int]:
        """The host side of a step: its annotation opens, enqueues everything and closes; returns correlations."""
        rec, at = self.recorder, at_ns + 214_600
        size = {"cid": 134, "bytes": "4096", "kind": "1"}
        ids = {"inputs": rec.call("hipMemcpyAsync", at, 10_450, enqueues=True, args=size)}
        at += 388_120
        ids["slots"] = rec.call("hipModuleLaunchKernel", at, 7_970, enqueues=True, args={"cid": 169})
        at += 96_340
        rec.call("hipStreamIsCapturing", at, 1_060, args={"cid": 290})
        replay_ns = NODE_COST_NS * len(self.nodes)
        ids["graph"] = rec.call("hipGraphLaunch", at + 2_900, replay_ns, args={"cid": 215})
        at += replay_ns + 141_770
        ids["head"] = rec.call("hipExtModuleLaunchKernel", at, 7_610, enqueues=True, args={"cid": 65})
        ids["argmax"] = rec.call("hipLaunchKernel", at + 152_980, 5_990, enqueues=True, args={"cid": 107})
        copy = {"cid": 134, "bytes": "8", "kind": "2"}
        ids["tokens"] = rec.call("hipMemcpyAsync", at + 203_410, 9_230, enqueues=True, args=copy)
        rec.range("aten::copy_", at_ns + 203_000, at_ns + 231_400, "cpu_op")
        rec.range(annotation, at_ns, at + 268_730)
        return {**ids, "closes": at + 268_730}

    def device(self, step: int, ids: dict[str, int], at_ns: int, factor: float) -> int:
        """The device side of a step from `at_ns` on; returns the end of the token copy."""
        rec, graph = self.recorder, ids["graph"]
        at = self.copy("Memcpy HtoD (Host -> Device)", step, ids["inputs"], at_ns)
        at = self.eager(SLOTS, step, ids["slots"], at + 2_040, factor)
        drawn = self.durations(factor)
        at += 9_640
        for kernel, layer in self.nodes:
            place = {"step": step, "layer": layer, "stream": 0, "start_ns": at, "correlation": graph}
            at = rec.op(kernel.name, dur_ns=drawn[kernel.name].pop(), args=rocm_task(0, graph), **place)
        at = self.eager(LM_HEAD, step, ids["head"], at, factor)
        at = self.eager(ARGMAX, step, ids["argmax"], at, factor)
        return self.copy("Memcpy DtoH (Device -> Host)", step, ids["tokens"], at + 3_280)

    def eager(self, kernel: Kernel, step: int, correlation: int, at_ns: int, factor: float) -> int:
        """A kernel outside the graph."""
        dur_ns = round(kernel.median_ns * factor * (1 + self.rng.uniform(-kernel.spread, kernel.spread) / 10))
        args = rocm_kernel(0, correlation, kernel.grid, kernel.block)
        place = {"step": step, "stream": 0, "start_ns": at_ns, "correlation": correlation}
        return self.recorder.op(kernel.name, dur_ns=dur_ns, args=args, **place)

    def copy(self, name: str, step: int, correlation: int, at_ns: int) -> int:
        """A small copy: inputs on the main stream, tokens on the copy stream."""
        stream, size, dur_ns = (0, 4096, 3_520) if "HtoD" in name else (COPY_STREAM, 8, 4_520)
        args = rocm_copy(stream, correlation, name[7:11], size, dur_ns=dur_ns)
        place = {"step": step, "stream": stream, "start_ns": at_ns, "correlation": correlation}
        return self.recorder.op(name, dur_ns=dur_ns, args=args, kind="memcpy", **place)


def gdn_decode(layers: int = 64, intervals_ns: tuple[int, ...] = INTERVALS_NS, seed: str = "gdn_decode") -> Timeline:
    """One slower warm-up step and then one step more than there are intervals between measured steps."""
    run = _Run(layers, seed)
    annotation = "execute_context_0(0)_generation_1(1)"
    opens, starts, ended = T0_NS, T0_NS + 8_414_078, T0_NS
    for index in range(len(intervals_ns) + 2):
        warm = index == 0
        step = run.recorder.step("decode", annotation, warm)
        ids = run.host(annotation, opens)
        waits = ids["closes"] + 61_300
        if index:
            run.recorder.call("hipEventSynchronize", waits, ended + 8_870 - waits, args={"cid": 60})
        opens = ids["closes"] + 1_204_900 if warm else ended + 205_310
        ended = run.device(step, ids, starts, WARM_UP_FACTOR if warm else 1.0)
        starts = ended + 96_410 if warm or index > len(intervals_ns) else starts + intervals_ns[index - 1]
    last = ended - 9_412_000
    run.recorder.call("hipEventSynchronize", last, ended + 8_870 - last, args={"cid": 60})
    return run.recorder.timeline()
