"""Files and folders whose names are not UTF-8: every format is read from them, alone and in a batch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from batches.datasets import content
from formats.answers import ONE_EACH, SAMPLES, SUMS, said
from trace_budget.batches.question import Question
from trace_budget.batches.run import Workers, batch

ODD_FOLDER, ODD = "in\udcfe[1]*", "tr\udcff_"


def placed(name: str, folder: Path, within: str = ODD_FOLDER, before: str = ODD) -> Path:
    """A copy of a sample in a folder and under a name that are not UTF-8."""
    source = SAMPLES / name
    target = folder / within / name.replace("/", "_") / f"{before}{source.name}"
    target.parent.mkdir(parents=True)
    return Path((shutil.copytree if source.is_dir() else shutil.copy)(source, target))


@pytest.mark.parametrize("name", [*ONE_EACH, *SUMS])
def test_a_trace_under_an_odd_name_gives_the_same_answer(tmp_path: Path, name: str) -> None:
    places = (placed(name, tmp_path), placed(name, tmp_path, "in", "tr_"))
    odd, plain = (said("kernels", str(place), "--format", "json") for place in places)
    assert odd.code == 0, odd.err
    assert odd.document["rows"] == plain.document["rows"]


def test_a_batch_over_all_of_them_into_such_a_folder(tmp_path: Path) -> None:
    for name in ONE_EACH:
        placed(name, tmp_path)
    done = batch(tmp_path / ODD_FOLDER, tmp_path / "out\udcff[1]*", Question(), Workers("here"))
    assert done.table("failures").height == 0
    assert done.table("runs").height == len(ONE_EACH)
    again = batch(tmp_path / ODD_FOLDER, tmp_path / "out\udcff[1]*", Question(), Workers("here"))
    assert again.resumed == len(ONE_EACH)
    assert content(tmp_path / "out\udcff[1]*")
