"""An eager NVIDIA decode with a second stream: PDL overlaps on the main stream, a shared expert beside the routed ones.

SGLang-like: every step is launched kernel by kernel and ends with a copy of the tokens and a stream synchronisation.
Each layer forks after its second norm (event record, wait on the side stream) and joins before the reduction.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from sample_traces.make.devices import H100, cuda_copy, cuda_kernel
from sample_traces.make.durations import balanced
from sample_traces.make.recorder import Recorder
from sample_traces.make.timeline import Sync, Timeline

T0_NS = 5_118_030_771_000_207
LAYERS, STEPS, MAIN, SIDE = 24, 4, 7, 23
LATENCY_NS, GAP_NS, LONGEST_OVERLAP_NS = 4_800, 1_056, 3_000
ANNOTATION = "step[DECODE bs=8]"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the program; `pdl` ones may start before the one ahead of them on the stream has ended."""

    name: str
    median_ns: int
    grid: int
    block: int = 256
    pdl: bool = False
    side: bool = False


NORM = Kernel("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", 3_104, 8, 512, pdl=True)
BEFORE_FORK = (
    NORM,
    Kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 14_240, 96, 384),
    Kernel("void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 128u, 8u, 16u>", 3_392, 24, 128),
    Kernel("void store_kvcache<2048l, 4, true, long>", 2_816, 8, 128, pdl=True),
    Kernel(
        "void flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<1, 1, 1> > >", 22_624, 132, 384
    ),
    Kernel("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 11_808, 64, 384),
    NORM,
)
SIDE_BRANCH = (
    Kernel("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 18_432, 32, 384, side=True),
    Kernel("void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>", 2_944, 8, 512, side=True),
    Kernel("nvjet_tst_64x16_64x16_4x1_v_bz_TNT", 13_056, 40, 384, side=True),
)
MAIN_BRANCH = (
    Kernel("void topkGatingSoftmax<float, 4, 128, 4, 16, 32, int>", 4_608, 2, 128, pdl=True),
    Kernel("moe_align_block_size_kernel", 3_712, 2, 1024, pdl=True),
    Kernel("fused_moe_kernel", 31_744, 528, 128, pdl=True),
    Kernel("moe_sum_reduce_kernel", 3_904, 8, 512, pdl=True),
)
REDUCE = Kernel("void sglang::cross_device_reduce_1stage<__nv_bfloat16, 2>", 9_312, 36, 512)
EMBED = Kernel("void at::native::vectorized_gather_kernel<16, long>", 2_912, 8, 128)
LM_HEAD = Kernel("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", 142_336, 132, 384)
SAMPLE = Kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ArgMaxOps<float>>>", 11_200, 8, 512)


def _calls_per_step() -> dict[Kernel, int]:
    layer = (*BEFORE_FORK, *SIDE_BRANCH, *MAIN_BRANCH, REDUCE)
    counts = {kernel: layer.count(kernel) * LAYERS for kernel in layer}
    counts[NORM] += 1
    return {**counts, EMBED: 1, LM_HEAD: 1, SAMPLE: 1}


@dataclass(slots=True)
class _Run:
    """The state of the host thread and the two streams while the program is laid out."""

    recorder: Recorder = field(default_factory=lambda: Recorder(H100, LAYERS, pid=2094, first_correlation=31_007))
    rng: random.Random = field(default_factory=lambda: random.Random("two_streams"))
    host_ns: int = T0_NS
    ends: dict[int, int] = field(default_factory=lambda: {MAIN: 0, SIDE: 0})
    not_before: dict[int, int] = field(default_factory=lambda: {MAIN: 0, SIDE: 0})
    drawn: dict[Kernel, list[int]] = field(default_factory=dict)
    overlaps: list[int] = field(default_factory=list)

    def host_call(self, name: str, dur_ns: int, enqueues: bool = False, **args: object) -> int:
        correlation = self.recorder.call(name, self.host_ns, dur_ns, enqueues=enqueues, args=args)
        self.host_ns += dur_ns + self.rng.randrange(280, 460)
        return correlation

    def launch(self, step: int, layer: int | None, kernel: Kernel) -> int:
        stream, entered = (SIDE if kernel.side else MAIN), self.host_ns
        api, cbid = ("cudaLaunchKernelExC", 430) if kernel.pdl else ("cudaLaunchKernel", 211)
        correlation = self.host_call(api, self.rng.randrange(2_300, 2_700), enqueues=True, cbid=cbid)
        dur_ns = self.drawn[kernel].pop()
        start_ns = max(self.ready(kernel, stream, dur_ns), entered + LATENCY_NS, self.not_before[stream])
        if start_ns < self.ends[stream]:
            self.overlaps.append(self.ends[stream] - start_ns)
        args = cuda_kernel(stream, correlation, kernel.grid, kernel.block)
        place = {"step": step, "layer": layer, "stream": stream, "start_ns": start_ns, "correlation": correlation}
        self.ends[stream] = self.recorder.op(kernel.name, dur_ns=dur_ns, args=args, **place)
        self.not_before[stream] = 0
        return correlation

    def ready(self, kernel: Kernel, stream: int, dur_ns: int) -> int:
        """When the stream lets a kernel start: a gap after the one ahead, or with PDL up to 3 us before its end."""
        if not kernel.pdl:
            return self.ends[stream] + GAP_NS + self.rng.randrange(0, 288)
        return self.ends[stream] - min(LONGEST_OVERLAP_NS, dur_ns // 2, self.rng.randrange(640, 3_600))

    def edge(self, source: int, target: int) -> None:
        """Record an event on one stream and make the other wait for it."""
        recorded = self.host_call("cudaEventRecord", 690, cbid=135)
        entered = self.host_ns
        waiting = self.host_call("cudaStreamWaitEvent", 810, cbid=147)
        self.not_before[target] = self.ends[source] + GAP_NS
        on = {"wait_on_stream": source, "wait_on_cuda_event_record_corr_id": recorded, "wait_on_cuda_event_id": source}
        args = {**on, "stream": target}
        self.recorder.sync(Sync("Stream Wait Event", target, entered + 410, entered + 1_290, waiting, args))

    def finish(self, step: int) -> None:
        """Copy the tokens to the host and wait for them."""
        correlation = self.host_call("cudaMemcpyAsync", 3_870, enqueues=True, cbid=41)
        place = {"step": step, "stream": MAIN, "start_ns": self.ends[MAIN] + 1_312, "correlation": correlation}
        args = cuda_copy(MAIN, correlation, 64, 1_504)
        name = "Memcpy DtoH (Device -> Pinned)"
        self.ends[MAIN] = self.recorder.op(name, dur_ns=1_504, args=args, kind="memcpy", **place)
        entered = self.host_ns
        waited = self.host_call("cudaStreamSynchronize", self.ends[MAIN] + 3_410 - entered, cbid=131)
        self.recorder.sync(Sync("Stream Sync", MAIN, entered + 900, self.ends[MAIN] + 2_100, waited, {"stream": MAIN}))


def _one_step(run: _Run, index: int) -> None:
    step, opened = run.recorder.step("decode", ANNOTATION), run.host_ns
    run.drawn = {k: balanced(run.rng, n, k.median_ns, 0.02) for k, n in _calls_per_step().items()}
    run.host_ns += 46_300 + 1_170 * index
    run.launch(step, None, EMBED)
    for layer in range(LAYERS):
        for kernel in BEFORE_FORK:
            run.launch(step, layer, kernel)
        run.edge(MAIN, SIDE)
        for kernel in (*SIDE_BRANCH, *MAIN_BRANCH):
            run.launch(step, layer, kernel)
        run.edge(SIDE, MAIN)
        run.launch(step, layer, REDUCE)
    for kernel in (NORM, LM_HEAD, SAMPLE):
        run.launch(step, None, kernel)
    run.finish(step)
    run.recorder.range(ANNOTATION, opened, run.host_ns)
    run.host_ns += 118_400


def two_streams() -> tuple[Timeline, dict[str, object]]:
    """The sample, and what a reader must find beside the common truth: overlaps on one stream, and the edges."""
    run = _Run()
    for index in range(STEPS):
        _one_step(run, index)
    timeline = run.recorder.timeline()
    waits = sum(row.name == "Stream Wait Event" for row in timeline.syncs)
    overlaps = {"same_stream_overlaps": len(run.overlaps), "longest_same_stream_overlap_ns": max(run.overlaps)}
    return timeline, {**overlaps, "stream_wait_events": waits}
