"""A program that uses the package with types: `mypy --strict` accepts it against the installed wheel, and it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import trace_budget as tb


def answer(path: Path) -> str:
    """The report on one replacement, as its title line."""
    trace: tb.Trace = tb.open_trace(path)
    change = tb.Change(saving_us=3.228, hit_rate=tb.Range(0.9, 1.0))
    report: tb.Report = tb.project(
        trace, tb.Selection("gdn_fused"), change, tb.Scope(phase="decode"), tb.TokenInput(token_ms=44.0), tb.Policy()
    )
    return report.lines[0].text


def rows(path: Path) -> int:
    """Kernels found in a trace."""
    return tb.kernels(tb.open_trace(path)).tables[0].frame.height


def refused(path: Path) -> int:
    """The exit code of a file that is no trace."""
    try:
        tb.open_trace(path)
    except tb.TraceBudgetError as error:
        return error.exit_code
    return 0


if __name__ == "__main__":
    seed = Path(sys.argv[1])
    assert answer(seed) == "gdn_fused"
    assert rows(seed) == 25
    assert refused(Path(__file__)) == 3
