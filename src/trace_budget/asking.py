"""What questions have in common: traces by path, what is replaced and by what, as one candidate or a file of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.errors import GateMissedError, UsageError
from trace_budget.io.stdin_file import STDIN, searchable
from trace_budget.schema.console import SILENT, Console
from trace_budget.schema.option import Argument, option, stated
from trace_budget.schema.options import OVERWRITE, SAVINGS, Bench, Change, ReadOptions, Scope, Selection

if TYPE_CHECKING:
    from trace_budget.bench_files import Standalone
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.projection.candidates import Sequence as Fused
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EVERYTHING, NO_CHANGE, NO_BENCH = Scope(), Change(), Bench()
Traced = Annotated[
    "Trace | Path | str", Argument("TRACE", "The trace file, a folder with one job, or - for stdin.", opened=True)
]
TracePath = Annotated[Path, Argument("TRACE", "The trace file, a folder with one job, or - for stdin.")]
Filter = Annotated[
    str | None, option("Select", "--kernel", "-k", metavar="NAME", text="Only kernels that match.")
]  # fmt: skip
OtherRanks = Annotated[
    list[Path] | None,
    option("Input", "--with-rank", metavar="FILE",
           text="The trace of another rank of the same job (repeat for more): collectives then wait for all of them."),
]  # fmt: skip
CandidateFile = Annotated[
    Path | None,
    option(
        "Select", "--candidates", metavar="FILE.toml", text="A candidate file (see `rank`) instead of one --kernel."
    ),
]
MaybeCandidates = Annotated[Path | None, Argument("[CANDIDATES.toml]", "The candidate file.")]
Force = Annotated[bool, OVERWRITE]


@dataclass(frozen=True, slots=True)
class Inputs:
    """How a command reads traces."""

    options: ReadOptions
    console: Console = SILENT

    def open(self, path: Path | str, rank: int | None = None) -> Trace:
        """The trace, read; `rank` is what a file in a folder is known to be of. Raises InputError."""
        from trace_budget import api

        asked, begin = self.options, time.monotonic()
        wanted = rank if asked.rank is None else asked.rank
        with self.console.working(f"Reading {path}"), searchable(path) as file:
            trace = api.open_trace(file, asked.from_format, wanted, asked.trace_processor, cache=asked.cache)
        trace = _named(trace, path)
        self._report(trace, begin)
        return trace

    def open_ranks(self, path: Path | str) -> list[Trace]:
        """The trace to report on, and after it the other ranks of its job where the path is a folder of ranks."""
        from trace_budget import api

        asked, begin = self.options, time.monotonic()
        with self.console.working(f"Reading {path}"), searchable(path) as file:
            traces = api.open_traces(file, asked.from_format, asked.rank, asked.trace_processor, cache=asked.cache)
        traces = [_named(trace, path) for trace in traces]
        for trace in traces:
            self._report(trace, begin)
        return traces

    def _report(self, trace: Trace, begin: float) -> None:
        if self.console.verbose:
            seconds = time.monotonic() - begin
            engine = f", engine {trace.engine}" if trace.engine else ""
            ops = f"{trace.gpu_ops.height:,} GPU ops"
            self.console.say(f"Read {trace.path}: {trace.format}, {ops}, {seconds:.2f} s{engine}")


def _named(trace: Trace, path: Path | str) -> Trace:
    """The trace under the name it was asked for by: standard input is read from a copy."""
    return replace(trace, path=STDIN) if str(path) == STDIN else trace


def opened(trace: Trace | Path | str) -> Trace:
    """A trace as it is, or read from its path."""
    if not isinstance(trace, str | Path):
        return trace
    from trace_budget import api

    return api.open_trace(trace)


def is_named(selection: Selection) -> bool:
    """Whether a kernel or a sequence was named."""
    return bool(selection.kernel or selection.replace)


def is_stated(change: Change, bench: Bench) -> bool:
    """Whether anything was said of the new kernel."""
    return bool(stated(change, "force") or stated(bench))


@dataclass(frozen=True, slots=True)
class OneCandidate:
    """A candidate from option structs; `standalone` holds the times of its benchmark file, if there is one."""

    candidate: Candidate
    standalone: Standalone | None = None

    def noted(self, report: Report, trace: Trace) -> Report:
        """The report with what must be known of standalone times."""
        if self.standalone is None:
            return report
        return replace(report, caveats=(*report.caveats, *self.standalone.caveats(trace)))


def one_candidate(selection: Selection | str, change: Change, bench: Bench = NO_BENCH, id: str = "") -> OneCandidate:  # noqa: A002
    """The candidate that the structs describe; UsageError unless what is replaced and its saving are given once."""
    from trace_budget.projection.candidates import Candidate

    wanted = Selection(selection) if isinstance(selection, str) else selection
    if bool(wanted.kernel) == bool(wanted.replace):
        found = "both" if wanted.kernel else "neither"
        raise UsageError("what is replaced is needed, once", expected="--kernel or --replace", found=found)
    _check_saving(change, bench)
    standalone = _standalone(bench)
    if standalone is not None:
        change = replace(change, new_us=standalone.candidate_us, baseline_us=standalone.baseline_us)
    if not wanted.replace:
        return OneCandidate(Candidate(id, change, wanted), standalone)
    if change.new_us is None:
        raise UsageError("a replaced sequence needs the time of the new launch", expected="--new-us")
    return OneCandidate(Candidate(id, change, None, sequence_of(wanted.replace, change.new_us)), standalone)


def sequence_of(text: str, new_us: float) -> Fused:
    """The fused sequence that `--replace A,B,C` names."""
    from trace_budget.projection.candidates import Sequence as Fused

    return Fused(tuple(part.strip() for part in text.split(",") if part.strip()), new_us)


def _check_saving(change: Change, bench: Bench) -> None:
    """Raise UsageError unless the saving is given once: stated, or by a benchmark file."""
    if bench.bench is None:
        if stated(bench):
            raise UsageError("--bench-old, --bench-new and --unit go with --bench")
        if not change.savings():
            raise UsageError(
                "exactly one saving is needed", expected=f"one of {', '.join((*SAVINGS, '--bench'))}", found="none"
            )
    elif change.savings() or change.baseline_us is not None:
        raise UsageError("--bench gives the times itself", found="a saving or --baseline-us beside it")
    elif bench.bench_new is None:
        raise UsageError("which benchmark is the new kernel", expected="--bench-new")
    if change.extra_bytes and change.bandwidth_gbps is None:
        raise UsageError("--extra-bytes needs --bandwidth-gbps", advice="Give the bandwidth a copy really achieves.")


def _standalone(bench: Bench) -> Standalone | None:
    """The times in the benchmark file; None without one."""
    if bench.bench is None or bench.bench_new is None:
        return None
    from trace_budget.bench_files import baseline_and_candidate, read_bench

    times = read_bench(bench.bench, bench.unit)
    return baseline_and_candidate(times, bench.bench_old, bench.bench_new, str(bench.bench))


def gate(answer: Callable[[], str], wanted: str | None, best_first: Sequence[str]) -> GateMissedError | None:
    """The gate that an answer missed, if one was set and it did."""
    if wanted is None or best_first.index(found := answer()) <= best_first.index(wanted):
        return None
    return GateMissedError("the gate was missed", expected=f"{wanted} or better", found=found)


def candidates_of(candidates: CandidateSet | Path | str) -> CandidateSet:
    """A set of candidates as it is, or read from its file."""
    from trace_budget.projection.candidates import read_candidates

    return read_candidates(Path(candidates)) if isinstance(candidates, str | Path) else candidates
