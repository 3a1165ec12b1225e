"""ingest: the canonical tables of traces as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import Inputs, opened
from trace_budget.errors import InputError
from trace_budget.schema.answer import Answer, Written
from trace_budget.schema.option import Argument, option

if TYPE_CHECKING:
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget ingest decode.json.gz -o tables",
    "trace-budget ingest rank0.json.gz rank1.json.gz -o tables",
)

Traces = Annotated[list[Path], Argument("TRACE...", "Trace files to read.")]
Out = Annotated[
    Path, option("Output", "--output", "-o", metavar="OUT", text="Folder to add to; each trace gets one in it.")
]
Force = Annotated[bool, option("Output", "--force", text="Write a trace again that is there already.")]


def ingest(
    trace: Trace | Path | str, out: Path | str, overwrite: bool = False, rank: int | None = None
) -> tuple[Path, bool]:
    """Write the tables of a trace into its own folder below `out`; the folder, and whether it was written now.

    The name holds the trace's file name and a digest of its content, and `rank` where it was given, not read: the
    same trace is written once. Raises OutputError when it cannot be written.
    """
    from trace_budget.batches.ingest import ingest as write
    from trace_budget.io.atomic import output_error

    read = opened(trace)
    try:
        return write(read, out, overwrite, rank)
    except OSError as error:  # a folder above that cannot be entered, a name too long
        raise output_error(Path(out), error) from error


def command(traces: Traces, inputs: Inputs, output: Out, force: Force = False) -> Written:
    """The tables of traces as Parquet, for Polars, pandas, DuckDB and Spark.

    Every command takes such a folder as its TRACE, without parsing again. Goes on past a file it cannot read, and
    exits with 3 at the end.
    """
    failures: list[InputError] = []
    for path in traces:
        try:
            folder, written = ingest(inputs.open(path), output, force, inputs.options.rank)
            inputs.console.say(f"Wrote {folder}" if written else f"{folder} is there already")
        except InputError as error:
            failures.append(error)
    if failures and len(traces) == 1:
        raise failures[0]
    text = "; ".join(failure.line() for failure in failures)
    failed = InputError(f"{len(failures)} of {len(traces)} files could not be read: {text}")
    return Answer(failure=failed if failures else None)
