"""The table predicted against realised, on recorded runs; and the one line where there is no accelerator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.gpu_truth.table import Record, table

ROOT = Path(__file__).resolve().parents[2]
BEFORE = (1_000.0, 1_002.0, 998.0, 1_000.0)


def recorded(gain: float, low: float, expected: float, high: float) -> Record:
    return Record("graph", 0.5, low, expected, high, BEFORE, tuple(value - gain for value in BEFORE))


def test_the_realised_saving_is_the_difference_of_the_means() -> None:
    one = recorded(40.0, 38.0, 40.0, 42.0)
    assert one.realised_us == pytest.approx(40.0)
    # standard error of each mean: sqrt(8/3) / 2; of the difference: sqrt(2) times that
    assert one.noise_us == pytest.approx(2 * (2 * (8 / 3) / 4) ** 0.5)


@pytest.mark.parametrize(("gain", "inside"), [(40.0, True), (44.0, True), (50.0, False), (30.0, False)])
def test_inside_allows_for_noise_and_no_more(gain: float, inside: bool) -> None:
    assert recorded(gain, 38.0, 40.0, 42.0).inside is inside


def test_the_table_has_a_row_a_record_and_counts_what_held() -> None:
    page = table([recorded(40.0, 38.0, 40.0, 42.0), recorded(80.0, 38.0, 40.0, 42.0), recorded(0.0, 0.0, 0.0, 0.0)])
    rows = [line for line in page.splitlines() if line.startswith("| graph")]
    assert [row.split(" | ")[-2] for row in rows] == ["yes", "no", "yes"]
    assert rows[1].rstrip(" |").endswith("2.00")
    assert "2 of 3 realised savings lie inside" in page


def test_without_an_accelerator_it_says_so_in_one_line() -> None:
    hidden = "import sys; sys.modules['torch'] = None; import benchmarks.gpu_truth.__main__ as m; m.main()"
    done = subprocess.run([sys.executable, "-c", hidden], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "skipped: no PyTorch here\n"
