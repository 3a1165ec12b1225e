"""check: can these traces be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import Inputs, gate, opened
from trace_budget.errors import InputError, ModelContradictedError, NotInTraceError
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import Argument, option
from trace_budget.schema.options import Scope
from trace_budget.schema.quantities import TRUST
from trace_budget.schema.values import one_of, positive

if TYPE_CHECKING:
    from trace_budget.reports.check import Checked
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget check decode.json.gz --token-ms 44",
    "trace-budget check profile --fail-unless usable",
)

TracePaths = Annotated[list[Path], Argument("TRACE...", "Trace files, such as one per rank, or folders of them.")]
TokenMs = Annotated[
    float | None,
    option("Token", "--token-ms", parse=positive, metavar="F", in_config=True,
           text="Unprofiled time per token (TPOT), ms."),
]  # fmt: skip
Gate = Annotated[
    str | None,
    option("Verdict", "--fail-unless", parse=one_of(*TRUST[:-1]), metavar="|".join(TRUST[:-1]),
           text="Exit with 10 when a trace is worse."),
]  # fmt: skip


ModelPath = Annotated[
    Path | None,
    option("Scope", "--model", parse=Path, metavar="PATH",
           text="The model's config.json, or its folder: confirms the layers."),
]  # fmt: skip


def check(
    traces: Trace | Path | str | Sequence[Trace | Path | str],
    token_ms: float | None = None,
    model: Path | str | None = None,
) -> Report:
    """Whether traces can be trusted; several are taken as ranks of one job. `model`: a config.json, or its folder."""
    from trace_budget.reports import check as check_room
    from trace_budget.units import ns_from_ms

    several = traces if isinstance(traces, Sequence) and not isinstance(traces, str) else [traces]
    read = [opened(trace) for trace in several]
    token_ns = ns_from_ms(token_ms) if token_ms is not None else None
    scope = Scope(model=Path(model) if model is not None else None)
    checked = [_checked(trace, token_ns, scope) for trace in read]
    return check_room.check_report(checked, check_room.across_ranks(read))


def _checked(trace: Trace, token_ns: float | None, scope: Scope) -> Checked:
    from trace_budget.analysis.health import health
    from trace_budget.api import analyse
    from trace_budget.reports.check import Checked, unusable

    if trace.aggregates is not None or trace.gpu_ops.is_empty():
        return Checked(trace, None, trace.caveats)
    try:
        found = analyse(trace, scope)
    except ModelContradictedError:
        raise
    except NotInTraceError as error:
        return Checked(trace, None, (*trace.caveats, unusable(error.line())))
    caveats = (*trace.caveats, *found.steps.caveats, *found.layers.caveats, *health(trace, found.steps, token_ns))
    findings = tuple(dict.fromkeys(caveats))
    return Checked(trace, found, findings)


def command(
    traces: TracePaths,
    inputs: Inputs,
    token_ms: TokenMs = None,
    fail_unless: Gate = None,
    model: ModelPath = None,
) -> Answer:
    """Can this trace be trusted, and what is wrong with it.

    Of a folder every trace is checked. Goes on past a file it cannot read, lists it, and exits with 3 at the end.
    """
    from trace_budget.schema.documents.others import Check
    from trace_budget.schema.trace import Caveat

    read, failures = _open_all(traces, inputs)
    if not read:
        raise failures[0]
    report = check(read, token_ms, model)
    unread = tuple(Caveat("unreadable_input", failure.line(), severity="error") for failure in failures)
    report = replace(report, caveats=(*report.caveats, *unread))
    if failures:
        text = "; ".join(failure.line() for failure in failures)
        return Answer(
            report,
            failure=InputError(f"{len(failures)} of {len(read) + len(failures)} files could not be read: {text}"),
        )
    return Answer(report, failure=gate(lambda: report.answered(Check).trust, fail_unless, TRUST))


def _open_all(paths: list[Path], inputs: Inputs) -> tuple[list[Trace], list[InputError]]:
    read: list[Trace] = []
    failures: list[InputError] = []
    for path in paths:
        try:
            inside = _files(path, inputs)
        except InputError as error:
            failures.append(error)
            continue
        for file, rank in inside:
            try:
                read.append(inputs.open(file, rank))
            except InputError as error:
                failures.append(error)
    return read, failures


def _files(path: Path, inputs: Inputs) -> list[tuple[Path, int | None]]:
    """The file, or every trace in a folder with the rank its name or first bytes give."""
    from trace_budget.inputs.folder import is_folder, look_into

    if not is_folder(path):
        return [(path, None)]
    folder = look_into(path, inputs.options.from_format)
    for left_out in folder.left_out:
        inputs.console.say(f"Left out {left_out.path}: {left_out.reason}")
    return [(one.path, one.rank) for job in folder.jobs for one in job]
