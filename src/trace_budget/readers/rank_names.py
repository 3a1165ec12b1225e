"""What names and first bytes say about ranks: which rank a trace is of, and which job."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_JOB = re.compile(rb'"distributedInfo"\s*:\s*(\{[^{}]*)')
_NUMBER = re.compile(rb'"(rank|world_size)"\s*:\s*"?(\d{1,9})')
_RANK = tuple(re.compile(rf"(?:^|[-_.]){word}[-_]?(\d+)") for word in ("rank", "TP", "tp"))
_MOST_DIGITS = 9  # as in what a trace records: a longer number is no rank
_PARALLEL = re.compile(r"(?:^|[-_.])(?:rank|TP|DP|PP|EP|dp|pp|tp|ep|dcp)[-_]?\d+")
_CLOCK = re.compile(r"(?<=_)\d+(?=\.\d{9,})|\d{5,}")


@dataclass(frozen=True, slots=True)
class PlacedTrace:
    """A trace by its folder, bare name, rank and the number of ranks of its job; None where nothing shows."""

    folder: str
    name: str
    rank: int | None
    world_size: int | None


def rank_in(name: str) -> int | None:
    """The rank a bare name gives: `rank0.….pt.trace.json.gz`, `…-TP-3.trace.json.gz`; `rank` goes before `tp`."""
    found = next((match for pattern in _RANK if (match := pattern.search(name))), None)
    return int(found[1]) if found and len(found[1]) <= _MOST_DIGITS else None


def shared_name(name: str) -> str:
    """The name with ranks, process ids and clock times masked: the same for all ranks of a job."""
    return _CLOCK.sub("#", _PARALLEL.sub("-rank#", name))


def job_facts(part: bytes) -> tuple[int | None, int | None]:
    """Rank and world size, where this part of a Kineto trace holds the job's description."""
    found = _JOB.search(part)
    numbers = {key: int(value) for key, value in _NUMBER.findall(found[1])} if found else {}
    return numbers.get(b"rank"), numbers.get(b"world_size")


def job_labels(found: Sequence[PlacedTrace]) -> list[str]:
    """The job of each trace: folder and name without what differs between ranks, and a number where jobs repeat.

    A trace whose rank nobody states, or that is known to run alone, is a job of its own.
    """
    seen: defaultdict[tuple[str, int | None], int] = defaultdict(int)
    labels: list[str] = []
    for one in found:
        alone = one.rank is None or one.world_size == 1
        stem = "/".join(part for part in (one.folder, one.name if alone else shared_name(one.name)) if part)
        if alone:
            labels.append(stem)
            continue
        seen[stem, one.rank] += 1
        repeat = seen[stem, one.rank]
        labels.append(stem if repeat == 1 else f"{stem} ({repeat})")
    return labels
