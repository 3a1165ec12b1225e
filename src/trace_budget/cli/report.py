"""report: the answer as one page with pictures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._change import Changing, Selecting
from trace_budget.cli._groups import option
from trace_budget.cli._options import Judging, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import PANEL, Output, working
from trace_budget.cli._plot import Plot, refuse_plot, write_plot
from trace_budget.errors import UsageError
from trace_budget.files.write import write_bytes

if TYPE_CHECKING:
    from trace_budget.schema.page import Page

Out = Annotated[Path, option(PANEL, "--output", "-o", metavar="FILE.html", text="The page to write.")]
Force = Annotated[
    bool,
    option(PANEL, "--force", text="Overwrite files; also go on when --baseline-us or --calls contradicts the trace."),
]
Quiet = Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")]
Verbose = Annotated[bool, option(PANEL, "--verbose", "-v", text="Say on stderr what was read.")]


@dataclass(frozen=True, slots=True)
class MaybeSelecting(Selecting):
    """Which calls are replaced, if any."""

    kernel: Annotated[
        str,
        option("Select", "--kernel", metavar="NAME", text="The kernel to replace; without one nothing is projected."),
    ] = ""


@dataclass(frozen=True, slots=True)
class MaybeChanging(Changing):
    """What the new kernel does, if one was named."""

    def __post_init__(self) -> None:
        """Raise UsageError for a change that contradicts itself; none at all is no contradiction."""
        if self.told():
            Changing.__post_init__(self)

    def told(self) -> bool:
        """Whether any option of the change was given."""
        return any(getattr(self, field.name) not in (None, False) for field in fields(self))


def report(
    trace: TracePath,
    selecting: MaybeSelecting,
    changing: MaybeChanging,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    out: Out,
    plot: Plot = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """The answer as one self-contained HTML page with pictures.

    With --kernel and one saving: verdict, arithmetic, what every saving is worth, the step before and after. Without:
    what each kernel would have to save. Needs plotly (the extra `report`).
    """
    if bool(selecting.kernel) != changing.told():
        raise UsageError("a replacement needs both", expected="--kernel and one saving, or neither")
    if plot is not None and not selecting.kernel:
        raise UsageError("--plot draws the curve of one kernel", expected="--kernel and one saving")
    output = Output("json", out, force, quiet, verbose)
    refuse_plot(plot, force)
    page = _page(trace, selecting, changing, scoping, tokens, judging, reading, output)
    write_bytes(out, _rendered(page), overwrite=force)
    output.say(f"Wrote {out}")
    curve = page.curve
    if plot is not None and curve is not None:
        write_plot(curve, plot, output)


def _page(
    trace: Path,
    selecting: MaybeSelecting,
    changing: MaybeChanging,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    output: Output,
) -> Page:
    """The page, computed; plotly is looked for first, so that a missing one costs no time."""
    from trace_budget import api
    from trace_budget.render import as_html

    as_html.plotly_js()
    scope, token, policy = scoping.scope(), tokens.token(), judging.policy()
    opened = reading.open(trace, output)
    with working("Projecting", output):
        if not selecting.kernel:
            return api.trace_page(opened, scope, token, policy)
        change = changing.change(output.force)
        return api.candidate_page(opened, selecting.selection(scope.device), change, scope, token, policy)


def _rendered(page: Page) -> bytes:
    from trace_budget.render import as_html

    return as_html.render(page)
