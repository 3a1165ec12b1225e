"""The CSV of Triton's `perf_report(save_path=…)`: one column a provider, one line a size; it never says its unit.

Spec: triton/testing.py. The first column is the size, the others are what was plotted: times or GB/s or TFLOPS.
"""

from __future__ import annotations

import csv

import polars as pl

from trace_budget.bench_files.contract import BenchFile, BenchFormat, shown, table, times_of, unit_needed
from trace_budget.errors import InputError

SOURCE = "perf_report"
NO_UNIT = "perf_report does not say what its columns are (often GB/s or TFLOPS); if they are times say their unit"


def _lines(file: BenchFile) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in csv.reader(file.text.splitlines()) if row]


def _recognises(file: BenchFile) -> bool:
    lines = _lines(file)[:20] if file.document is None else []
    if len(lines) < 2 or len(lines[0]) < 2:
        return False
    named = any(cell and not _is_number(cell) for cell in lines[0])
    return named and all(_is_sound(line, len(lines[0])) for line in lines[1:])


def _is_sound(line: list[str], width: int) -> bool:
    """Whether a line holds as many cells as the header, all of them numbers."""
    return len(line) == width and all(map(_is_number, line))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    us = unit_needed(file, unit, NO_UNIT)
    head, *lines = _lines(file)
    odd = next((line for line in lines if not _is_sound(line, len(head))), None)
    if odd is not None:
        raise InputError("not a line of times", where=str(file.path), expected=f"{len(head)} numbers", found=shown(odd))
    rows = [
        times_of(f"{provider}[{head[0]}={line[0]}]", [float(line[at]) * us], SOURCE)
        for at, provider in enumerate(head[1:], 1)
        for line in lines
    ]
    return table(rows)


FORMAT = BenchFormat("Triton perf_report CSV (with --unit)", _recognises, _read)
