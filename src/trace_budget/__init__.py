"""trace-budget: what a faster kernel does end to end.

The public names below are resolved when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from trace_budget._version import VERSION

TYPE_CHECKING = False  # importing `typing` for it would double the time that `--help` takes
if TYPE_CHECKING:
    from trace_budget.api import check_report as check
    from trace_budget.api import estimate_report as estimate
    from trace_budget.api import kernels_report as kernels
    from trace_budget.api import layers_report as layers
    from trace_budget.api import open_trace, open_traces
    from trace_budget.api import overlap_report as overlap
    from trace_budget.api import project_report as project
    from trace_budget.api import steps_report as steps
    from trace_budget.api import threshold_report as threshold
    from trace_budget.batches.ingest import ingest
    from trace_budget.batches.question import Question
    from trace_budget.batches.run import Batch, Workers, batch
    from trace_budget.errors import TraceBudgetError
    from trace_budget.projection.candidates import Candidate
    from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

__version__ = VERSION

_API = "trace_budget.api"
_OPTIONS = "trace_budget.schema.options"
_HOME = {
    "open_trace": (_API, "open_trace"),
    "open_traces": (_API, "open_traces"),
    "kernels": (_API, "kernels_report"),
    "steps": (_API, "steps_report"),
    "layers": (_API, "layers_report"),
    "overlap": (_API, "overlap_report"),
    "check": (_API, "check_report"),
    "project": (_API, "project_report"),
    "threshold": (_API, "threshold_report"),
    "estimate": (_API, "estimate_report"),
    "batch": ("trace_budget.batches.run", "batch"),
    "Batch": ("trace_budget.batches.run", "Batch"),
    "Workers": ("trace_budget.batches.run", "Workers"),
    "Candidate": ("trace_budget.projection.candidates", "Candidate"),
    "Question": ("trace_budget.batches.question", "Question"),
    "ingest": ("trace_budget.batches.ingest", "ingest"),
    **{name: (_OPTIONS, name) for name in ("Change", "Policy", "Range", "Scope", "Selection", "TokenInput")},
    "Report": ("trace_budget.schema.report", "Report"),
    "Trace": ("trace_budget.schema.trace", "Trace"),
    "TraceBudgetError": ("trace_budget.errors", "TraceBudgetError"),
}

__all__ = [
    "Batch",
    "Candidate",
    "Change",
    "Policy",
    "Question",
    "Range",
    "Report",
    "Scope",
    "Selection",
    "TokenInput",
    "Trace",
    "TraceBudgetError",
    "Workers",
    "__version__",
    "batch",
    "check",
    "estimate",
    "ingest",
    "kernels",
    "layers",
    "open_trace",
    "open_traces",
    "overlap",
    "project",
    "steps",
    "threshold",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)
