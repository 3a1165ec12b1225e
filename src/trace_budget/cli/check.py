"""check: can these traces be trusted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli import _config
from trace_budget.cli._groups import argument, option
from trace_budget.cli._options import Reading
from trace_budget.cli._output import Output, emit
from trace_budget.cli._values import one_of, positive
from trace_budget.errors import GateMissedError, InputError
from trace_budget.schema.options import TRUST

if TYPE_CHECKING:
    from trace_budget.schema.trace import Trace

TracePaths = Annotated[
    list[Path],
    argument("TRACE...", "Trace files, such as one per rank, or folders of them."),
]
TokenMs = Annotated[
    float | None,
    option("Token", "--token-ms", parser=positive, metavar="F", text="Unprofiled time per token (TPOT), ms."),
]


Gate = Annotated[
    str | None,
    option(
        "Verdict",
        "--fail-unless",
        parser=one_of(*TRUST[:-1]),
        metavar="|".join(TRUST[:-1]),
        text="Exit with 10 when a trace is worse.",
    ),
]


def check(
    traces: TracePaths, reading: Reading, output: Output, token_ms: TokenMs = None, fail_unless: Gate = None
) -> None:
    """Can this trace be trusted, and what is wrong with it.

    Of a folder every trace is checked. Goes on past a file it cannot read, lists it, and exits with 3 at the end.
    """
    from trace_budget import api
    from trace_budget.schema.trace import Caveat

    token_ms = token_ms or _config.load().token_ms
    opened, failures = _open_all(traces, reading, output)
    if not opened:
        raise failures[0]
    report = api.check_report(opened, token_ms)
    unread = tuple(Caveat("unreadable_input", failure.line(), severity="error") for failure in failures)
    emit(replace(report, caveats=(*report.caveats, *unread)), output)
    if failures:
        text = "; ".join(failure.line() for failure in failures)
        raise InputError(f"{len(failures)} of {len(opened) + len(failures)} files could not be read: {text}")
    if fail_unless is not None and TRUST.index(trust := str(report.document["trust"])) > TRUST.index(fail_unless):
        raise GateMissedError("the gate was missed", expected=f"{fail_unless} or better", found=trust)


def _open_all(paths: list[Path], reading: Reading, output: Output) -> tuple[list[Trace], list[InputError]]:
    opened: list[Trace] = []
    failures: list[InputError] = []
    for path in paths:
        try:
            inside = _files(path, reading, output)
        except InputError as error:
            failures.append(error)
            continue
        for file, rank in inside:
            try:
                opened.append(reading.open(file, output, rank))
            except InputError as error:
                failures.append(error)
    return opened, failures


def _files(path: Path, reading: Reading, output: Output) -> list[tuple[Path, int | None]]:
    """The file, or every trace in a folder with the rank its name or first bytes tell."""
    from trace_budget.inputs.folder import is_folder, look_into

    if not is_folder(path):
        return [(path, None)]
    folder = look_into(path, reading.from_format)
    for left_out in folder.left_out:
        output.say(f"Left out {left_out.path}: {left_out.reason}")
    return [(one.path, one.rank) for job in folder.jobs for one in job]
