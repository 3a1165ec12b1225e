"""timeline: the projected step beside the measured one, as a trace that ui.perfetto.dev opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import (
    EVERYTHING,
    NO_BENCH,
    NO_CHANGE,
    Force,
    Inputs,
    MaybeCandidates,
    TracePath,
    candidates_of,
    is_named,
    is_stated,
    one_candidate,
    opened,
)
from trace_budget.errors import UsageError
from trace_budget.schema.answer import Answer, File, Written
from trace_budget.schema.option import option
from trace_budget.schema.options import Bench, Change, Scope, Selection
from trace_budget.schema.values import file_with

if TYPE_CHECKING:
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.schema.timeline import Drawing
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget timeline decode.json.gz -k gdn_fused -s 3.2 -o step.pftrace",
    "trace-budget timeline decode.json.gz candidates.toml -o step.json --steps 2:4",
)

Out = Annotated[
    Path,
    option("Output", "--output", "-o", parse=file_with(".pftrace", ".perfetto-trace", ".json"),
           metavar="FILE.pftrace|json", text="The trace to write: Perfetto's own format, or Chrome trace JSON."),
]  # fmt: skip


def timeline(
    trace: Trace | Path | str,
    wanted: Candidate | CandidateSet | Selection | str,
    scope: Scope = EVERYTHING,
    change: Change = NO_CHANGE,
    bench: Bench = NO_BENCH,
    output: Path | str | None = None,
) -> Drawing:
    """A step (all of `scope.steps`, if given) as measured and as projected, to be drawn in time.

    `wanted` is a candidate or a set of them, or the kernel that `change` or `bench` is about. With `output` it is
    written too, as Chrome JSON (.json) or in Perfetto's format; OutputError when that file exists.
    """
    from trace_budget.api import analyse
    from trace_budget.pages import timeline as timeline_room

    asked = one_candidate(wanted, change, bench).candidate if isinstance(wanted, Selection | str) else wanted
    drawing = timeline_room.timeline(analyse(opened(trace), scope), asked, several=scope.steps is not None)
    if output is not None:
        from trace_budget.io.atomic import write_bytes

        write_bytes(Path(output), _written(drawing, Path(output)), overwrite=False)
    return drawing


def _written(drawing: Drawing, path: Path) -> bytes:
    """The drawing in the format that the suffix asks for."""
    from trace_budget.render import as_timeline

    return as_timeline.chrome(drawing) if path.suffix.lower() == ".json" else as_timeline.perfetto(drawing)


def command(
    trace: TracePath,
    selection: Selection,
    change: Change,
    bench: Bench,
    scope: Scope,
    inputs: Inputs,
    output: Out,
    candidates: MaybeCandidates = None,
    force: Force = False,
) -> Written:
    """The projected step beside the measured one, as a trace to look at.

    Opens in ui.perfetto.dev: a track per stream, before and after, affected kernels, moved waits, the critical path.

    Draws one typical step, or all counted ones of --steps.
    """
    from trace_budget.io.atomic import refuse_existing

    refuse_existing(output, overwrite=force)
    wanted = _wanted(selection, change, bench, candidates)
    read = inputs.open(trace)
    with inputs.console.working("Projecting"):
        drawing = timeline(read, wanted, scope)
        data = _written(drawing, output)
    warnings = tuple(f"{each.severity}: {each.text}" for each in read.caveats if each.severity != "note")
    return Answer(None, (File(output, lambda: data, f": {_summary(drawing)}", warnings),))


def _wanted(selection: Selection, change: Change, bench: Bench, file: Path | None) -> Candidate | CandidateSet:
    """One candidate from the options, or a file of them; UsageError for none or both."""
    named, stated = is_named(selection), is_stated(change, bench)
    if file is not None:
        if named or stated:
            raise UsageError("one candidate or a file of them", expected="--kernel or CANDIDATES.toml, not both")
        return candidates_of(file)
    if not (named and stated):
        raise UsageError("nothing to project", expected="--kernel and one saving, or CANDIDATES.toml")
    return one_candidate(selection, change, bench).candidate


def _summary(drawing: Drawing) -> str:
    """How much was drawn and what it shows."""
    from trace_budget.units import show_us, us_from_ns

    ends = [us_from_ns(end) for end in drawing.ends_ns()]
    return f"{drawing.slices.height:,} slices, {show_us(ends[0])} us measured, {show_us(ends[1])} us projected"
