"""What the batch tests share: the question they ask, and the content of a dataset as bytes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from trace_budget.batches.question import Question
from trace_budget.projection.candidates import Candidate
from trace_budget.schema.options import Change, Selection

SAVING_US = 2.0
ATTENTION = Candidate("paged_attention", Change(saving_us=SAVING_US), Selection("paged_attention"))
QUESTION = Question((ATTENTION,))
OPTIONS = ("--kernel", "paged_attention", "--saving-us", str(SAVING_US))


def content(out: Path) -> dict[str, bytes]:
    """Every file of the dataset by its path; what a killed run left half-written is no part of it."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("table=*/**/*") if path.is_file()}


def started(folder: Path | str, out: Path | str, *more: str) -> subprocess.Popen[bytes]:
    """`trace-budget batch` in a process of its own."""
    command = [sys.executable, "-m", "trace_budget", "batch", str(folder), "-o", str(out), *OPTIONS, "-q", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finished(folder: Path | str, out: Path | str, *more: str) -> tuple[int, str]:
    """Its exit code and stderr."""
    process = started(folder, out, *more)
    _, err = process.communicate(timeout=300)
    return process.returncode, err.decode()


def runs_in(out: Path) -> int:
    """How many traces are finished."""
    return len(list(out.glob("table=runs/*/*.parquet")))


def by_path(frame: Any) -> dict[str, dict[str, Any]]:
    """The rows of a frame by their path."""
    return {row["path"]: row for row in frame.to_dicts()}
