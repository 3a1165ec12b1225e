"""The saving of a replacement from a benchmark file instead of typed numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._change import Changing
from trace_budget.cli._groups import option
from trace_budget.cli._values import one_of
from trace_budget.errors import UsageError
from trace_budget.schema.options import Change
from trace_budget.units import US_IN

if TYPE_CHECKING:
    from trace_budget.bench_files import Standalone


@dataclass(frozen=True, slots=True)
class Benchmarked(Changing):
    """What the new kernel does to each call, told or read from a benchmark file."""

    bench: Annotated[
        Path | None,
        option(
            "Change",
            "--bench",
            parser=Path,
            metavar="FILE",
            text="Times from kernel stats, google-benchmark, pytest-benchmark, ncu, or a list of names and times.",
        ),
    ] = None
    bench_old: Annotated[
        str | None, option("Change", "--bench-old", metavar="NAME", text="The old kernel in that file (control).")
    ] = None
    bench_new: Annotated[
        str | None, option("Change", "--bench-new", metavar="NAME", text="The new kernel in that file.")
    ] = None
    unit: Annotated[
        str | None,
        option(
            "Change",
            "--unit",
            parser=one_of(*US_IN),
            metavar="|".join(US_IN),
            text="Its unit, if it says none.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Raise UsageError unless the saving is given once: told, or by a benchmark file."""
        if self.bench is None:
            if self.bench_old or self.bench_new or self.unit:
                raise UsageError("--bench-old, --bench-new and --unit go with --bench")
            Changing.__post_init__(self)
            return
        told = [self.saving_us, self.new_us, self.speedup, self.proxy_us, self.baseline_us]
        if self.free or any(value is not None for value in told):
            raise UsageError("--bench gives the times itself", found="a saving or --baseline-us beside it")
        if self.bench_new is None:
            raise UsageError("which benchmark is the new kernel", expected="--bench-new")
        self._need_bandwidth()

    def _other_ways(self) -> tuple[str, ...]:
        return ("--bench",)

    def standalone(self) -> Standalone | None:
        """The times in the benchmark file; None without one."""
        if self.bench is None or self.bench_new is None:
            return None
        from trace_budget.bench_files import baseline_and_candidate, read_bench

        times = read_bench(self.bench, self.unit)
        return baseline_and_candidate(times, self.bench_old, self.bench_new, str(self.bench))

    def with_times(self, force: bool, standalone: Standalone | None) -> Change:
        """The change, with the times of a benchmark file where there is one."""
        change = self.change(force)
        if standalone is None:
            return change
        return replace(change, new_us=standalone.candidate_us, baseline_us=standalone.baseline_us)
