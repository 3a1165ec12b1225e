"""Reading a Kineto trace, side by side with what users would pick instead, and with the limits of the machine.

    python benchmarks/reading.py TRACE.json[.gz] [--runs 5] [--python OTHER] [--simdjson PROGRAM]

Every contender is a process of its own; they take turns, so that what else the machine does meets all alike. Figures
are medians of the wall time, of the processor time with that of the process's children, and the most memory of one.
`--python` is an interpreter with HolisticTraceAnalysis, duckdb, orjson and pandas; `--simdjson` is the program that
alternatives/simdjson_scan.cpp tells how to build. Contenders that cannot run are left out, and that is said. Each
prints how many operations the device ran and their sum, which must agree.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ALTERNATIVES = Path(__file__).parent / "alternatives"
TABLES = """
import sys
from trace_budget import open_trace
trace = open_trace(sys.argv[1])
print(trace.gpu_ops.height, (trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).sum())
"""
PURE = {"TRACE_BUDGET_NO_ACCELERATOR": "1"}
CACHE = {"TRACE_BUDGET_CACHE": "off"}


@dataclass
class Contender:
    """One command, and what its runs measured."""

    name: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    checked: bool = False
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    held_mb: list[float] = field(default_factory=list)
    told: str = ""

    def run(self) -> bool:
        """Measure one run; False when it failed."""
        with open(os.devnull, "wb") as nowhere:
            begin = time.perf_counter()
            process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=nowhere, env=os.environ | CACHE | self.env
            )
            out = process.stdout.read() if process.stdout else b""
            _, status, used = os.wait4(process.pid, 0)
        if status:
            return False
        self.wall_s.append(time.perf_counter() - begin)
        self.cpu_s.append(used.ru_utime + used.ru_stime)
        self.held_mb.append(used.ru_maxrss / 1e3 * 1.024)
        self.told = out.decode(errors="replace").strip() if self.checked else ""
        return True


def contenders(asked: argparse.Namespace) -> list[Contender]:
    """All, ours first."""
    trace, here, other = str(asked.trace), sys.executable, asked.python
    found = [
        Contender("trace-budget kernels", [here, "-m", "trace_budget", "kernels", trace]),
        Contender("trace-budget kernels, pure Python", [here, "-m", "trace_budget", "kernels", trace], PURE),
        Contender("trace-budget, to tables", [here, "-c", TABLES, trace], {}, True),
        Contender("trace-budget, to tables, pure Python", [here, "-c", TABLES, trace], PURE, True),
    ]
    for name, script in (
        ("orjson + pandas", "orjson_pandas"),
        ("json.load", "json_columns"),
        ("HTA kernel breakdown", "hta_summary"),
        ("HTA parser", "hta_parser"),
        ("DuckDB, array copied out first, a sum", "duckdb_events"),
        ("DuckDB, array copied out first, to tables", "duckdb_tables"),
        ("DuckDB, file as it is", "duckdb_json"),
    ):
        if other and script not in asked.without:
            checked = script not in ("hta_summary", "hta_parser")
            found.append(Contender(name, [other, str(ALTERNATIVES / f"{script}.py"), trace], {}, checked))
    if "perfetto_json" not in asked.without:
        found.append(Contender("trace_processor (WebAssembly)", [here, str(ALTERNATIVES / "perfetto_json.py"), trace]))
    if asked.simdjson and asked.trace.suffix != ".gz":
        found.append(Contender("limit: simdjson On-Demand, same fields", [asked.simdjson, trace], {}, True))
    limits = str(ALTERNATIVES / "limits.py")
    kind = "gunzip" if asked.trace.suffix == ".gz" else "read"
    found.append(Contender(f"limit: {kind}", [here, limits, kind, trace]))
    return found


def table(done: list[Contender]) -> str:
    """Medians as Markdown, with the ratio of each to ours."""
    first = median(done[0].wall_s)
    lines = ["| | wall s | CPU s | peak MB | x ours |", "| :--- | ---: | ---: | ---: | ---: |"]
    for one in done:
        wall, cpu = median(one.wall_s), median(one.cpu_s)
        lines.append(f"| {one.name} | {wall:.2f} | {cpu:.2f} | {max(one.held_mb):.0f} | {wall / first:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--python", help="interpreter with the alternatives' packages")
    parser.add_argument("--simdjson", help="the built simdjson_scan")
    parser.add_argument("--without", nargs="*", default=[], help="names of scripts in alternatives/ to leave out")
    asked = parser.parse_args()
    alive = contenders(asked)
    for _ in range(asked.runs):
        for one in list(alive):
            if not one.run():
                alive.remove(one)
                print(f"left out, it failed: {one.name}", file=sys.stderr)
    print(table(alive))
    if len(told := {one.told for one in alive if one.told}) > 1:
        raise SystemExit(f"the contenders disagree: {sorted((one.told, one.name) for one in alive if one.told)}")
    print(f"\nall that were checked say: {told.pop() if told else '-'} (operations, ns)")


if __name__ == "__main__":
    main()
