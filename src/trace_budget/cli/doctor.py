"""doctor: what this installation consists of, for bug reports."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

from trace_budget._version import VERSION
from trace_budget.cli._output import Output, emit
from trace_budget.units import show_bytes

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

DISTRIBUTION = "trace-budget"


def doctor(output: Output) -> None:
    """Versions, optional engines and the machine, for bug reports."""
    emit(_report(), output)


def _report() -> Report:
    import polars as pl

    from trace_budget.schema.report import Line, Report, Table, TableColumn

    rows = [*_machine(), *_packages(), *_engines()]
    columns = tuple(TableColumn(key, key) for key in ("item", "found", "note"))
    return Report(
        "trace-budget/doctor/1",
        {"rows": rows},
        lines=(Line(f"{DISTRIBUTION} {VERSION}", "title"),),
        tables=(Table("doctor", "", columns, pl.DataFrame(rows)),),
    )


def _row(item: str, found: str | None, note: str) -> dict[str, str | None]:
    return {"item": item, "found": found, "note": note}


def _machine() -> list[dict[str, str | None]]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [
        _row("python", platform.python_version(), sys.executable),
        _row("system", platform.platform(terse=True), platform.machine()),
        _row("processors", str(os.cpu_count()), ""),
        _row("memory", show_bytes(memory), ""),
    ]


def _packages() -> list[dict[str, str | None]]:
    """Every requirement of this distribution but those of the test extra."""
    rows = []
    for requirement in requires(DISTRIBUTION) or ():
        name, _, marker = requirement.partition(";")
        if "'test'" not in marker.replace('"', "'"):
            bare = re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]
            rows.append(_row(bare, _installed(bare), "optional" if "extra" in marker else "needed"))
    return rows


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _engines() -> list[dict[str, str | None]]:
    """What reads Perfetto files, and where the limit on inflated input can be set."""
    from trace_budget.errors import TraceBudgetError
    from trace_budget.files.inflate import LIMIT_VARIABLE
    from trace_budget.files.trace_processor_routes import find_route

    try:
        route = find_route().description
    except TraceBudgetError:
        route = None
    limit = os.environ.get(LIMIT_VARIABLE)
    return [_row("trace_processor", route, "optional: Perfetto files"), _row("inflate limit", limit, LIMIT_VARIABLE)]
