"""timeline: the projected step beside the measured one, as a trace that ui.perfetto.dev opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace_budget.cli._groups import option
from trace_budget.cli._options import Reading, Scoping, TracePath
from trace_budget.cli._output import PANEL, Output, working
from trace_budget.cli.report import Candidates, MaybeChanging, MaybeSelecting
from trace_budget.errors import UsageError
from trace_budget.io.atomic import write_bytes
from trace_budget.units import show_us, us_from_ns

if TYPE_CHECKING:
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.schema.timeline import Drawing

SUFFIXES = (".pftrace", ".perfetto-trace", ".json")


def timeline_file(value: str | Path) -> Path:
    """A path whose suffix says how it is written."""
    path = Path(value)
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{str(value)!r} ends in none of {', '.join(SUFFIXES)}")
    return path


Out = Annotated[
    Path,
    option(
        PANEL,
        "--output",
        "-o",
        parser=timeline_file,
        metavar="FILE.pftrace|json",
        text="The trace to write: Perfetto's own format, or Chrome trace JSON.",
    ),
]
Force = Annotated[
    bool,
    option(
        PANEL, "--force", text="Overwrite the file; also go on when --baseline-us or --calls contradicts the trace."
    ),
]
Quiet = Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")]
Verbose = Annotated[bool, option(PANEL, "--verbose", "-v", text="Say on stderr what was read.")]


def timeline(
    trace: TracePath,
    selecting: MaybeSelecting,
    changing: MaybeChanging,
    scoping: Scoping,
    reading: Reading,
    out: Out,
    candidates: Candidates = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """The projected step beside the measured one, as a trace to look at.

    Opens in ui.perfetto.dev: a track per stream, before and after, affected kernels, moved waits, the critical path.

    Draws one typical step, or all counted ones of --steps.
    """
    from trace_budget import api
    from trace_budget.render import as_timeline

    output = Output("json", out, force, quiet, verbose)
    wanted = _wanted(selecting, changing, candidates, scoping.device, force)
    opened = reading.open(trace, output)
    with working("Projecting", output):
        drawing = api.timeline(opened, wanted, scoping.scope())
        data = as_timeline.chrome(drawing) if out.suffix.lower() == ".json" else as_timeline.perfetto(drawing)
    write_bytes(out, data, overwrite=force)
    output.say(f"Wrote {out}: {_summary(drawing)}")
    for caveat in opened.caveats:
        if caveat.severity != "note":
            output.say(f"{caveat.severity}: {caveat.text}")


def _wanted(
    selecting: MaybeSelecting, changing: MaybeChanging, file: Path | None, device: int | None, force: bool
) -> Candidate | CandidateSet:
    """One candidate from the options, or a file of them; UsageError for none or both."""
    from trace_budget.projection.candidates import read_candidates

    if file is not None:
        if selecting.told() or changing.told():
            raise UsageError("one candidate or a file of them", expected="--kernel or CANDIDATES.toml, not both")
        return read_candidates(file)
    if not (selecting.told() and changing.told()):
        raise UsageError("nothing to project", expected="--kernel and one saving, or CANDIDATES.toml")
    return selecting.candidate(changing.change(force), device)


def _summary(drawing: Drawing) -> str:
    """How much was drawn and what it shows."""
    ends = [us_from_ns(end) for end in drawing.ends_ns()]
    return f"{drawing.slices.height:,} slices, {show_us(ends[0])} us measured, {show_us(ends[1])} us projected"
