"""How fast each format is read: `python benchmarks/formats.py [--kernels 100000] [--only FORMAT …]`.

One decode run (steps of 41 kernels, one graph launch each) is written in every format by the programs that write the
samples; a process of its own reads each file into checked tables. Figures are those of the operating system; the time
that a process takes to start and to import the reader is told apart. All formats must hold the same kernels.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from sample_traces.make import (
    csv_formats,
    database,
    json_formats,
    nsys_parquet,
    perfetto_format,
    sqlite_formats,
)
from sample_traces.make import run_description as described
from sample_traces.make.many_runs import Shape, decode_run

LAYERS = 8  # steps must not run into each other
KERNELS_PER_STEP = 5 * LAYERS + 1
WHOLE_US = ("rpd_json",)  # keeps no nanoseconds
READ = """
import sys, time
from pathlib import Path
from trace_budget.api import open_trace
small, large = map(Path, sys.argv[1:])
open_trace(small, cache=False)
begin, wall = time.process_time(), time.perf_counter()
trace = open_trace(large, cache=False)
cpu, wall = time.process_time() - begin, time.perf_counter() - wall
kernels = trace.gpu_ops.filter(trace.gpu_ops["kind"] == "kernel")
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1.024e-3
print(kernels.height, (kernels["end_ns"] - kernels["start_ns"]).sum(), cpu, wall, held)
"""
TEXTS = {
    "kineto": ("kineto/same_run.json",),
    "rocprofv3_json": ("rocprofv3_json/same_run.json",),
    "rocprofv3_csv": tuple(
        f"rocprofv3_csv/same_run_{part}.csv"
        for part in ("kernel_trace", "hip_api_trace", "marker_api_trace", "memory_copy_trace", "agent_info")
    ),
    "rocprof_v1_json": ("rocprof_v1_json/same_run.json",),
    "rocprof_v1_csv": ("rocprof_v1_csv/same_run.csv",),
    "rocprofv2_csv": ("rocprofv2_csv/results_4242.csv",),
    "hipprof_json": ("hipprof_json/same_run.json",),
    "rpd_json": ("rpd_json/same_run.json",),
    "nsys_csv": ("nsys_csv/same_run.csv",),
}
DATABASES = {
    "rocpd": "rocpd/same_run.db",
    "rpd": "rpd/same_run.rpd",
    "nsys_sqlite": "nsys_sqlite/same_run.sqlite",
    "hipprof_db": "hipprof_db/same_run.db",
    "rocprof_v1_db": "rocprof_v1_db/same_run.db",
}


def write(folder: Path, run: described.Run, wanted: Callable[[str], bool]) -> dict[str, Path]:
    """The run in every format that is wanted: what to open for each."""
    described.described_run = lambda: run  # what the programs of the samples write
    texts = csv_formats.samples() | json_formats.samples()
    opened: dict[str, Path] = {}
    for name, paths in TEXTS.items():
        for path in paths if wanted(name) else ():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(texts[path])
            opened.setdefault(name, folder / path)
    contents = sqlite_formats.samples() if any(map(wanted, DATABASES)) else {}
    for name, path in DATABASES.items():
        if wanted(name):
            database.write(folder / path, contents[path][0])
            opened[name] = folder / path
    if wanted("nsys_parquetdir"):
        nsys_parquet.write_all(folder)
        opened["nsys_parquetdir"] = folder / "nsys_parquetdir" / "same_run"
    if wanted("perfetto"):
        (folder / "run.pftrace").write_bytes(perfetto_format.rocprofv3(run))
        opened["perfetto"] = folder / "run.pftrace"
    return opened


def size_mb(path: Path) -> float:
    """Megabytes of a file with those beside it that belong to it, or of a folder."""
    beside = path.parent.glob("*") if path.name.endswith("_kernel_trace.csv") else [path]
    files = path.rglob("*") if path.is_dir() else beside
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()

    def wanted(name: str) -> bool:
        return not asked.only or name in asked.only

    with tempfile.TemporaryDirectory() as place:
        few = write(Path(place) / "few", decode_run(Shape(0, LAYERS, 3), 8), wanted)
        steps = max(asked.kernels // KERNELS_PER_STEP, 1)
        many = write(Path(place) / "many", decode_run(Shape(0, LAYERS, steps), 8), wanted)
        print(f"{steps * KERNELS_PER_STEP} kernels")
        print("| format | MB | CPU s | wall s | MB per CPU s | kernels per CPU s | peak MB |")
        print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
        told: dict[str, tuple[int, int | None]] = {}
        for name, path in many.items():
            done = subprocess.run(
                [sys.executable, "-c", READ, str(few[name]), str(path)],
                capture_output=True, text=True, check=False, env=os.environ | {"TRACE_BUDGET_CACHE": "off"},
            )  # fmt: skip
            if done.returncode:
                print(f"left out, {name} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            kernels, total_ns, cpu, wall, held = done.stdout.split()
            told[name] = (int(kernels), None if name in WHOLE_US else int(total_ns))
            mb, rate = size_mb(path), int(kernels) / float(cpu)
            print(
                f"| {name} | {mb:.0f} | {float(cpu):.2f} | {float(wall):.2f} | {mb / float(cpu):.0f} |"
                f" {rate:,.0f} | {float(held):.0f} |"
            )
    if len({kernels for kernels, _ in told.values()}) > 1 or len({ns for _, ns in told.values() if ns}) > 1:
        raise SystemExit(f"the formats disagree (kernels, ns): {told}")


if __name__ == "__main__":
    main()
