"""Judges ranges of inputs in child processes with limits, so that a hang or a killed process is a fault like others."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

HUNG_SECONDS = 120
DATA_BYTES = 6 << 30
PER_CHILD = 4_000
ASK_EVERY = 25
# files are made and removed by the ten thousand: in memory, where there is such a place
_ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "TRACE_BUDGET_CACHE": "off", "TMPDIR": "/dev/shm"}  # noqa: S108
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Tally:
    """What a run found: outcomes by format, and the faults with their seeds."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[dict[str, object]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    largest: tuple[int, int] = (0, -1)

    def add(self, line: dict[str, object]) -> None:
        """Count one judged input."""
        self.outcomes[str(line["format"]), str(line["outcome"])] += 1
        self.codes.update(line["codes"])  # type: ignore[arg-type]
        index = int(line["index"])  # type: ignore[call-overload]
        self.slowest = max(self.slowest, (float(line["seconds"]), index))  # type: ignore[arg-type]
        self.largest = max(self.largest, (int(line["grown_bytes"]), index))  # type: ignore[call-overload]
        if line["fault"]:
            self.faults.append(line)

    @property
    def inputs(self) -> int:
        """How many inputs were judged."""
        return self.outcomes.total()


def lines(seed: int, start: int, stop: int, only: str = "") -> Iterator[dict[str, object]]:
    """One line for each input from `start` to `stop`; a child that hangs or dies is a fault of the input it was at."""
    at = start
    while at < stop:
        end = min(stop, (at // PER_CHILD + 1) * PER_CHILD)
        for line in _of_child(seed, at, end, only):
            yield line
            at = int(line["index"]) + 1  # type: ignore[call-overload]
        if at < end:
            yield {**_line(seed, at, only), "fault": "killed", "detail": f"the child hung {HUNG_SECONDS} s or died"}
            at += 1


def _line(seed: int, index: int, only: str) -> dict[str, object]:
    from .inputs import numbered

    given = numbered(seed, index, only)
    about = {"seed": seed, "index": index, "format": given.sample.format, "sample": given.sample.name}
    outcome = {"outcome": "failed", "seconds": 0.0, "grown_bytes": 0, "codes": ()}
    return {**about, "steps": given.steps, **outcome}


def _of_child(seed: int, start: int, stop: int, only: str) -> Iterator[dict[str, object]]:
    code = f"import sys; sys.path[:0] = ['tests']; from fuzz import run; run.child({seed}, {start}, {stop}, {only!r})"
    # every second child reads Kineto without the accelerator
    pure = {"TRACE_BUDGET_NO_ACCELERATOR": "1"} if start // PER_CHILD % 2 else {}
    environment = os.environ | _ENVIRONMENT | pure
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, env=environment) as running:
        assert running.stdout is not None
        for _ in range(start, stop):
            ready, _, _ = select.select([running.stdout], [], [], HUNG_SECONDS)
            line = running.stdout.readline() if ready else b""
            if not line:
                running.kill()
                return
            yield json.loads(line)


def child(seed: int, start: int, stop: int, only: str) -> None:
    """Judge inputs within limits and write a line about each to stdout."""
    from . import judge
    from .inputs import numbered

    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w", buffering=1)
    for index in range(start, stop):
        given = numbered(seed, index, only)
        verdict = judge.judged(given, ask=index % ASK_EVERY == 0)
        about = {"seed": seed, "index": index, "format": given.sample.format, "sample": given.sample.name}
        # unbuffered line by line: the parent's select sees one line at a time
        out.write(json.dumps({**about, "steps": given.steps, **asdict(verdict)}) + "\n")
