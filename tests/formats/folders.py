"""Folders as profilers leave them, made of small traces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from formats.answers import SAMPLES
from kineto_texts import annotation, call, kernel

STEP_US, STEPS, LAYERS = 1_000, 4, 3
CAPTURE = "graph_capture_rank_0.1773709742.pt.trace.json"


def rank_events(rank: int) -> list[dict[str, object]]:
    """Four decode steps of three layers; the higher rank is slower by 10 us a layer, both meet in a collective."""
    events: list[dict[str, object]] = []
    for step in range(STEPS):
        base, correlation = STEP_US * (step + 1), 100 * (step + 1)
        events.append(annotation("execute_context_0(0)_generation_8(8)", base, 500))
        at = base + 50
        for layer in range(LAYERS):
            for index, (name, us) in enumerate((("gemm", 60 + 10 * rank), ("norm", 5), (NCCL, 40 - 10 * rank))):
                launched = correlation + 3 * layer + index
                events.append(call("cudaLaunchKernel", base + 3 * (3 * layer + index), 2, correlation=launched))
                events.append(kernel(name, at, us, correlation=launched))
                at += us
    return events


NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank_text(rank: int, *, told: bool = True, late: bool = False, world_size: int = 2) -> str:
    """A Kineto file of one rank; `late`: the job is described behind the events, as before 2025."""
    job = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size}} if told else {}
    head, events = {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000}, rank_events(rank)
    document = {**head, "traceEvents": events, **job} if late else {**head, **job, "traceEvents": events}
    return json.dumps(document)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def copied(folder: Path, files: dict[str, str]) -> Path:
    """Samples under other names: {new name: sample}."""
    for name, sample in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLES / sample, path)
    return folder
