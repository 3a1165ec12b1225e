"""Traces of several ranks merged into one file, whose process ids carry a rank label: one rank of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from trace_budget.errors import InputError
from trace_budget.readers.kineto.collector import Frames

_LABELLED = re.compile(r"(.*?)\s*(-?\d{1,18})")
_RANK = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class OneRank:
    """The rows of one rank; `labels` lists all ranks of the file, empty when it holds one only."""

    frames: Frames
    rank: int | None = None
    label: str = ""
    labels: tuple[str, ...] = ()


def one_rank(frames: Frames, texts: dict[int, str], wanted: int | None, where: str) -> OneRank:
    """Keep the rank `wanted` (the first without it) of a merged file, with the process ids it had before merging.

    `texts` says what synthetic process ids stand for. Correlation ids repeat across ranks, so ranks are never mixed.
    Raises InputError when the wanted rank is not in the file.
    """
    parts = {number: found for number, text in texts.items() if (found := _LABELLED.fullmatch(text))}
    if not parts:
        return OneRank(frames)
    numbers = {number: int(found[2]) for number, found in parts.items()}
    by_label: dict[str, list[int]] = {}
    for number in frames.ops["pid"].unique().drop_nulls().to_list():
        by_label.setdefault(parts[number][1] if number in parts else "", []).append(number)
    labels = tuple(sorted(by_label))
    if len(labels) < 2:
        return OneRank(_renumbered(frames, numbers))
    label = _chosen(labels, wanted, where)
    mine = pl.col("pid").is_in([number for number, found in parts.items() if found[1] == label])
    if not label:  # the processes that no text stands for
        mine = ~pl.col("pid").is_in(list(parts)).fill_null(value=False)
    kept = Frames(*(frame.filter(mine) for frame in _all(frames)))
    return OneRank(_renumbered(kept, numbers), _rank_of(label), label, labels)


def _chosen(labels: tuple[str, ...], wanted: int | None, where: str) -> str:
    if wanted is None:
        return labels[0]
    for label in labels:
        if _rank_of(label) == wanted:
            return label
    raise InputError(
        "no such rank in this merged trace", where=where, expected=f"one of {', '.join(labels)}", found=str(wanted)
    )


def _rank_of(label: str) -> int | None:
    found = _RANK.search(label)
    return int(found[1]) if found else None


def _renumbered(frames: Frames, numbers: dict[int, int]) -> Frames:
    pid = pl.col("pid").replace(list(numbers), list(numbers.values()))
    return Frames(*(frame.with_columns(pid) for frame in _all(frames)))


def _all(frames: Frames) -> tuple[pl.DataFrame, ...]:
    return frames.ops, frames.calls, frames.markers, frames.syncs
