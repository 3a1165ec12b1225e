"""doctor: what this installation consists of, for bug reports."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

from trace_budget._version import VERSION
from trace_budget.units import show_bytes

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget doctor",
    "trace-budget doctor --format json",
)

DISTRIBUTION = "trace-budget"
# Extras for working on the project, not for using it.
FOR_DEVELOPERS = {"docs", "test"}


def doctor() -> Report:
    """Versions, optional engines and the machine, for bug reports."""
    import polars as pl

    from trace_budget.schema.documents.others import Doctor
    from trace_budget.schema.report import Line, Report, Table, TableColumn

    rows = [*_machine(), *_packages(), *_engines()]
    columns = (TableColumn("item", "item"), *(TableColumn(key, key, prose=True) for key in ("found", "note")))
    return Report(
        "trace-budget/doctor/1",
        Doctor(VERSION, rows),
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
    """Every requirement of this distribution but those for its developers, with the extra that brings it."""
    notes: dict[str, str] = {}
    for requirement in requires(DISTRIBUTION) or ():
        name, _, marker = requirement.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)", marker)
        if extra is None or extra[1] not in FOR_DEVELOPERS:
            bare = re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]
            notes.setdefault(bare, f"extra: {extra[1]}" if extra else "needed")
    return [_row(name, _installed(name), note) for name, note in notes.items()]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> dict[str, str | None]:
    from trace_budget.inputs.cache import FOLDER_VARIABLE, MOST_BYTES, OFF, cache_folder, held_bytes

    home = cache_folder()
    if home is None:
        return _row("cache", None, f"switched off by {FOLDER_VARIABLE}")
    note = (
        f"{show_bytes(held_bytes(home))} of at most {show_bytes(MOST_BYTES)}; safe to delete; {FOLDER_VARIABLE}={OFF}"
    )
    return _row("cache", str(home), note)


def _compiled() -> list[dict[str, str | None]]:
    """The two parts in C, and what stands in for them where no compiler was found or the user wants none."""
    from trace_budget.projection.replay import native
    from trace_budget.readers.kineto import scan

    parts = (
        ("kineto engine", "reads Kineto JSON", "msgspec", scan.built_library(), scan.find_scanner()),
        ("replay engine", "replays what kernels wait for", "python", native.built_library(), native.chosen_library()),
    )
    return [
        _row(
            item,
            "c" if used else other,
            f"{task}; {scan.SWITCH}=1 for {other}"
            if built
            else f"{task}, slower: no compiler was found at installation",
        )
        for item, task, other, built, used in parts
    ]


def _engines() -> list[dict[str, str | None]]:
    """What reads Kineto and Perfetto files, how far compressed input may grow, and what is kept of large traces."""
    from trace_budget.errors import TraceBudgetError
    from trace_budget.io.inflate import LIMIT_VARIABLE, limits
    from trace_budget.io.perfetto.routes import find_route

    try:
        route = find_route().description
    except TraceBudgetError:
        route = None
    allowed = limits()
    most = show_bytes(allowed.total_bytes)
    shown = most if allowed.ratio is None else f"{allowed.ratio} x its size, at most {most}"
    return [
        *_compiled(),
        _row("trace_processor", route, "reads Perfetto files"),
        _row("inflate limit", shown, f"of compressed files; {LIMIT_VARIABLE} sets bytes"),
        _cache(),
    ]
