"""compare: predicted against realised, and what else moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import (
    EVERYTHING,
    NO_BENCH,
    CandidateFile,
    Inputs,
    candidates_of,
    is_named,
    is_stated,
    one_candidate,
    opened,
    sequence_of,
)
from trace_budget.errors import GateMissedError, UsageError
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import Argument, Given, option, without
from trace_budget.schema.options import Change, Scope, Selection, TokenInput
from trace_budget.schema.values import one_of, positive

if TYPE_CHECKING:
    from trace_budget.comparison.compare import Asked
    from trace_budget.projection.candidates import Candidate
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget compare before.json.gz after.json.gz -k gdn_fused",
    "trace-budget compare before.json.gz after.json.gz -k gdn_fused -s 3.2 --fail-below 0.3",
)

BASES = ("auto", "step", "recording")
Before = Annotated[Path, Argument("BEFORE", "The trace before the change.")]
After = Annotated[Path, Argument("AFTER", "The trace after it.")]
Basis = Annotated[
    str,
    option("Scope", "--basis", parse=one_of(*BASES), metavar="WHAT",
           text="Compare by step, recording or auto (default: steps where both runs mark the same ones)."),
]  # fmt: skip
NewKernel = Annotated[
    str | None,
    option("Select", "--new-kernel", metavar="NAME",
           text="The new kernel in AFTER (default: what took the old place)."),
]  # fmt: skip
RunNoise = Annotated[
    float | None,
    option("Verdict", "--noise-pct", parse=positive, metavar="F",
           text="Run-to-run noise (sigma), % (default: unknown)."),
]  # fmt: skip
Gate = Annotated[
    float | None,
    option("Verdict", "--fail-below", parse=positive, metavar="PCT", text="Exit with 10 when the step saved less, %."),
]
Force = Annotated[bool, option("Output", "--force", text="Compare devices of different models.")]


def compare(
    before: Trace | Path | str,
    after: Trace | Path | str,
    asked: Asked | str | None = None,
    scope: Scope = EVERYTHING,
    basis: str = "auto",
) -> Report:
    """Did the saving arrive: predicted against realised, and what else moved.

    `asked` says which kernel is in question (its name, or an Asked with what was projected); None: all differences.
    """
    from trace_budget.api import with_timeline
    from trace_budget.comparison.compare import Asked, compare_all, same_model
    from trace_budget.comparison.pairing import paired
    from trace_budget.reports import compare as compare_room

    first, second = opened(before), opened(after)
    for trace in (first, second):
        with_timeline(trace)
    wanted = Asked(in_question(Selection(asked))) if isinstance(asked, str) else asked or Asked()
    same_model(first, second, wanted.force)
    found = compare_all(paired(first, second, scope, basis), wanted)
    return compare_room.compare_report(first, second, found)


def in_question(selection: Selection) -> tuple[Candidate, ...]:
    """Which calls of BEFORE are in question, where nothing is said of their saving."""
    from trace_budget.projection.candidates import Candidate

    if selection.replace:
        return (Candidate("", Change(), None, sequence_of(selection.replace, 0.0)),)
    return (Candidate("", Change(), selection),) if selection.kernel else ()


def command(
    before: Before,
    after: After,
    selection: Selection,
    change: Annotated[Change, without("force")],
    scope: Scope,
    token: Given[TokenInput],
    inputs: Inputs,
    candidates: CandidateFile = None,
    new_kernel: NewKernel = None,
    basis: Basis = "auto",
    noise_pct: RunNoise = None,
    fail_below: Gate = None,
    force: Force = False,
) -> Answer:
    """Did the saving arrive: predicted against realised, and what else moved.

    Aligns two runs by phase, layer and call site. With --kernel: did the new kernel run, did its neighbours grow.

    Without a saving (--saving-us, --new-us, …) the measured change of each call is replayed on BEFORE.
    """
    from trace_budget.comparison.compare import Asked
    from trace_budget.schema.options import Policy

    stated = is_stated(change, NO_BENCH)
    _check(selection, stated, candidates)
    if candidates is not None:
        file = candidates_of(candidates)
        asked = Asked(file.candidates, True, new_kernel, noise_pct, token.over(file.token), file.policy)
    else:
        named = (one_candidate(selection, change).candidate,) if stated else in_question(selection)
        asked = Asked(named, stated, new_kernel, noise_pct, token.over(TokenInput()), Policy())
    asked = replace(asked, force=force)
    report = compare(inputs.open(before), inputs.open(after), asked, scope, basis)
    return Answer(report, failure=_missed(report, fail_below))


def _check(selection: Selection, stated: bool, file: Path | None) -> None:
    """Raise UsageError for options that contradict each other."""
    named = is_named(selection)
    if selection.kernel and selection.replace:
        raise UsageError("what is replaced is needed, once", expected="--kernel or --replace", found="both")
    if selection.position is not None and not named:
        raise UsageError("--position needs --kernel")
    if file is not None and (named or stated):
        raise UsageError("one candidate or a file of them", expected="--kernel or --candidates, not both")
    if stated and not named:
        raise UsageError("a saving needs --kernel", expected="the kernel it was projected for")


def _missed(report: Report, wanted_pct: float | None) -> GateMissedError | None:
    """The gate that the step missed, if it saved less than wanted."""
    from trace_budget.schema.documents.compared import Compared

    if wanted_pct is None or (saved := report.answered(Compared).realised.pct) >= wanted_pct:
        return None
    return GateMissedError("the gate was missed", expected=f"at least {wanted_pct:g} %", found=f"{saved:.3f} % saved")
