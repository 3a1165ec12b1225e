"""The page of the validation: the scored kinds of simulated programs, and what public integrations realised."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from benchmarks.marked_section import section

LEDGER = Path(__file__).parents[1] / "src" / "trace_budget" / "projection" / "public_ledger.tsv"
WHAT = {
    "eager_1stream": "eager launches on one stream",
    "eager_2streams": "two streams with events, waits recorded",
    "eager_2streams_hidden": "two streams with events, waits not recorded",
    "linear_graph": "one graph a step, a chain",
    "forkjoin_graph": "one graph a step, branches that join",
    "streams_hidden": "the same, all nodes shown on one stream",
    "rocm_streamed_graph": "graph handed over node by node (HIP), chain or branches",
    "pdl": "programmatic dependent launches",
    "pdl_late_trigger": "the same, prologues that outlast the kernel ahead (adversarial)",
    "piecewise": "a graph for each layer, attention between them eager",
    "async_loop": "the host one step ahead, sometimes the slower side",
    "hybrid": "layers of two sorts, eager or graph",
    "tp2": "two ranks, the trace of one",
    "tp2_all_ranks": "two ranks, both traces",
    "contention_0.3": "kernels side by side slow each other down by 30 % (adversarial)",
    "contention_1.0": "the same by 100 % (adversarial)",
    "all": "all kinds",
}
HEAD = (
    "kind",
    "programs",
    "inside",
    "width",
    "naive error",
    "error",
    "largest",
    "pp of step",
    "GO",
    "false GO",
    "missed GO",
    "exact",
    "layers hit",
)


def page(table: pl.DataFrame, n: int, first_seed: int, before: str = "") -> str:
    """The Markdown of docs/method/validation.md; what other programs wrote into the page `before` is kept."""
    rows = table.to_dicts()
    lines = [
        "# Validation",
        "",
        "Written by `python benchmarks/projection_truth.py --n "
        f"{n} --write docs/method/validation.md` on {datetime.now(UTC):%Y-%m-%d}; seeds {first_seed} to"
        f" {first_seed + n - 1} of each kind.",
        "",
        METHOD,
        "",
        _row(HEAD),
        _row([":---"] + ["---:"] * (len(HEAD) - 1)),
        *(_row(_cells(row)) for row in rows),
        "",
        *_kinds(rows),
        "",
        "## Where it is not exact",
        "",
        *_shortfalls(rows),
        "",
        LIMITS,
        "",
        *READINGS,
        section(before, "readings"),
        "",
        *HARDWARE,
        section(before, "gpu-truth"),
        "",
        *_ledger(),
    ]
    return "\n".join(lines) + "\n"


METHOD = """## Simulated programs

A simulator of host threads, streams, graphs and collectives runs a random program and writes its trace, as a
profiler would: with what profilers hide hidden. The tool projects one kernel, shortened by 10 to 60 % of its
median, from the trace alone. Then the program runs again with every call of that kernel truly shortened: that is
the truth, over the steps that the tool counts (it leaves out outlying ones). The simulator shares no code with the
projection.

- *inside*: share of programs whose true saving lies in the interval, to a nanosecond.
- *width*, *naive error*, *error*, *largest*: width of the interval, mean error of saving x calls, mean and largest
  error of the expected saving; all as % of the naive saving.
- *pp of step*: mean error of the expected saving in percentage points of the step time.
- *GO*: verdicts GO at a target of 1 %, asked without dilution, with costs and hit rate stated and little noise, so
  that only the interval can withhold it. *false GO*: those whose true saving is below the target. *missed GO*:
  NO-GO although the true saving reaches it.
- *exact*: programs whose calls per step, layers and median step time came out exactly; *layers hit*: those whose
  number of layers that run the kernel did."""
LIMITS = """Intervals are wide on the high side where a matched kernel shares the device by more than 5 %: the high
bound is the naive product plus the shared part, because contention is not in a trace. One rank of two proves
nothing about the other, so the low bound of its trace alone is 0.

