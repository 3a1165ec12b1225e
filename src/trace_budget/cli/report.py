"""report: the answer as one page with pictures."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._bench import Benchmarked
from trace_budget.cli._groups import argument, option
from trace_budget.cli._options import Judging, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import PANEL, Output, working
from trace_budget.cli._plot import Plot, refuse_plot, write_plot
from trace_budget.cli.project import KernelOrSequence
from trace_budget.errors import UsageError
from trace_budget.io.atomic import write_bytes

if TYPE_CHECKING:
    from trace_budget.schema.options import Scope
    from trace_budget.schema.page import Page
    from trace_budget.schema.trace import Trace

Candidates = Annotated[
    Path | None,
    argument("[CANDIDATES.toml]", "The candidate file."),
]
Out = Annotated[Path, option(PANEL, "--output", "-o", metavar="FILE.html", text="The page to write.")]
Force = Annotated[
    bool,
    option(PANEL, "--force", text="Overwrite files; also go on when --baseline-us or --calls contradicts the trace."),
]
Quiet = Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")]
Verbose = Annotated[bool, option(PANEL, "--verbose", "-v", text="Say on stderr what was read.")]


@dataclass(frozen=True, slots=True)
class MaybeSelecting(KernelOrSequence):
    """Which calls are replaced, if any."""

    def __post_init__(self) -> None:
        """Raise UsageError when two things are to be replaced; nothing is no fault."""
        if self.told():
            KernelOrSequence.__post_init__(self)

    def told(self) -> bool:
        """Whether a kernel or a sequence was named."""
        return bool(self.kernel or self.replace)


@dataclass(frozen=True, slots=True)
class MaybeChanging(Benchmarked):
    """What the new kernel does, if one was named."""

    def __post_init__(self) -> None:
        """Raise UsageError for a change that contradicts itself; none at all is no fault."""
        if self.told():
            Benchmarked.__post_init__(self)

    def told(self) -> bool:
        """Whether any option of the change was given."""
        return any(getattr(self, field.name) not in (None, False) for field in fields(self))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the page is about: a candidate file, one candidate, or the trace alone."""

    candidates: Path | None
    selecting: MaybeSelecting
    changing: MaybeChanging

    def check(self, plot: Path | None) -> None:
        """Raise UsageError for options that do not go together."""
        if self.selecting.told() != self.changing.told():
            raise UsageError("a replacement needs both", expected="--kernel and one saving, or neither")
        if self.candidates is not None and self.selecting.told():
            raise UsageError("one candidate or a file of them", expected="--kernel or CANDIDATES.toml, not both")
        if plot is not None and not self.selecting.kernel:
            raise UsageError("--plot draws the curve of one kernel", expected="--kernel and one saving")


def report(
    trace: TracePath,
    selecting: MaybeSelecting,
    changing: MaybeChanging,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    out: Out,
    candidates: Candidates = None,
    plot: Plot = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """The answer as one self-contained HTML page with pictures.

    With --kernel and one saving: verdict, arithmetic, what every saving is worth, the step before and after. With a
    candidate file: all candidates, alone and together. With neither: what each kernel would have to save.

    Needs plotly (the extra `report`).
    """
    from trace_budget.render import as_html

    wanted = _Wanted(candidates, selecting, changing)
    wanted.check(plot)
    output = Output("json", out, force, quiet, verbose)
    refuse_plot(plot, force)
    as_html.plotly_js()
    opened, *beside = reading.open_ranks(trace, output)
    if beside:
        raise UsageError("a page shows one rank", expected="one file as TRACE", found=f"{trace}, a folder of ranks")
    with working("Projecting", output):
        page = _page(wanted, opened, force, scoping.scope(), tokens, judging)
        data = as_html.render(page)
    write_bytes(out, data, overwrite=force)
    output.say(f"Wrote {out}")
    if plot is not None and page.curve is not None:
        write_plot(page.curve, plot, output)


def _page(wanted: _Wanted, trace: Trace, force: bool, scope: Scope, tokens: Tokens, judging: Judging) -> Page:
    """The page, computed."""
    from trace_budget import api
    from trace_budget.projection.candidates import read_candidates

    if wanted.candidates is not None:
        asked = read_candidates(wanted.candidates)
        asked = replace(asked, policy=judging.policy(asked.policy), token=tokens.token(asked.token))
        return api.ranking_page(trace, asked, scope)
    if not wanted.selecting.told():
        return api.trace_page(trace, scope, tokens.token(), judging.policy())
    standalone = wanted.changing.standalone()
    candidate = wanted.selecting.candidate(wanted.changing.with_times(force, standalone), scope.device)
    page = api.candidate_page(trace, candidate, scope, tokens.token(), judging.policy())
    if standalone is None:
        return page
    return replace(page, answer=replace(page.answer, caveats=(*page.answer.caveats, *standalone.caveats(trace))))
