"""trace-budget: what a faster kernel does end to end.

The public names below are resolved when they are first used, so that importing the package costs nothing. Every command
has its function of that name; each is found in its file of `trace_budget.questions`.
"""

from __future__ import annotations

from trace_budget._version import VERSION

TYPE_CHECKING = False  # importing `typing` for it would double the time that `--help` takes
if TYPE_CHECKING:
    from typing import Any

    from trace_budget.api import open_trace as open_trace
    from trace_budget.api import open_traces as open_traces
    from trace_budget.batches.question import Question as Question
    from trace_budget.batches.run import Batch as Batch
    from trace_budget.batches.run import Workers as Workers
    from trace_budget.comparison.compare import Asked as Asked
    from trace_budget.errors import TraceBudgetError as TraceBudgetError
    from trace_budget.projection.candidates import Candidate as Candidate
    from trace_budget.projection.candidates import read_candidates as read_candidates
    from trace_budget.questions.batch import batch as batch
    from trace_budget.questions.check import check as check
    from trace_budget.questions.compare import compare as compare
    from trace_budget.questions.doctor import doctor as doctor
    from trace_budget.questions.estimate import estimate as estimate
    from trace_budget.questions.explain import explain as explain
    from trace_budget.questions.formats import formats as formats
    from trace_budget.questions.ingest import ingest as ingest
    from trace_budget.questions.kernels import kernels as kernels
    from trace_budget.questions.layers import layers as layers
    from trace_budget.questions.overlap import overlap as overlap
    from trace_budget.questions.project import project as project
    from trace_budget.questions.rank import rank as rank
    from trace_budget.questions.report import report as report
    from trace_budget.questions.steps import steps as steps
    from trace_budget.questions.threshold import threshold as threshold
    from trace_budget.questions.timeline import timeline as timeline
    from trace_budget.schema.options import (
        Bench as Bench,
    )
    from trace_budget.schema.options import (
        Change as Change,
    )
    from trace_budget.schema.options import (
        Policy as Policy,
    )
    from trace_budget.schema.options import (
        Range as Range,
    )
    from trace_budget.schema.options import (
        Scope as Scope,
    )
    from trace_budget.schema.options import (
        Selection as Selection,
    )
    from trace_budget.schema.options import (
        TokenInput as TokenInput,
    )
    from trace_budget.schema.report import Report as Report
    from trace_budget.schema.trace import Trace as Trace


__version__ = VERSION

_OPTIONS = "trace_budget.schema.options"
_HOME = {
    **dict.fromkeys(("open_trace", "open_traces"), "trace_budget.api"),
    **dict.fromkeys(("Bench", "Change", "Policy", "Range", "Scope", "Selection", "TokenInput"), _OPTIONS),
    **dict.fromkeys(("Candidate", "read_candidates"), "trace_budget.projection.candidates"),
    **dict.fromkeys(("Batch", "Workers"), "trace_budget.batches.run"),
    "Asked": "trace_budget.comparison.compare",
    "Question": "trace_budget.batches.question",
    "Report": "trace_budget.schema.report",
    "Trace": "trace_budget.schema.trace",
    "TraceBudgetError": "trace_budget.errors",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return sorted({*_HOME, *import_module("trace_budget.questions").NAMES, "__version__"})
    home = _HOME.get(name)
    if home is None and not name.startswith("_") and name in import_module("trace_budget.questions").NAMES:
        home = f"trace_budget.questions.{name}"
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
