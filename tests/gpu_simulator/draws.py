"""Random durations and costs of one program: the same for the same kind and seed, on every machine."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from gpu_simulator.program import Kernel

NAMES = (
    "fused_add_rms_norm",
    "qkv_proj_gemm",
    "rotary_embedding",
    "reshape_and_cache",
    "paged_attention",
    "attention_reduce",
    "o_proj_gemm",
    "router_gemm",
    "topk_gating",
    "moe_gate_up_gemm",
    "silu_and_mul",
    "moe_down_gemm",
    "moe_sum",
    "shared_gate_up_gemm",
    "shared_silu",
    "shared_down_gemm",
)


@dataclass(frozen=True, slots=True)
class KernelType:
    """A kernel of the model: its typical time and how far its calls scatter (1-2 %)."""

    name: str
    median_ns: int
    spread: float


class Draws:
    """The random numbers of a program, drawn in bulk."""

    def __init__(self, kind: str, seed: int) -> None:
        self._rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
        self._normals: list[float] = []
        self._uniforms: list[float] = []

    def normal(self) -> float:
        """A standard normal number."""
        if not self._normals:
            self._normals = self._rng.standard_normal(2_048).tolist()
        return self._normals.pop()

    def between(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        if not self._uniforms:
            self._uniforms = self._rng.random(2_048).tolist()
        return low + (high - low) * self._uniforms.pop()

    def whole(self, low: int, high: int) -> int:
        """An integer in low ... high, both possible."""
        return low + math.floor((high - low + 1) * self.between(0, 1))

    def cost_ns(self, median_ns: float, sigma: float = 0.35) -> int:
        """A host cost: lognormal, as host times are."""
        return max(100, round(median_ns * math.exp(sigma * self.normal())))

    def lag_ns(self) -> int:
        """The dispatch gap between two kernels, or the lag of an event: 0.7 to 1.3 us."""
        return round(self.between(700, 1_300))

    def types(self, floor_ns: int, typical_ns: int) -> dict[str, KernelType]:
        """The kernels of the model, from a few us to some tens."""
        medians = {name: max(floor_ns, min(90_000, self.cost_ns(typical_ns, 0.9))) for name in NAMES}
        return {name: KernelType(name, ns, self.between(0.01, 0.02)) for name, ns in medians.items()}

    def kernel(self, of: KernelType, layer: int | None, collective: int | None = None) -> Kernel:
        """One call of a kernel."""
        work_ns = max(300, round(of.median_ns * (1.0 + of.spread * self.normal())))
        return Kernel(of.name, work_ns, layer, collective=collective)
