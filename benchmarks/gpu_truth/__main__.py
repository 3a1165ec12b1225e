"""Predicts from a profile, then really shortens the kernel and measures without a profiler.

    python -m benchmarks.gpu_truth [--loops eager,graph] [--steps 60] [--runs 6] [--write docs/method/validation.md]

For each loop: some steps are profiled, `project` is asked what a shorter kernel gives, the kernel is made shorter, and
both versions run in turns. Ends with one line where there is no accelerator or no PyTorch.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu_truth.loops import KNOB, LOOPS, Loop
from benchmarks.gpu_truth.table import Record, table
from benchmarks.marked_section import write_section

SHARES = (0.2, 0.5)
CYCLES = 60_000  # 30 to 60 us on devices of today
PROFILED, WARM_UP = 8, 10
MARK = "decode[{}]"
SECTION = "gpu-truth"


def accelerator() -> Any:
    """The module torch, or None with one line said."""
    try:
        import torch
    except ImportError:
        sys.stdout.write("skipped: no PyTorch here\n")
        return None
    if not torch.cuda.is_available():
        sys.stdout.write("skipped: no accelerator here\n")
        return None
    return torch


def profiled(torch: Any, loop: Loop, cycles: int, folder: Path) -> Path:
    """A trace of some steps, each inside an annotation."""
    step = loop.make(torch, cycles)
    run(torch, loop, step, WARM_UP)
    path = folder / f"{loop.name}.json"
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profiler:
        for index in range(PROFILED):
            with torch.profiler.record_function(MARK.format(index)):
                step()
            if loop.waits:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    return path


def run(torch: Any, loop: Loop, step: Callable[[], None], steps: int) -> float:
    """Mean time of a step in us, without a profiler."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
        if loop.waits:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begin) / steps


def asked(torch: Any, loop: Loop, share: float, steps: int, runs: int, folder: Path) -> Record:
    """One row: what is predicted of the shorter kernel, and what it really gives."""
    import trace_budget as tb

    trace = tb.open_trace(profiled(torch, loop, CYCLES, folder))
    rows = tb.kernels(trace, kernel=KNOB).tables[0].frame
    saving_us = share * float(rows["mean_us"][0])
    change = tb.Change(saving_us=saving_us, overhead_us=0.0, hit_rate=tb.Range(1.0, 1.0))
    said: Any = tb.project(trace, tb.Selection(KNOB), change).document["saving_us_per_step"]
    long, short = loop.make(torch, CYCLES), loop.make(torch, round(CYCLES * (1 - share)))
    for step in (long, short):
        run(torch, loop, step, WARM_UP)
    times = [(run(torch, loop, long, steps), run(torch, loop, short, steps)) for _ in range(runs)]
    before, after = zip(*times, strict=True)
    return Record(loop.name, share, said["low"], said["expected"], said["high"], before, after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", default=",".join(loop.name for loop in LOOPS))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--write", type=Path, help="put the table between the marks of this page")
    given = parser.parse_args()
    torch = accelerator()
    if torch is None:
        return
    chosen = [loop for loop in LOOPS if loop.name in given.loops.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        records = [
            asked(torch, loop, share, given.steps, given.runs, Path(folder)) for loop in chosen for share in SHARES
        ]
    page = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n\n{table(records)}"
    sys.stdout.write(page)
    if given.write:
        write_section(given.write, SECTION, page)


if __name__ == "__main__":
    main()
