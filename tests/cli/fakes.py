"""A stand-in for trace_budget.api: remembers what the command line asked for and answers with a hand-made report."""

from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from trace_budget.errors import InputError
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.schema.trace import Caveat, Trace, empty_trace


def answer(verdict: str, trust: str = "good") -> Report:
    """A report of one row with a verdict and one caveat of each severity."""
    frame = pl.DataFrame({"kernel": ["gdn_fused"], "mean_us": [20.27239]})
    columns = (TableColumn("kernel", "kernel"), TableColumn("mean_us", "mean us", 3))
    caveats = (Caveat("profiled", "a profiled step", 1, "warning"), Caveat("single_step", "one step", 1, "note"))
    return Report(
        "trace-budget/verdict/1",
        {"verdict": verdict, "trust": trust},
        lines=(Line("the answer", "title"),),
        tables=(Table("kernels", "", columns, frame),),
        caveats=caveats,
    )


class FakeApi(ModuleType):
    """Every `…_report` function records its arguments under its own name."""

    def __init__(self) -> None:
        super().__init__("trace_budget.api")
        self.asked: dict[str, tuple[Any, ...]] = {}
        self.verdict, self.trust = "NO-GO", "good"

    def open_trace(self, path: Path, *options: object, cache: bool) -> Trace:
        if path.name.startswith("bad"):
            raise InputError("no GPU kernels", where=str(path), advice="Re-record it.")
        self.asked["open_trace"] = (path, *options)
        self.asked["cache"] = (cache,)
        return empty_trace(str(path), "kineto")

    def open_traces(self, path: Path, *options: object, cache: bool) -> list[Trace]:
        return [self.open_trace(path, *options, cache=cache)]

    def __getattr__(self, name: str) -> Any:
        if not name.endswith("_report"):
            raise AttributeError(name)

        def report(*arguments: Any) -> Report:
            self.asked[name] = arguments
            return answer(self.verdict, self.trust)

        return report
