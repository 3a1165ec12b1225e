"""ingest: the canonical tables of traces as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._groups import argument, option
from trace_budget.cli._options import Reading
from trace_budget.cli._output import PANEL, Output
from trace_budget.errors import InputError
from trace_budget.io.atomic import output_error

if TYPE_CHECKING:
    from trace_budget.schema.trace import Trace

Traces = Annotated[list[Path], argument("TRACE...", "Trace files to read.")]
Out = Annotated[
    Path, option(PANEL, "--output", "-o", metavar="OUT", text="Folder to add to; each trace gets one in it.")
]
Force = Annotated[bool, option(PANEL, "--force", text="Write a trace again that is there already.")]
Quiet = Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")]


def ingest(traces: Traces, reading: Reading, out: Out, force: Force = False, quiet: Quiet = False) -> None:
    """The tables of traces as Parquet, for Polars, pandas, DuckDB and Spark.

    Every command takes such a folder as its TRACE, without parsing again. Goes on past a file it cannot read, and
    exits with 3 at the end.
    """
    output = Output(format="json", quiet=quiet)
    failures: list[InputError] = []
    for path in traces:
        try:
            trace = reading.open(path, output)
            folder, written = _written(trace, out, force, reading.rank)
            output.say(f"Wrote {folder}" if written else f"{folder} is there already")
        except InputError as error:
            failures.append(error)
    if failures and len(traces) == 1:
        raise failures[0]
    if failures:
        text = "; ".join(failure.line() for failure in failures)
        raise InputError(f"{len(failures)} of {len(traces)} files could not be read: {text}")


def _written(trace: Trace, out: Path, force: bool, rank: int | None) -> tuple[Path, bool]:
    from trace_budget.batches.ingest import ingest as write

    try:
        return write(trace, out, force, rank)
    except OSError as error:  # a folder above that cannot be entered, a name too long
        raise output_error(out, error) from error
