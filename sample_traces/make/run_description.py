"""One small decode run, described once: every format's `same_run.*` is written from it and must read back equal.

Three decode steps on one device. A step is one host range (`execute_context_0(0)_generation_1(1)`), one small
host-to-device copy and one graph launch that replays 4 layers x 5 kernels and a head. Two kernels differ in name only
by their tile shape. Kernels follow each other without gaps, as ROCm records them. Times are epoch nanoseconds beyond
2^53, so a reader that goes through float loses digits and fails the comparison.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

T0_NS = 1_712_195_495_604_628_867
STEP_NS = 1_000_000
STEPS = 3
LAYERS = 4
PID = 4242
TID = 4243
DEVICE = 0
STREAM = 7
QUEUE = 2
COPY_BYTES = 8_192
DEVICE_NAMES = {"hip": "AMD Instinct MI300X", "cuda": "NVIDIA H100 80GB HBM3", "dcu": "BW1000"}
MARKER = "execute_context_0(0)_generation_1(1)"
API_NAMES = {
    "hip": {"memcpy": "hipMemcpyAsync", "graph_launch": "hipGraphLaunch", "sync": "hipStreamSynchronize"},
    "cuda": {"memcpy": "cudaMemcpyAsync", "graph_launch": "cudaGraphLaunch", "sync": "cudaStreamSynchronize"},
}


@dataclass(frozen=True)
class Kernel:
    """A kernel of the model: `blocks` work-groups of `block` threads (ROCm records the grid in threads)."""

    name: str
    duration_ns: int
    blocks: tuple[int, int, int]
    block: tuple[int, int, int] = (256, 1, 1)

    @property
    def grid_threads(self) -> tuple[int, int, int]:
        return tuple(n * size for n, size in zip(self.blocks, self.block, strict=True))  # type: ignore[return-value]


@dataclass(frozen=True)
class Call:
    """A host API call; `correlation` is unique in the run and shared with the device work it enqueued."""

    correlation: int
    kind: str
    start_ns: int
    end_ns: int
    step: int


@dataclass(frozen=True)
class Op:
    """Work on the device. `kernel` is None for the copy. `node` is the node inside the graph, from 1."""

    kind: str
    name: str
    start_ns: int
    end_ns: int
    correlation: int
    step: int
    kernel: Kernel | None = None
    node: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Marker:
    """A host range around the calls of one step."""

    name: str
    start_ns: int
    end_ns: int
    step: int


@dataclass(frozen=True)
class Run:
    """Everything that happened, in time order."""

    ops: tuple[Op, ...]
    calls: tuple[Call, ...]
    markers: tuple[Marker, ...]


LAYER_KERNELS = (
    Kernel("rms_norm_kernel", 3_001, (1, 1, 1)),
    Kernel("gemm_bf16_MT64x32x64", 21_013, (72, 1, 1)),
    Kernel("paged_attention_kernel", 15_107, (32, 8, 1)),
    Kernel("gemm_bf16_MT128x32x64", 17_203, (36, 1, 1)),
    Kernel("silu_and_mul_kernel", 4_999, (11, 1, 1), (1024, 1, 1)),
)
HEAD_KERNEL = Kernel("lm_head_gemm_kernel", 88_881, (1187, 1, 1))


def described_run() -> Run:
    """The run: 66 device ops (63 kernels, 3 copies), 9 calls, 3 markers."""
    ops: list[Op] = []
    calls: list[Call] = []
    markers: list[Marker] = []
    for step in range(STEPS):
        base = T0_NS + step * STEP_NS
        copy_id, graph_id, sync_id = (10 * (step + 1) + offset for offset in (1, 2, 3))
        markers.append(Marker(MARKER, base, base + 90_000, step))
        calls.append(Call(copy_id, "memcpy", base + 5_003, base + 9_001, step))
        calls.append(Call(graph_id, "graph_launch", base + 12_007, base + 61_009, step))
        end = _device_step(ops, step, base, copy_id, graph_id)
        calls.append(Call(sync_id, "sync", base + 65_011, end + 2_003, step))
    return Run(tuple(ops), tuple(calls), tuple(markers))


def _device_step(ops: list[Op], step: int, base: int, copy_id: int, graph_id: int) -> int:
    start = base + 130_001
    ops.append(Op("memcpy", "HtoD", start, start + 1_999, copy_id, step, bytes=COPY_BYTES))
    start += 4_000
    for node, kernel in enumerate((*LAYER_KERNELS * LAYERS, HEAD_KERNEL), start=1):
        # the attention kernel grows with the context, so steps differ
        end = start + kernel.duration_ns + (7 * step if kernel.name == "paged_attention_kernel" else 0)
        ops.append(Op("kernel", kernel.name, start, end, graph_id, step, kernel, node))
        start = end
    return start


def truth(run: Run | None = None) -> dict[str, Any]:
    """What every reader must find: calls and summed ns per kernel name, spans, counts."""
    run = run or described_run()
    kernels = [op for op in run.ops if op.kind == "kernel"]
    calls = Counter(op.name for op in kernels)
    sums: Counter[str] = Counter()
    for op in kernels:
        sums[op.name] += op.end_ns - op.start_ns
    digest = hashlib.sha256(json.dumps([(op.name, op.start_ns, op.end_ns) for op in kernels]).encode()).hexdigest()
    return {
        "steps": STEPS,
        "layers": LAYERS,
        "kernels": len(kernels),
        "memcpys": len(run.ops) - len(kernels),
        "calls": len(run.calls),
        "markers": len(run.markers),
        "first_start_ns": min(op.start_ns for op in run.ops),
        "last_end_ns": max(op.end_ns for op in run.ops),
        "calls_by_kernel": dict(sorted(calls.items())),
        "sum_ns_by_kernel": dict(sorted(sums.items())),
        "kernels_per_graph_launch": len(kernels) // STEPS,
        "sha256_of_name_start_end": digest,
    }


def write_truth(path: Path, facts: dict[str, Any]) -> None:
    """Write `<case>.truth.json` beside a sample."""
    path.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
