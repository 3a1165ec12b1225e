"""Names no one foresaw: bytes that are no UTF-8, numbers beyond every column, two members of one name."""

import io
import tarfile
from pathlib import Path

import pytest

from batches.datasets import QUESTION
from batches.variants import longer
from trace_budget.batches.dataset import failure_name
from trace_budget.batches.names import facts_in_path
from trace_budget.batches.run import Workers, batch
from trace_budget.readers.rank_names import rank_in


def test_names_that_are_no_utf8_cost_nothing(few: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("tr\udcfe.json", "tr\udcff.json"):
        (folder / name).write_bytes(b"")
    (folder / "good\udcff_bs4.json.gz").write_bytes(longer(few, 1.0))
    answer = batch(folder, tmp_path / "out", QUESTION, Workers("here"))
    assert answer.table("failures").select("path", "outcome").rows() == [("in/tr?.json", "failed")] * 2
    assert answer.table("runs").select("path", "batch_size").height == 1


def test_a_member_whose_name_is_no_utf8(few: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "traces.tar", "w") as archive:
        for name, data in (("bad_trace\udcff.json", b""), ("good\udcff.json.gz", longer(few, 1.0))):
            facts = tarfile.TarInfo(name)
            facts.size = len(data)
            archive.addfile(facts, io.BytesIO(data))
    answer = batch(tmp_path / "traces.tar", tmp_path / "out", QUESTION, Workers("here"))
    assert answer.table("runs")["path"].to_list() == ["traces.tar!/good?.json.gz"]
    assert answer.table("failures")["path"].to_list() == ["traces.tar!/bad_trace?.json"]


def test_failures_of_names_that_look_alike_keep_files_of_their_own() -> None:
    assert failure_name(None, "in/tr\udcfe.json", False) != failure_name(None, "in/tr\udcff.json", False)


@pytest.mark.parametrize("number", ["9223372036854775808", "9" * 30, "9" * 200])
def test_numbers_beyond_every_column_are_no_rank_and_no_batch_size(number: str) -> None:
    assert facts_in_path(f"Llama-3-8B_bs{number}.json.gz").batch_size is None
    assert rank_in(f"rank{number}.json.gz") is None


def test_the_largest_numbers_that_fit() -> None:
    assert facts_in_path("Llama-3-8B_bs9223372036854775807.json").batch_size == 9223372036854775807
    assert rank_in("rank999999999.json") == 999999999


def test_a_trace_with_such_a_name_is_answered(few: Path, tmp_path: Path) -> None:
    path = tmp_path / "llama_bs99999999999999999999.rank99999999999999999999.json.gz"
    path.write_bytes(longer(few, 1.0))
    answer = batch(path, tmp_path / "out", QUESTION, Workers("here"))
    assert answer.table("runs").height == 1
    assert answer.table("failures").height == 0
