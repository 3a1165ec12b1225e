"""Graph-capture traces written by hand: a model of layers, its operators and modules, and the launches made in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BASE_US = 6_520_430_064_000
KERNELS = ("norm_kernel", "gemm_kernel", "attention_kernel")
OPERATORS = ("aten::rms_norm", "aten::linear", "vllm::attention")


@dataclass(slots=True)
class Writer:
    """Collects events; `now` is the time in us since the begin of the file."""

    events: list[dict[str, Any]]
    now: int = 0

    def add(self, category: str, name: str, start: int, length: int, tid: int = 7, **args: object) -> None:
        at = {"ts": BASE_US + start, "dur": length, "pid": 1, "tid": tid}
        self.events.append({"ph": "X", "cat": category, "name": name, **at, "args": args})


def capture_file(
    path: Path,
    layers: int,
    *,
    kernels: Sequence[str] = KERNELS,
    named: bool = True,
    modules: bool = True,
    capture_calls: bool = True,
    label: str = "capture_32_FULL",
    extra_size: int | None = None,
) -> Path:
    """A file with one captured graph of `layers` layers behind an embedding; `extra_size` adds one of other layers."""
    writer = Writer([])
    for index, count in enumerate([layers, *([extra_size] if extra_size else [])]):
        begin = writer.now
        _graph(writer, count, kernels if named else (), kernels, modules, capture_calls)
        writer.add("user_annotation", label if index == 0 else f"capture_other_{count}", begin, writer.now - begin)
        writer.now += 100
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": writer.events}))
    return path


def _graph(
    writer: Writer, layers: int, names: Sequence[str], kernels: Sequence[str], modules: bool, calls: bool
) -> None:
    begin = writer.now
    writer.now += 1
    if calls:
        writer.add("cuda_runtime", "hipStreamBeginCapture", writer.now, 1)
    writer.now += 2
    _launch(writer, "aten::embedding", "embedding_kernel" if names else None, "[[32], [1000, 64]]")
    for layer in range(layers):
        start = writer.now
        for position, operator in enumerate(OPERATORS[: len(kernels)]):
            _launch(writer, operator, names[position] if names else None, f"[[32, {64 + position}]]")
        if modules:
            writer.add("python_function", f"nn.Module: DecoderLayer_{layer}", start, writer.now - start)
    if modules:
        writer.add("python_function", "nn.Module: Model_0", begin, writer.now + 1 - begin)
    writer.add("cuda_runtime", "hipStreamEndCapture", writer.now + 2, 1) if calls else None
    writer.now += 5


def _launch(writer: Writer, operator: str, kernel: str | None, dims: str) -> None:
    """An operator with one launch in it, and one that launches nothing."""
    start = writer.now
    writer.add("cpu_op", operator, start, 10, **{"Input Dims": json.loads(dims)})
    writer.add("cpu_op", "aten::empty", start + 1, 2, **{"Input Dims": []})
    args = {"kernel": kernel} if kernel else {}
    writer.add("cuda_runtime", "hipModuleLaunchKernel", start + 4, 3, correlation=start, **args)
    writer.now += 11
