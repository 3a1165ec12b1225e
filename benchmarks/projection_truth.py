"""How good projections are: simulated programs whose true saving is known, kind by kind.

    python benchmarks/projection_truth.py [--n 20] [--kinds linear_graph,tp2] [--estimate report|naive|ceiling]
                                          [--write docs/method/validation.md]

Method: a random program runs in the simulator of tests/gpu_simulator, its trace goes to the estimate, and the program
runs again with every call of one kernel truly shortened by 10 to 60 % of its median. All savings are per step, over
the steps that the estimate counts.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gpu_simulator import KINDS, Run, deltas, planned, random_program, simulate, to_trace
from gpu_simulator.disguises import DISGUISES
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace

TARGET_PCT = 1.0
ALL_RANKS = "_all_ranks"
DISGUISED = (
    *(f"{kind}+{clock}" for kind in ("eager_1stream", "linear_graph", "rocm_streamed_graph", "async_loop", "piecewise")
      for clock in ("clock_early", "clock_late", "clock_drifts", "one_early", "waits_elsewhere")),
    "tp2+unlinked_collectives",
)  # fmt: skip
SCORED = (*KINDS, f"tp2{ALL_RANKS}", *DISGUISED)


class Counted(NamedTuple):
    """What a trace holds: calls of the kernel per step, layers, the median step in ns, layers that run the kernel.

    `used`: indexes of the steps that count (the tool leaves out outlying ones).
    """

    calls: float
    layers: int
    step_ns: float
    layers_hit: int
    used: tuple[int, ...]


class Estimate(NamedTuple):
    """What a projection says, in ns per step; `verdict` is GO, MARGINAL, NO-GO, INVALID, or empty."""

    low_ns: float
    expected_ns: float
    high_ns: float
    naive_ns: float
    verdict: str = ""
    counted: Counted | None = None


EstimateFn = Callable[..., Estimate]


@dataclass(frozen=True, slots=True)
class Case:
    """A question and its answer: shorten each call of `kernel` by `saving_us`, and step i takes `saved_ns[i]` less.

    `first_ns`: start of the first op of each step; the leading `warm_up` steps are not measured. `others` are the
    traces of further ranks, where the question is asked with all of them.
    """

    kind: str
    seed: int
    trace: Trace
    kernel: str
    saving_us: float
    saved_ns: tuple[float, ...]
    naive_ns: float
    step_ns: float
    first_ns: tuple[int, ...]
    warm_up: int
    calls: float
    layers: int
    layers_hit: int
    others: tuple[Trace, ...] = ()

    @property
    def true_ns(self) -> float:
        """The saving per measured step."""
        return self.true_over(range(len(self.first_ns)))

    def true_over(self, used: Iterable[int]) -> float:
        """The saving per step over the measured ones of these steps."""
        return float(np.mean([self.saved_ns[step] for step in used if step >= self.warm_up]))

    def counted(self, used: tuple[int, ...]) -> Counted:
        """What there is to count over these steps: intervals from first op to first op, calls, layers."""
        intervals = [self.first_ns[i + 1] - self.first_ns[i] for i in used if i + 1 < len(self.first_ns)]
        return Counted(self.calls, self.layers, float(np.median(intervals)), self.layers_hit, used)


def cases(kinds: Iterable[str] = SCORED, n: int = 20, first_seed: int = 0) -> Iterator[Case]:
    """`n` questions of each kind, the same on every machine."""
    for kind in kinds:
        for seed in range(first_seed, first_seed + n):
            yield _case(kind, seed)


def _case(kind: str, seed: int) -> Case:
    plain, _, disguise = kind.partition("+")
    program = random_program(plain.removesuffix(ALL_RANKS), seed)
    plan = planned(program)
    base, rng = simulate(plan), random.Random(f"{program.kind}/{seed}")
    works, layers, first = _contents(base)
    # A collective that no launch is known of may not be counted by step.
    kernel = rng.choice(sorted(name for name in works if not (disguise and "reduce_1stage" in name)))
    saving_ns = max(1, round(rng.uniform(0.1, 0.6) * float(np.median(works[kernel]))))
    lengths = [np.diff(run.step_ends(), prepend=0) for run in (base, simulate(plan, deltas(plan, kernel, saving_ns)))]
    calls = len(works[kernel]) / len(first)
    shown = to_trace(base)
    if disguise:
        shown = DISGUISES[disguise](shown, np.random.default_rng(seed))
    others = tuple(to_trace(base, rank) for rank in range(1, len(program.ranks))) if kind.endswith(ALL_RANKS) else ()
    return Case(
        kind, seed, shown, kernel, saving_ns / 1_000, tuple((lengths[0] - lengths[1]).tolist()),
        calls * saving_ns, float(np.median(np.diff(first))), tuple(first), program.warm_up,
        calls, program.layers or 0, len(layers[kernel]), others,
    )  # fmt: skip


def _contents(base: Run) -> tuple[dict[str, list[int]], dict[str, set[int]], list[int]]:
    """Works and layers of each kernel on rank 0, and the start of the first op of each step."""
    works: dict[str, list[int]] = {}
    layers: dict[str, set[int]] = {}
    first: dict[int, int] = {}
    for number, op in base.ops():
        if op.kernel is not None and op.kernel.kind == "kernel":
            works.setdefault(op.kernel.name, []).append(op.work_ns)
            layers.setdefault(op.kernel.name, set()).update([] if op.kernel.layer is None else [op.kernel.layer])
        first[op.step] = min(first.get(op.step, sys.maxsize), int(base.node_start_ns[number]))
    return works, layers, [first[step] for step in sorted(first)]


def score(estimate: EstimateFn, kinds: Sequence[str] = SCORED, n: int = 20, first_seed: int = 0) -> pl.DataFrame:
    """One row a kind and one for all.

    coverage: share of cases with low <= true <= high (to a nanosecond). missed_low, missed_high: which side failed.
    width, mae_naive, mae_expected: means as a share of the naive saving. mae_pp: mean error of the expected saving in
    percentage points of the step. false_go: verdicts GO although the true saving is below 1 % of the step. missed_go:
    verdicts NO-GO although it is not. exact: share of cases whose calls, layers and median step were counted exactly;
    hit_exact: share whose layers that run the kernel were.
    """
    rows = [_judged(case, estimate) for case in cases(kinds, n, first_seed)]
    frame = pl.DataFrame(rows)
    parts = [_summary(frame.filter(pl.col("kind") == kind), kind) for kind in kinds]
    return pl.concat([*parts, _summary(frame, "all")])


def _judged(case: Case, estimate: EstimateFn) -> dict[str, object]:
    """One case: what was said against what is true."""
    begun = time.perf_counter()
    said = estimate(case.trace, case.kernel, case.saving_us, *([case.others] if case.others else []))
    spent_ms = 1e3 * (time.perf_counter() - begun)
    slack = 1.0 + 1e-9 * case.naive_ns
    used = said.counted.used if said.counted else tuple(range(len(case.first_ns)))
    true_ns, there = case.true_over(used), case.counted(used)
    true_pct = 100.0 * true_ns / there.step_ns
    return {
        "kind": case.kind,
        "missed_low": true_ns < said.low_ns - slack,
        "missed_high": true_ns > said.high_ns + slack,
        "width": (said.high_ns - said.low_ns) / case.naive_ns,
        "error_naive": abs(said.naive_ns - true_ns) / case.naive_ns,
        "error": abs(said.expected_ns - true_ns) / case.naive_ns,
        "error_pp": 100.0 * abs(said.expected_ns - true_ns) / there.step_ns,
        "go": said.verdict == "GO",
        "false_go": said.verdict == "GO" and true_pct < TARGET_PCT,
        "missed_go": said.verdict == "NO-GO" and true_pct >= TARGET_PCT,
        "exact": said.counted is not None and said.counted[:3] == there[:3],
        "hit_exact": said.counted is not None and said.counted.layers_hit == there.layers_hit,
        "ms": spent_ms,
    }


def _summary(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    missed = pl.col("missed_low") | pl.col("missed_high")
    return frame.select(
        pl.lit(kind).alias("kind"),
        pl.len().alias("cases"),
        (1.0 - missed.mean()).alias("coverage"),
        pl.col("missed_low").sum(),
        pl.col("missed_high").sum(),
        pl.col("width").mean(),
        pl.col("error_naive").mean().alias("mae_naive"),
        pl.col("error").mean().alias("mae_expected"),
        pl.col("error").max().alias("max_error"),
        pl.col("error_pp").mean().alias("mae_pp"),
        pl.col("go").sum(),
        pl.col("false_go").sum(),
        pl.col("missed_go").sum(),
        pl.col("exact").mean(),
        pl.col("hit_exact").mean(),
        pl.col("ms").mean().alias("ms_per_case"),
    )


def naive_estimate(trace: Trace, kernel: str, saving_us: float) -> Estimate:
    """Saving times calls: what people compute by hand."""
    calls = trace.gpu_ops.filter(pl.col("name").cast(pl.String) == kernel).height
    naive_ns = 1_000.0 * saving_us * calls / max(1, trace.markers.height)
    return Estimate(naive_ns, naive_ns, naive_ns, naive_ns)


def ceiling_estimate(trace: Trace, kernel: str, saving_us: float) -> Estimate:
    """Nothing to naive: the widest range that can be right."""
    naive_ns = naive_estimate(trace, kernel, saving_us).naive_ns
    return Estimate(0.0, naive_ns, naive_ns, naive_ns)


def report_estimate(trace: Trace, kernel: str, saving_us: float, others: tuple[Trace, ...] = ()) -> Estimate:
    """What `trace-budget project` answers, read from its JSON document.

    Costs and hit rate are stated, noise is low and nothing is diluted, so that GO is said as soon as the low bound and
    the expected saving allow it.
    """
    from trace_budget import api
    from trace_budget.projection.candidates import Candidate

    change = Change(saving_us=saving_us, overhead_us=0.0, hit_rate=Range(1.0, 1.0))
    candidate, policy = Candidate("", change, Selection(kernel)), Policy(TARGET_PCT, noise_pct=0.1, dilution=1.0)
    document = project_question.candidate_report(trace, candidate, Scope(), TokenInput(), policy, others).document
    saving, matched, token = (_part(document[key]) for key in ("saving_us_per_step", "matched", "token"))
    parts = [1_000.0 * float(saving[key]) for key in ("low", "expected", "high", "naive")]
    step_ns, hit = round(1_000.0 * token["step_us"], 3), int(matched["layers_hit"] or 0)
    used = tuple(api.analyse(trace).steps.used.tolist())
    counted = Counted(matched["calls_per_step"], int(matched["layers"] or 0), step_ns, hit, used)
    return Estimate(parts[0], parts[1], parts[2], parts[3], str(document["verdict"]), counted)


def _part(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


ESTIMATES: dict[str, EstimateFn] = {"report": report_estimate, "naive": naive_estimate, "ceiling": ceiling_estimate}


def main() -> None:
    """Print the table of one estimate, or write it as a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20, help="programs of each kind")
    parser.add_argument("--kinds", default=",".join(SCORED))
    parser.add_argument("--estimate", choices=sorted(ESTIMATES), default="report")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="write the page of the method to this file")
    given = parser.parse_args()
    table = score(ESTIMATES[given.estimate], given.kinds.split(","), given.n, given.first_seed)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=4):
        print(table)
    if given.write:
        from benchmarks.validation_page import page

        before = given.write.read_text(encoding="utf-8") if given.write.exists() else ""
        given.write.write_text(page(table, given.n, given.first_seed, before), encoding="utf-8")


if __name__ == "__main__":
    main()
