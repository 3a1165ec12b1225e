"""A folder of 200 traces, and the dataset that an undisturbed batch makes of it: written once for all tests here."""

from pathlib import Path

import pytest
from sample_traces.make.many import Facts, write_many

from batches.datasets import QUESTION
from trace_budget.batches.run import Batch, Workers, batch


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Facts]]:
    """185 good traces, 10 broken files, 5 records of graph capture, 3 files that are no traces."""
    folder = tmp_path_factory.mktemp("many") / "many"
    return folder, write_many(folder)


@pytest.fixture(scope="session")
def answered(many: tuple[Path, list[Facts]], tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """The batch over all of it, by two worker processes."""
    out = tmp_path_factory.mktemp("answered") / "out"
    return batch(many[0], out, QUESTION, Workers(jobs=2))


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """36 good traces with the broken files and the records of graph capture."""
    folder = tmp_path_factory.mktemp("few") / "few"
    write_many(folder, traces=36, seed=3)
    return folder


@pytest.fixture(scope="session")
def few_answered(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of an undisturbed batch over the few."""
    out = tmp_path_factory.mktemp("few_answered") / "out"
    batch(few, out, QUESTION, Workers(jobs=2))
    return out
