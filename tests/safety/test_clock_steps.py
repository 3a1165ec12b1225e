"""A clock that is set while a batch runs, back or forth: the dataset is the same."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from formats.answers import SAMPLES, said
from safety.tree import files_below

DAYS_S = 86_400
STEPS = {"back": [0, -40], "forth": [0, 40], "to and fro": [0, 3_000, -3_000, 1]}


def dataset(out: Path) -> dict[str, bytes]:
    options = ("--kernel", "paged_attention", "--saving-us", "3", "-q", "--engine", "here")
    assert said("batch", str(SAMPLES / "kineto"), "-o", str(out), *options).code == 0
    return {name: data for name, data in files_below(out).items() if name.startswith("table=")}


@pytest.mark.parametrize("name", STEPS)
def test_a_batch_over_a_clock_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    expected = dataset(tmp_path / "steady")
    assert expected
    true, true_ns = time.time, time.time_ns
    days = itertools.cycle(STEPS[name])
    monkeypatch.setattr(time, "time", lambda: true() + next(days) * DAYS_S)
    monkeypatch.setattr(time, "time_ns", lambda: true_ns() + next(days) * DAYS_S * 1_000_000_000)
    assert dataset(tmp_path / "set") == expected
    assert dataset(tmp_path / "set") == expected
