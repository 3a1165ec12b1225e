"""What public integrations of kernels predicted and what came of it: where the usual dilution is taken from."""

from __future__ import annotations

import csv
import statistics
from functools import cache
from importlib.resources import files

from trace_budget.schema.band import Band

NAME = "public_ledger.tsv"


@cache
def rows() -> tuple[dict[str, str], ...]:
    """The table: one public change a row, with its source, times before and after, and realised / predicted."""
    text = (files(__package__) / NAME).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t"))


@cache
def usual_dilution() -> Band:
    """The share of a predicted saving that was realised: lower quartile, median and upper quartile of the table."""
    shares = [float(row["converted"]) for row in rows()]
    low, middle, high = statistics.quantiles(shares, n=4, method="inclusive")
    return Band(round(low, 2), round(middle, 2), round(high, 2))


def source() -> str:
    """Where the usual dilution comes from, in words."""
    band = usual_dilution()
    return f"median of {len(rows())} public integrations, half of them {band.low:g} to {band.high:g}"
