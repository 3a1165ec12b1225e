"""Stand-ins for the reading of traces and for the questions: they remember what the command line asked for."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import convert

from trace_budget import api as real_api
from trace_budget import questions
from trace_budget.errors import InputError
from trace_budget.schema.documents.others import Check
from trace_budget.schema.documents.project import Verdict
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.schema.trace import Caveat, Trace, empty_trace

ADDED = ("schema", "trace", "caveats")  # by every renderer
GOLDEN = Path(__file__).parents[1] / "golden" / "cli"
PROJECT, CHECK = (
    {key: value for key, value in json.loads((GOLDEN / f"{name}.json").read_text()).items() if key not in ADDED}
    for name in ("project", "check")
)


def answer(verdict: str, trust: str = "good", kind: type[Check | Verdict] = Verdict) -> Report:
    """A report of one row with a verdict and one caveat of each severity."""
    frame = pl.DataFrame({"kernel": ["gdn_fused"], "mean_us": [20.27239]})
    columns = (TableColumn("kernel", "kernel"), TableColumn("mean_us", "mean us", 3))
    caveats = (Caveat("profiled", "a profiled step", 1, "warning"), Caveat("single_step", "one step", 1, "note"))
    return Report(
        "trace-budget/verdict/1",
        convert({**CHECK, **PROJECT, "verdict": verdict, "trust": trust}, kind),
        lines=(Line("the answer", "title"),),
        tables=(Table("kernels", "", columns, frame),),
        caveats=caveats,
    )


class FakeApi:
    """Every question records what it was asked, by the name of its parameters."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Any]] = {}
        self.verdict, self.trust = "NO-GO", "good"

    def open_trace(self, path: Path, *options: object, cache: bool) -> Trace:
        if path.name.startswith("bad"):
            raise InputError("no GPU kernels", where=str(path), advice="Re-record it.")
        self.asked["open_trace"] = {"path": path, "options": options, "cache": cache}
        return empty_trace(str(path), "kineto")

    def open_traces(self, path: Path, *options: object, cache: bool) -> list[Trace]:
        return [self.open_trace(path, *options, cache=cache)]

    def put(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the real ones until the test is over."""
        monkeypatch.setattr(real_api, "open_trace", self.open_trace)
        monkeypatch.setattr(real_api, "open_traces", self.open_traces)
        for name in questions.NAMES:
            monkeypatch.setattr(questions.load(name), name, self.recorder(name, questions.function(name)))

    def recorder(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the same signature that remembers its arguments."""
        signature = inspect.signature(function)

        @wraps(function)
        def record(*arguments: Any, **named: Any) -> Report:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            self.asked[name] = bound.arguments
            return answer(self.verdict, self.trust, Check if name == "check" else Verdict)

        return record
