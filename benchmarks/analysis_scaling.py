"""How the analyses grow: `python benchmarks/analysis_scaling.py [--kernels 1e5 1e6 1e7]`; figures: docs/performance.md.

A made-up decode of steps of 400 kernels, 24 layers each, one graph launch a step. Every size is a process of its own.
Wall seconds of steps, layers, overlap, projection (bounds included) and of a ranking of 20 candidates; the exponent is
that of the growth from one size to the next.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable

PER_STEP, LAYERS, PER_LAYER = 400, 24, 16
EPOCH_NS = 10**15


def made(kernels: int):
    """A trace of about this many kernels."""
    import numpy as np
    import polars as pl

    from trace_budget.schema import build
    from trace_budget.schema.check import checked
    from trace_budget.schema.trace import Trace

    steps = kernels // PER_STEP
    lengths = np.random.default_rng(0).integers(4_000, 40_000, size=steps * PER_STEP)
    codes = np.concatenate([[100, 101], np.tile(np.arange(PER_LAYER), LAYERS), np.arange(200, 214)])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) + np.repeat(np.arange(steps) * 50_000, PER_STEP) + EPOCH_NS
    ends = starts + lengths
    launches = starts[::PER_STEP] - 100_000
    calls, annotations = on_host(launches, ends[PER_STEP - 1 :: PER_STEP])
    columns = {
        "kind": pl.repeat("kernel", lengths.size, eager=True),
        "name": pl.Series([f"k{number}" for number in range(214)]).gather(np.tile(codes, steps)),
        "device": pl.repeat(0, lengths.size, eager=True),
        "stream": pl.repeat(0, lengths.size, eager=True),
        "start_ns": starts,
        "end_ns": ends,
        "correlation": np.repeat(np.arange(steps), PER_STEP),
    }
    ops = build.gpu_ops(pl.DataFrame(columns), calls)
    return checked(Trace("made", "kineto", ops, calls, annotations))


def on_host(launches, lasts):
    """The graph launch of each step, the wait for its last kernel, and the annotation around both."""
    import numpy as np
    import polars as pl

    from trace_budget.schema import build

    steps = launches.size
    calls = {
        "name": ["hipGraphLaunch"] * steps + ["hipStreamSynchronize"] * steps,
        "start_ns": np.concatenate([launches, launches + 60_000]),
        "end_ns": np.concatenate([launches + 50_000, lasts + 5_000]),
        "correlation": np.concatenate([np.arange(steps), np.arange(steps) + 10**8]),
    }
    around = {"start_ns": launches - 1_000, "end_ns": launches + 55_000}
    thread = [pl.lit(1).alias("pid"), pl.lit(1).alias("tid")]
    text = [pl.lit("annotation").alias("kind"), pl.lit("execute_context_0(0)_generation_1(1)").alias("name")]
    return (
        build.calls(pl.DataFrame(calls).with_columns(thread)),
        build.markers(pl.DataFrame(around).with_columns(*thread, *text)),
    )


def measure(kernels: int) -> dict[str, float]:
    """Seconds of each analysis, and the most memory of this process in MiB."""
    trace = made(kernels)
    from trace_budget.analysis.layers import find_layers
    from trace_budget.analysis.overlap import find_overlap
    from trace_budget.analysis.steps import find_steps
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.projection.project import project
    from trace_budget.projection.rank import rank
    from trace_budget.schema.findings import Findings
    from trace_budget.schema.options import Change, Policy, Selection, TokenInput

    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]):
        begin = time.perf_counter()
        value = work()
        seconds[name] = time.perf_counter() - begin
        return value

    steps = timed("steps", lambda: find_steps(trace))
    layers = timed("layers", lambda: find_layers(trace, steps))
    overlap = timed("overlap", lambda: find_overlap(trace))
    found = Findings(trace, steps, layers, overlap)
    token, policy = TokenInput(), Policy()
    answer = timed("project", lambda: project(found, Selection("k1"), Change(saving_us=2.0), token, policy))
    if (layers.layers, answer.match.calls_per_step) != (LAYERS, LAYERS):
        raise SystemExit("the layers were not found")
    seconds["total"] = sum(seconds.values())
    seconds["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    names = [f"k{number}" for number in (*range(PER_LAYER), 100, 101, 200, 201)]
    many = tuple(Candidate(name, Change(saving_us=1.0), Selection(name)) for name in names)
    timed("rank of 20", lambda: rank(found, CandidateSet(many, policy, token)))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(int(asked.one))))
        return
    rows = []
    for kernels in asked.kernels:
        command = [sys.executable, __file__, "--one", str(kernels)]
        rows.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    print("| kernels | " + " | ".join(rows[0]) + " |\n|" + " ---: |" * (len(rows[0]) + 1))
    for kernels, row in zip(asked.kernels, rows, strict=True):
        print(f"| {kernels:.0e} | " + " | ".join(f"{value:.2f}" for value in row.values()) + " |")
    for (few, one), (more, two) in zip(
        zip(asked.kernels, rows, strict=True), list(zip(asked.kernels, rows, strict=True))[1:], strict=False
    ):
        exponents = {name: math.log(two[name] / one[name]) / math.log(more / few) for name in one}
        print(f"growth {few:.0e} to {more:.0e}: " + ", ".join(f"{n} {e:.2f}" for n, e in exponents.items()))


if __name__ == "__main__":
    main()
