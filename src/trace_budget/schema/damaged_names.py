"""Kernel names in which damage left bytes that are no text: which sound name each may have been."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from trace_budget.schema.trace import Caveat, Trace

CODE = "replacement_characters"
_LOST = "\ufffd"
_LOST_RUN = re.compile(f"{_LOST}+")
_MOST_NAMES, _LONGEST = 256, 4_096  # beyond that a file is damaged as a whole, and every call is in doubt


def damaged_twins(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The damaged ones of `names` that may have been one of `wanted`: U+FFFD is a character that was lost or added."""
    sound = pl.Series([name for name in wanted if _LOST not in name], dtype=pl.String)
    damaged = [name for name in names if _LOST in name]
    return [name for name in damaged[:_MOST_NAMES] if _fits(name, sound)] + damaged[_MOST_NAMES:]


def _fits(damaged: str, sound: pl.Series) -> bool:
    if len(damaged) > _LONGEST:
        return True
    gaps = [f".{{0,{len(run)}}}" for run in _LOST_RUN.findall(damaged)]
    parts = [re.escape(part) for part in _LOST_RUN.split(damaged)]
    pattern = parts[0] + "".join(gap + part for gap, part in zip(gaps, parts[1:], strict=True))
    return bool(sound.str.contains(f"(?s)^{pattern}$").any())  # in linear time, whatever stands in the name


def with_damaged_names(trace: Trace) -> Trace:
    """The trace, with a warning where damaged names of device work take calls from the names they may have been."""
    names = _names(trace)
    damaged = [name for name in names if _LOST in name]
    if not damaged:
        return trace
    if twins := damaged_twins(damaged, names):
        return replace(trace, caveats=_warned(trace.caveats, twins))
    if any(caveat.code == CODE for caveat in trace.caveats):
        return trace
    text = "names hold bytes that are not UTF-8, shown as replacement characters"
    return trace.with_caveats((Caveat(CODE, text, len(damaged), "note", damaged[0]),))


def _warned(caveats: Sequence[Caveat], twins: Sequence[str]) -> tuple[Caveat, ...]:
    text = (
        "kernel names hold bytes that are not UTF-8 and may be other kernels of this trace, damaged: those have more"
        " calls than are counted"
    )
    all_of_them = Caveat(CODE, text, len(twins), "warning", twins[0])
    return (all_of_them, *(caveat for caveat in caveats if caveat.code != CODE))


def _names(trace: Trace) -> list[str]:
    frame = trace.gpu_ops if trace.aggregates is None else trace.aggregates
    return frame["name"].unique(maintain_order=True).drop_nulls().cast(pl.String).to_list()
