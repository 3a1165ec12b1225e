"""compare: predicted against realised, and what else moved."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace_budget.cli._change import Changing, Selecting
from trace_budget.cli._groups import option
from trace_budget.cli._options import Reading, Scoping, Tokens
from trace_budget.cli._output import Output, emit
from trace_budget.cli._values import one_of, positive, whole
from trace_budget.errors import GateMissedError, UsageError

if TYPE_CHECKING:
    from trace_budget.schema.options import Change, Selection
    from trace_budget.schema.report import Report

BASES = ("auto", "step", "recording")
Before = Annotated[Path, typer.Argument(metavar="BEFORE", help="The trace before the change.", show_default=False)]
After = Annotated[Path, typer.Argument(metavar="AFTER", help="The trace after it.", show_default=False)]
Basis = Annotated[
    str,
    option(
        "Scope",
        "--basis",
        parser=one_of(*BASES),
        metavar="WHAT",
        text="Compare by step, recording or auto (default: steps where both runs mark the same ones).",
    ),
]
NewKernel = Annotated[
    str | None,
    option(
        "Select", "--new-kernel", metavar="NAME", text="The new kernel in AFTER (default: what took the old place)."
    ),
]
RunNoise = Annotated[
    float | None,
    option(
        "Verdict", "--noise-pct", parser=positive, metavar="F", text="Run-to-run noise (sigma), % (default: unknown)."
    ),
]
Gate = Annotated[
    float | None,
    option("Verdict", "--fail-below", parser=positive, metavar="PCT", text="Exit with 10 when the step saved less, %."),
]


@dataclass(frozen=True, slots=True)
class Suspecting:
    """Which calls of BEFORE are in question; all differences without a name."""

    kernel: Annotated[
        str | None,
        option("Select", "--kernel", metavar="NAME", text="The old kernel: exact name, a part of it, glob:… or re:…"),
    ] = None
    position: Annotated[
        int | None,
        option("Select", "--position", parser=whole(0), metavar="N", text="Only the call site at this place."),
    ] = None
    all_matches: Annotated[
        bool, option("Select", "--all-matches", text="Take every kernel that matches, not exactly one.")
    ] = False

    def selection(self) -> Selection | None:
        """The selection in BEFORE, None when no kernel was named; UsageError for a place without a name."""
        if self.kernel is None:
            if self.position is not None:
                raise UsageError("--position needs --kernel")
            return None
        return Selecting(self.kernel, self.position, all_matches=self.all_matches).selection(None)


@dataclass(frozen=True, slots=True)
class Foretelling(Changing):
    """What was foretold of the new kernel; without it the measured change of each call is."""

    def __post_init__(self) -> None:
        """Raise UsageError for several savings, or costs without one."""
        if self.given():
            Changing.__post_init__(self)

    def given(self) -> bool:
        """Whether anything was foretold."""
        return any(getattr(self, each.name) not in (None, False) for each in fields(self))

    def foretold(self, selection: Selection | None) -> Change | None:
        """The change, None when nothing was foretold; UsageError when it does not say of which kernel."""
        if not self.given():
            return None
        if selection is None:
            raise UsageError("a saving needs --kernel", expected="the kernel it was projected for")
        return self.change(force=False)


def compare(
    before: Before,
    after: After,
    suspecting: Suspecting,
    foretelling: Foretelling,
    scoping: Scoping,
    tokens: Tokens,
    reading: Reading,
    output: Output,
    new_kernel: NewKernel = None,
    basis: Basis = "auto",
    noise_pct: RunNoise = None,
    fail_below: Gate = None,
) -> None:
    """Did the saving arrive: predicted against realised, and what else moved.

    Aligns two runs by phase, layer and call site. With --kernel: did the new kernel run, did its neighbours grow.

    Without a saving (--saving-us, --new-us, …) the measured change of each call is replayed on BEFORE.
    """
    from trace_budget import api
    from trace_budget.projection.compare import Asked

    selection = suspecting.selection()
    asked = Asked(selection, foretelling.foretold(selection), new_kernel, noise_pct, tokens.token())
    first, second = reading.open(before, output), reading.open(after, output)
    report = api.compare_report(first, second, asked, scoping.scope(), basis)
    emit(report, output)
    if fail_below is not None:
        _keep_gate(report, fail_below)


def _keep_gate(report: Report, wanted_pct: float) -> None:
    """Raise GateMissedError when the step saved less than wanted."""
    found = report.document["realised"]
    saved = float(found["pct"]) if isinstance(found, dict) else 0.0
    if saved < wanted_pct:
        raise GateMissedError(
            "the gate was missed", expected=f"at least {wanted_pct:g} %", found=f"{saved:.3f} % saved"
        )