The simulator shares the assumptions of the model: the order of work stays, lags stay, contention has a fixed rate.
It proves the argument and the code, not that a given machine obeys the assumptions. The ledger below says what
happened on machines."""


READINGS = (
    "## Steps, tokens and layers",
    "",
    "`python benchmarks/readings_truth.py --n N --write docs/method/validation.md` makes recordings in which a step is",
    "easily misread, with their truth, and asks about one kernel at a target just above or just below what is true.",
    "*exact*: calls and token of the first reading are right. *told*: another reading that is given has them, or",
    "nothing is claimed, or both are means over a cycle. *false verdicts*: a GO or NO-GO that the truth contradicts.",
    "",
)
HARDWARE = (
    "## On a real accelerator",
    "",
    "`python -m benchmarks.gpu_truth --write docs/method/validation.md` profiles loops of kernels whose length is",
    "known, predicts what a shorter kernel gives, makes it shorter and measures both without a profiler. The table is",
    "empty until it has run on a machine with an accelerator.",
    "",
)
DISGUISE = {
    "clock_early": "the device's clock shown 5 us to 1 ms early",
    "clock_late": "the same, late",
    "clock_drifts": "the device's clock off by up to 40 ppm",
    "one_early": "one op booked before its launch",
    "waits_elsewhere": "the wait on another thread",
    "unlinked_collectives": "collectives without a launch",
}


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(row: dict[str, float]) -> list[str]:
    shares = ("coverage", "width", "mae_naive", "mae_expected", "max_error")
    return [
        str(row["kind"]),
        str(row["cases"]),
        *(_share(row[key]) for key in shares),
        f"{row['mae_pp']:.3f}",
        *(str(row[key]) for key in ("go", "false_go", "missed_go")),
        _share(row["exact"]),
        _share(row["hit_exact"]),
    ]


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"


def _kinds(rows: list[dict[str, float]]) -> list[str]:
    return [f"- `{row['kind']}`: {_what(str(row['kind']))}" for row in rows if row["kind"] != "all"]


def _what(kind: str) -> str:
    plain, _, disguise = kind.partition("+")
    return f"{WHAT.get(plain, '')}; {DISGUISE[disguise]}" if disguise else WHAT.get(plain, "")


def _shortfalls(rows: list[dict[str, float]]) -> list[str]:
    """One line for everything a kind misses: the truth outside, an error above 2 % of naive, counts that are off."""
    told = []
    for row in rows:
        if row["kind"] == "all":
            continue
        if row["coverage"] < 1:
            sides = f"{row['missed_low']} below, {row['missed_high']} above the interval"
            told.append(f"- `{row['kind']}`: {_share(row['coverage'])} inside ({sides}).")
        if row["mae_expected"] > 0.02:
            told.append(f"- `{row['kind']}`: mean error of the expected saving {_share(row['mae_expected'])} of naive.")
        for key, text in (("exact", "calls, layers and step time"), ("hit_exact", "the layers that run the kernel")):
            if row[key] < 1:
                told.append(f"- `{row['kind']}`: {text} counted exactly in {_share(row[key])}.")
    return told or ["Every kind: all truths inside, mean error at most 2 % of naive, all counts exact."]


LEDGER_TEXT = """Pull requests and issues that tell us per call, calls per step, and the step time before and after.
*predicted* is the naive product, (before - after) x calls / step; *realised* is the change of the step time;
*converted* is the quotient. The numbers are the sources' own; the table with all columns is
[public_ledger.tsv](../../src/trace_budget/projection/public_ledger.tsv)."""
PUBLISHED = """People publish what worked, so the true median is lower. The largest single error is a benchmark of
something else than what the step runs: another layout, launches inside the time, a host that sets the pace."""


def _ledger() -> list[str]:
    """What public changes predicted and realised."""
    rows = pl.read_csv(LEDGER, separator="\t")
    share = rows["converted"]
    quartiles = [share.quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75)]
    head = ("source", "change", "device", "predicted", "realised", "converted", "remark")
    keys = ("source", "change", "device")
    body = [
        [*(row[key] or "" for key in keys), f"{row['predicted_pct']:.2f} %", f"{row['realised_pct']:.2f} %",
         f"{row['converted']:.2f}", row["remark"] or ""]
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    return [
        "## What public integrations realised",
        "",
        LEDGER_TEXT,
        "",
        f"Median {quartiles[1]:.2f}, middle half {quartiles[0]:.2f} to {quartiles[2]:.2f}, from {share.min():.2f} to"
        f" {share.max():.2f}, over {rows.height} changes.",
        "",
        _row(head),
        _row([":---", ":---", ":---", "---:", "---:", "---:", ":---"]),
        *(_row(cells) for cells in body),
        "",
        PUBLISHED,
    ]
