"""Decode-like loops on PyTorch: eager, graph, two streams, launch-bound, running ahead; one kernel's length is a knob.

The knob is `torch.cuda._sleep(cycles)`, a kernel that spins for so many cycles of the device; what runs around it are
matrix products, which no loop changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LAYERS, WIDTH = 24, 2_048
KNOB = "spin_kernel"  # a part of the name of torch.cuda._sleep's kernel, on CUDA and on HIP


@dataclass(frozen=True, slots=True)
class Loop:
    """`step(cycles)` enqueues one step; `waits` says whether the host waits for each, `small` takes tiny products."""

    name: str
    make: Callable[[Any, int], Callable[[], None]]
    waits: bool = True


def _layer(torch: Any, state: Any, weight: Any, cycles: int) -> Any:
    torch.cuda._sleep(cycles)
    return torch.mm(state, weight)


def _tensors(torch: Any, width: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    return torch.randn(16, width, device="cuda"), torch.randn(width, width, device="cuda") / width


def eager(torch: Any, cycles: int) -> Callable[[], None]:
    """One launch a kernel on one stream; the device is the slower side."""
    state, weight = _tensors(torch, WIDTH)

    def step() -> None:
        for _ in range(LAYERS):
            _layer(torch, state, weight, cycles)

    return step


def graph(torch: Any, cycles: int) -> Callable[[], None]:
    """The same captured once and replayed."""
    body = eager(torch, cycles)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        body()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        body()
    replay: Callable[[], None] = captured.replay
    return replay


def two_streams(torch: Any, cycles: int) -> Callable[[], None]:
    """The knob beside a longer product: most of its time is hidden."""
    state, weight = _tensors(torch, 4 * WIDTH)
    side = torch.cuda.Stream()

    def step() -> None:
        for _ in range(LAYERS // 2):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.cuda._sleep(cycles)
            for _ in range(3):
                torch.mm(state, weight)
            torch.cuda.current_stream().wait_stream(side)

    return step


def launch_bound(torch: Any, cycles: int) -> Callable[[], None]:
    """Many tiny kernels between the knobs: the host is the slower side."""
    state, _ = _tensors(torch, 64)

    def step() -> None:
        for _ in range(LAYERS):
            torch.cuda._sleep(max(cycles // 20, 1))
            for _ in range(8):
                state.add_(1.0)

    return step


LOOPS = (
    Loop("eager", eager),
    Loop("graph", graph),
    Loop("two_streams", two_streams),
    Loop("launch_bound", launch_bound),
    Loop("async", graph, waits=False),
)
