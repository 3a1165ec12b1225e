"""How fast batches are: `python benchmarks/batch_throughput.py [--small N]`; method and figures: docs/batch.md.

Three figures, each in processes of their own: the speed-up of two workers over one on equal files; what a batch costs
per trace beyond reading, analysing and projecting it; the most memory the parent holds over many small traces.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from sample_traces.make.many_runs import Shape, decode_run, kineto

OPTIONS = ["--kernel", "paged_attention", "--saving-us", "2", "--format", "json", "-q"]
SINGLE = """
import sys, time
from pathlib import Path
import trace_budget as tb
from trace_budget import api
from trace_budget.schema.options import Change, Selection
paths = sorted(Path(sys.argv[1]).iterdir())
def one(path):
    tb.project(api.open_trace(path), Selection("paged_attention"), Change(saving_us=2.0))
one(paths[0])
begin = time.perf_counter()
for path in paths:
    one(path)
print((time.perf_counter() - begin) / len(paths))
"""
PARENT = """
import resource, sys
from trace_budget.__main__ import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def write(folder: Path, count: int, layers: int, steps: int) -> Path:
    """`count` different traces of one size."""
    folder.mkdir(parents=True)
    for number in range(count):
        shape = Shape(number, layers, steps)
        text = kineto(decode_run(shape, 8), shape)
        (folder / f"run{number:05}.trace.json.gz").write_bytes(gzip.compress(text.encode(), 1, mtime=0))
    return folder


def batch(folder: Path, jobs: int) -> tuple[float, int]:
    """Wall seconds of one batch, and the most memory of its parent in MiB."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", PARENT, "batch", str(folder), "-o", out, "-j", str(jobs), *OPTIONS]
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begin
    if json.loads(done.stdout)["traces"] != len(list(folder.iterdir())):
        raise SystemExit("the batch lost traces")
    return seconds, int(done.stderr.split()[-1]) // 1024


def single(folder: Path) -> float:
    """Seconds per trace in one process that does nothing but read, analyse and project."""
    done = subprocess.run([sys.executable, "-c", SINGLE, str(folder)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def speed_up(root: Path, repeats: int) -> None:
    folder = write(root / "equal", 48, 48, 40)
    ones, twos = zip(*((batch(folder, 1)[0], batch(folder, 2)[0]) for _ in range(repeats)), strict=True)
    size = median(path.stat().st_size for path in folder.iterdir())
    print(
        f"48 equal traces of {size / 1e3:.0f} KB (gzip): {median(ones):.1f} s with -j 1, {median(twos):.1f} s with -j 2"
    )
    print(f"speed-up {median(a / b for a, b in zip(ones, twos, strict=True)):.2f}x")


def overhead(root: Path, repeats: int) -> None:
    few, many = write(root / "few", 50, 5, 4), write(root / "more", 350, 5, 4)
    costs = [(batch(many, 1)[0] - batch(few, 1)[0]) / 300 - single(few) for _ in range(repeats)]
    print(f"small traces: {1e3 * single(few):.1f} ms each to read, analyse and project")
    print(f"beyond that, a batch costs {1e3 * median(costs):.1f} ms a trace (hash, six tables, sync, summary)")


def memory(root: Path, count: int) -> None:
    fewer = batch(write(root / "thousand", 1_000, 4, 3), 2)
    all_of_them = batch(write(root / "all", count, 4, 3), 2)
    print(
        f"parent: {fewer[1]} MiB over 1,000 small traces, {all_of_them[1]} MiB over {count:,} ({all_of_them[0]:.0f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=10_000, help="traces of the memory figure")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        speed_up(Path(folder), asked.repeats)
        overhead(Path(folder), asked.repeats)
        memory(Path(folder), asked.small)


if __name__ == "__main__":
    main()
