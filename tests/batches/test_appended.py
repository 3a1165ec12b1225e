"""What changes between two batches into one dataset: failures that are none any more, companions, an empty name."""

import os
from pathlib import Path

import pytest

from batches.datasets import QUESTION, content
from batches.variants import longer
from trace_budget.batches.dataset import Dataset
from trace_budget.batches.identify import Identity
from trace_budget.batches.jobs import Planned
from trace_budget.batches.run import Workers, batch
from trace_budget.batches.sources import Source
from trace_budget.batches.work import FAILED, Trouble, record
from trace_budget.errors import UsageError
from trace_budget.inputs.digest import beside, digest_of
from trace_budget.io.store import LocalStore


def test_the_failure_of_a_file_goes_when_a_whole_one_takes_its_place(few: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "rank0.trace.json").write_bytes(b"")
    (folder / "rank1.trace.json").write_bytes(b"")
    first = batch(folder, out, QUESTION, Workers("here"))
    assert first.table("failures")["path"].to_list() == ["in/rank0.trace.json", "in/rank1.trace.json"]
    (folder / "rank0.trace.json").write_bytes(longer(few, 1.0))
    batch(folder, out, QUESTION, Workers("here"))
    dataset = Dataset(LocalStore(str(out)), QUESTION)
    assert dataset.frame("failures", dataset.stems("failures"))["path"].to_list() == ["in/rank1.trace.json"]


def test_the_death_of_a_first_look_goes_when_the_next_one_lives(few: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "one.json.gz", tmp_path / "out"
    path.write_bytes(longer(few, 1.0))
    dataset = Dataset(LocalStore(str(out)), QUESTION)
    for name in ("one.json.gz", "elsewhere.json.gz"):
        dead = Planned(Identity(Source(str(path), name, 1), None), "")
        record(dataset, dead, Trouble(FAILED, "worker_died", f"{name}: died"))
    batch(path, out, QUESTION, Workers("here"), retry_failed=True)
    assert dataset.frame("failures", dataset.stems("failures"))["path"].to_list() == ["elsewhere.json.gz"]


def test_a_companion_of_other_content_and_equal_size_makes_another_trace(tmp_path: Path) -> None:
    main, companion = tmp_path / "1_kernel_trace.csv", tmp_path / "1_hip_api_trace.csv"
    main.write_text("kernels")
    companion.write_text("calls A")
    os.utime(companion, ns=(0, 0))
    before, told = digest_of(main), beside(main)
    assert digest_of(main) == before
    (tmp_path / "new").write_text("calls B")
    os.utime(tmp_path / "new", ns=(0, 0))
    (tmp_path / "new").replace(companion)
    assert beside(main) == told
    assert digest_of(main) != before


def test_a_dataset_without_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no folder for the dataset"):
        batch(tmp_path, "", QUESTION, Workers("here"))
    assert list(tmp_path.iterdir()) == []


def test_jobs_added_later_are_counted_as_in_a_fresh_run(few: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()

    def write(stem: str) -> None:
        for rank in (0, 1):
            facts = {"backend": "nccl", "rank": rank, "world_size": 2}
            data = longer(few, 1.0, distributedInfo=facts, run=f"{stem} {rank}")
            (folder / f"{stem}.rank-{rank}.json.gz").write_bytes(data)

    write("hostA_1713000009")
    batch(folder, out, QUESTION, Workers("here"))
    write("hostA_1713000001")
    batch(folder, out, QUESTION, Workers("here"))
    batch(folder, tmp_path / "fresh", QUESTION, Workers("here"))
    assert content(out) == content(tmp_path / "fresh")
    runs = Dataset(LocalStore(str(out)), QUESTION)
    assert runs.frame("runs", runs.stems("runs"))["job"].n_unique() == 2
