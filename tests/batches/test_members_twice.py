"""Archives in which a name stands twice, files replaced while a batch runs, a full folder for temporary files."""

import errno
import io
import tarfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from batches.datasets import QUESTION
from batches.variants import attention_us, longer
from trace_budget.batches.run import Workers, batch
from trace_budget.io import archive as archives

NAME = "run/trace.json.gz"


def archive(path: Path, contents: list[bytes]) -> None:
    if path.suffix == ".zip":
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as zipped:
            warnings.simplefilter("ignore")
            for data in contents:
                zipped.writestr(NAME, data)
        return
    with tarfile.open(path, "w") as tarred:
        for data in contents:
            facts = tarfile.TarInfo(NAME)
            facts.size = len(data)
            tarred.addfile(facts, io.BytesIO(data))


@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_of_two_members_with_one_name_the_later_counts(few: Path, tmp_path: Path, ending: str) -> None:
    path, alone = tmp_path / f"d.{ending}", tmp_path / "alone.json.gz"
    alone.write_bytes(longer(few, 4.0))
    archive(path, [longer(few, 1.0), longer(few, 4.0)])
    answer = batch(path, tmp_path / "out", QUESTION, Workers("here"))
    expected = attention_us(batch(alone, tmp_path / "out2", QUESTION, Workers("here")))["alone.json.gz"]
    assert attention_us(answer) == {f"d.{ending}!/{NAME}": expected}
    assert ["stands twice" in reason for reason in answer.table("failures")["reason"]] == [True]


def test_a_file_replaced_after_the_first_look_gives_no_numbers_until_it_is_read_again(
    few: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "b.json.gz", tmp_path / "out"
    path.write_bytes(longer(few, 1.0))
    later = longer(few, 4.0)

    def replace_it(stage: str, done: int, total: int) -> None:
        if stage == "looking" and done == total:
            path.write_bytes(later)

    first = batch(path, out, QUESTION, Workers("here", progress=replace_it))
    assert first.table("runs").height == 0
    assert first.table("failures").select("code", "reason").rows() == [
        ("unreachable", "b.json.gz: changed while it was read. The next batch reads it again.")
    ]
    again = batch(path, out, QUESTION, Workers("here"))
    assert (again.table("runs").height, again.table("failures").height) == (1, 0)
    path.write_bytes(longer(few, 1.0))
    assert batch(path, out, QUESTION, Workers("here")).table("runs").height == 1


def test_a_full_temporary_folder_is_not_blamed_on_the_archive(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(tmp_path / "d.tar", [longer(few, 1.0)])

    told = archives.error_when_full

    @contextmanager
    def full(source: Path) -> Iterator[None]:
        with told(source):
            raise OSError(errno.ENOSPC, "No space left on device")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(archives, "error_when_full", full)
        failed = batch(tmp_path, tmp_path / "out", QUESTION, Workers("here")).table("failures")
    assert failed["code"].to_list() == ["unreachable"]
    assert "no room for a temporary copy" in failed["reason"][0]
    assert batch(tmp_path / "d.tar", tmp_path / "out", QUESTION, Workers("here")).table("runs").height == 1
