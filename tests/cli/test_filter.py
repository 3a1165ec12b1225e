"""`--kernel` of the commands that list kernels: the rows of the whole table, or the closest names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "sample_traces"
DECODE = SAMPLES / "kineto" / "gdn_decode_gfx936.json.gz"
SUMS = SAMPLES / "kernel_stats_csv" / "hipprof.hipkernel.csv"
LISTS = [("kernels", DECODE), ("threshold", DECODE), ("layers", DECODE), ("kernels", SUMS)]
Run = Callable[..., Any]


def rows(run: Run, *arguments: object) -> list[dict[str, Any]]:
    done = run(*arguments, "--format", "json")
    assert done.code == 0
    found: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return found


@pytest.mark.parametrize(("command", "trace"), LISTS)
def test_the_rows_are_those_of_the_whole_table(run: Run, command: str, trace: Path) -> None:
    whole = rows(run, command, trace)
    wanted = whole[-1]["kernel"]
    assert rows(run, command, trace, "--kernel", wanted) == [row for row in whole if row["kernel"] == wanted]
    assert rows(run, command, trace, "--kernel", "glob:*") == whole


def test_part_of_a_name_may_mean_several(run: Run) -> None:
    assert {row["kernel"] for row in rows(run, "threshold", DECODE, "--kernel", "gdn_")} == {
        "gdn_fused",
        "gdn_out_proj",
    }


@pytest.mark.parametrize(("command", "trace"), LISTS)
def test_a_name_that_is_nowhere_ends_with_the_closest(run: Run, command: str, trace: Path) -> None:
    done = run(command, trace, "--kernel", "gdn_fusd")
    assert (done.code, done.out) == (4, b"")
    assert "no kernel" in done.line
    assert ("  --kernel gdn_fused" in done.err.splitlines()) == (trace == DECODE)
