"""A small eager program of two layers, the base of the samples of other eras and of the broken files."""

from __future__ import annotations

import random

from sample_traces.make.devices import H100, cuda_kernel
from sample_traces.make.durations import balanced
from sample_traces.make.recorder import Recorder
from sample_traces.make.timeline import Timeline

LAYERS, STEPS, STREAM = 2, 3, 7
LAYER = (
    ("rms_norm_kernel", 3_000),
    ("qkv_gemm_kernel", 14_000),
    ("attention_kernel", 21_000),
    ("mlp_gemm_kernel", 40_000),
)
HEAD = ("lm_head_gemm_kernel", 90_000)


def small(t0_ns: int, grid_ns: int = 1) -> Timeline:
    """Three decode steps, launched kernel by kernel; all times lie on a grid of `grid_ns`."""
    rng, recorder = random.Random("small"), Recorder(H100, LAYERS, pid=77, first_correlation=500)
    host_ns = device_ns = t0_ns
    for _ in range(STEPS):
        step, opened = recorder.step("decode", "execute_context_0(0)_generation_4(4)"), host_ns
        program = [(name, layer, ns) for layer in range(LAYERS) for name, ns in LAYER] + [(HEAD[0], None, HEAD[1])]
        jitter = {name: balanced(rng, 2, ns // grid_ns, 0.05) for name, _, ns in program}
        host_ns += 30_000
        for name, layer, _ in program:
            correlation = recorder.call("cudaLaunchKernel", host_ns, 3_000, enqueues=True, args={"cbid": 211})
            place = {"step": step, "layer": layer, "stream": STREAM, "correlation": correlation}
            start_ns, args = max(host_ns + 5_000, device_ns + 1_000), cuda_kernel(STREAM, correlation, 64, 128)
            dur_ns = jitter[name].pop() * grid_ns
            device_ns = recorder.op(name, start_ns=start_ns, dur_ns=dur_ns, args=args, **place)
            host_ns += 4_000
        recorder.call("cudaDeviceSynchronize", host_ns, device_ns + 4_000 - host_ns, args={"cbid": 165})
        host_ns = device_ns + 4_000
        recorder.range("execute_context_0(0)_generation_4(4)", opened, host_ns)
        host_ns += 20_000
    return recorder.timeline()
