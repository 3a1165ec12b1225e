"""compare: predicted against realised, and what else moved."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._change import Changing
from trace_budget.cli._groups import argument, option
from trace_budget.cli._options import Reading, Scoping, Tokens
from trace_budget.cli._output import Output, emit
from trace_budget.cli._values import one_of, positive
from trace_budget.cli.project import KernelOrSequence
from trace_budget.errors import GateMissedError, UsageError

if TYPE_CHECKING:
    from trace_budget.comparison.compare import Asked
    from trace_budget.projection.candidates import Candidate
    from trace_budget.schema.options import Change
    from trace_budget.schema.report import Report

BASES = ("auto", "step", "recording")
Before = Annotated[Path, argument("BEFORE", "The trace before the change.")]
After = Annotated[Path, argument("AFTER", "The trace after it.")]
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
Candidates = Annotated[
    Path | None,
    option("Select", "--candidates", metavar="FILE.toml", text="All candidates of this file, as `rank` took them."),
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
class Suspecting(KernelOrSequence):
    """Which calls of BEFORE are in question; all differences without a name."""

    def __post_init__(self) -> None:
        """Raise UsageError for two things at once, or for a place without a name."""
        if self.kernel or self.replace:
            KernelOrSequence.__post_init__(self)
        elif self.position is not None:
            raise UsageError("--position needs --kernel")

    def suspect(self, change: Change | None, device: int | None) -> tuple[Candidate, ...]:
        """What is in question as a candidate, none when nothing was named."""
        from trace_budget.projection.candidates import Candidate, Sequence
        from trace_budget.schema.options import Change

        if not (self.kernel or self.replace):
            return ()
        if change is not None:
            return (self.candidate(change, device),)
        if self.replace:
            patterns = tuple(part.strip() for part in self.replace.split(",") if part.strip())
            return (Candidate("", Change(), None, Sequence(patterns, 0.0)),)
        return (Candidate("", Change(), self.selection(device)),)


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


def compare(
    before: Before,
    after: After,
    suspecting: Suspecting,
    foretelling: Foretelling,
    scoping: Scoping,
    tokens: Tokens,
    reading: Reading,
    output: Output,
    candidates: Candidates = None,
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

    asked = _asked(suspecting, foretelling, candidates, tokens, scoping.device)
    asked = replace(asked, new_kernel=new_kernel, noise_pct=noise_pct)
    first, second = reading.open(before, output), reading.open(after, output)
    report = api.compare_report(first, second, asked, scoping.scope(), basis)
    emit(report, output)
    if fail_below is not None:
        _keep_gate(report, fail_below)


def _asked(
    suspecting: Suspecting, foretelling: Foretelling, file: Path | None, tokens: Tokens, device: int | None
) -> Asked:
    """What is asked, from options or a candidate file; UsageError for both, or for a saving of no kernel."""
    from trace_budget.comparison.compare import Asked
    from trace_budget.projection.candidates import read_candidates

    named = bool(suspecting.kernel or suspecting.replace)
    if file is not None:
        if named or foretelling.given():
            raise UsageError("one candidate or a file of them", expected="--kernel or --candidates, not both")
        told = read_candidates(file)
        return Asked(told.candidates, stated=True, token=tokens.token(told.token), policy=told.policy)
    if foretelling.given() and not named:
        raise UsageError("a saving needs --kernel", expected="the kernel it was projected for")
    change = foretelling.change(force=False) if foretelling.given() else None
    return Asked(suspecting.suspect(change, device), stated=change is not None, token=tokens.token())


def _keep_gate(report: Report, wanted_pct: float) -> None:
    """Raise GateMissedError when the step saved less than wanted."""
    found = report.document["realised"]
    saved = float(found["pct"]) if isinstance(found, dict) else 0.0
    if saved < wanted_pct:
        raise GateMissedError(
            "the gate was missed", expected=f"at least {wanted_pct:g} %", found=f"{saved:.3f} % saved"
        )
