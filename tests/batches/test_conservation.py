"""A dataset that loses what was put there: the batch says which files have no answer, and the next one gives them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from batches.datasets import QUESTION, content
from trace_budget.batches.run import ANALYSING, Batch, Workers, batch
from trace_budget.errors import OutputError

fsspec = pytest.importorskip("fsspec")
TABLES = ("runs", "steps", "kernels", "layers", "projections")
TRACES = 6
BROKEN = "bad.trace.json"
Harm = Callable[[], object]


@pytest.fixture(scope="module")
def folder(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six good traces, and one that is none."""
    folder = tmp_path_factory.mktemp("some") / "some"
    folder.mkdir()
    for number, path in enumerate(sorted(few.glob("*_bs*/*/*.json.gz"))[:TRACES]):
        (folder / f"{number}.trace.json.gz").write_bytes(path.read_bytes())
    (folder / BROKEN).write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def undisturbed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    batch(folder, out, QUESTION, Workers("here"))
    return out


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://lost/out"
    fsspec.filesystem("memory").rm("/lost", recursive=True)


def harmed(folder: Path | str, out: Path | str, harm: Harm, engine: str = "here") -> Batch:
    """A batch whose dataset is harmed once, when three of its traces are done."""
    left = [harm]

    def listen(stage: str, done: int, _: int) -> None:
        if stage == ANALYSING and done == 3 and left:
            left.pop()()

    return batch(folder, out, QUESTION, Workers(engine, jobs=1, progress=listen))


def removed(out: Path) -> None:
    shutil.rmtree(out.rename(out.with_name("elsewhere")))


def replaced(out: Path) -> None:
    removed(out)
    out.mkdir()


@pytest.mark.parametrize(("engine", "harm"), [("here", removed), ("here", replaced), ("processes", removed)])
def test_a_dataset_that_vanishes_or_is_replaced_is_missed(
    folder: Path, undisturbed: Path, tmp_path: Path, engine: str, harm: Callable[[Path], None]
) -> None:
    out = tmp_path / "out"
    with pytest.raises(OutputError) as caught:
        harmed(folder, out, lambda: harm(out), engine)
    assert caught.value.exit_code == 5
    line = caught.value.line()
    assert str(out) in line
    if harm is replaced:
        assert "expected 7 files" in line
        assert "0.trace.json.gz" in line
    batch(folder, out, QUESTION, Workers("here"))
    assert content(out) == content(undisturbed)


@pytest.mark.parametrize("table", TABLES)
def test_a_lost_file_is_named_with_its_trace_and_made_again(
    folder: Path, undisturbed: Path, tmp_path: Path, table: str
) -> None:
    out = tmp_path / "out"
    with pytest.raises(OutputError, match=r"lost answers .* some/[0-5]\.trace\.json\.gz") as caught:
        harmed(folder, out, lambda: next(out.glob(f"table={table}/*/*.parquet")).unlink())
    left = [name for name in TABLES if name != table]
    assert f"of which only {', '.join(sorted(left))} is left" in caught.value.line()
    again = batch(folder, out, QUESTION, Workers("here"))
    assert again.resumed == TRACES - 1
    assert content(out) == content(undisturbed)


@pytest.mark.parametrize("table", TABLES)
def test_what_a_finished_dataset_lost_is_made_again(
    folder: Path, undisturbed: Path, tmp_path: Path, table: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed, out)
    for path in list(out.glob(f"table={table}/*/*.parquet"))[:2]:
        path.unlink()
    assert batch(folder, out, QUESTION, Workers("here")).resumed == TRACES - 2
    assert content(out) == content(undisturbed)


def test_a_lost_failure_is_missed_too(folder: Path, undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(OutputError, match=f"some/{BROKEN}"):
        harmed(folder, out, lambda: next(out.glob("table=failures/*/*.parquet")).unlink())
    batch(folder, out, QUESTION, Workers("here"))
    assert content(out) == content(undisturbed)


@pytest.mark.parametrize("harmed_path", ["/lost/out", "/lost/out/table=steps", "/lost/out/table=failures"])
def test_the_same_in_an_object_store(folder: Path, memory: str, harmed_path: str) -> None:
    system = fsspec.filesystem("memory")
    with pytest.raises(OutputError, match="lost answers") as caught:
        harmed(folder, memory, lambda: system.rm(harmed_path, recursive=True))
    assert caught.value.exit_code == 5
    assert "some/" in caught.value.line()
    done = batch(folder, memory, QUESTION, Workers("here"))
    assert (done.table("runs").height, done.table("failures").height) == (TRACES, 1)


def test_everything_found_is_a_run_or_a_failure(folder: Path, undisturbed: Path) -> None:
    done = batch(folder, undisturbed, QUESTION, Workers("here"))
    told = [path for name in ("runs", "failures") for path in done.table(name)["path"].to_list()]
    assert sorted(told) == sorted(f"{folder.name}/{path.name}" for path in folder.iterdir())
