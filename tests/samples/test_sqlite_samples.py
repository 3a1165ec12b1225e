"""The sample databases are what their generator makes, and hold what their truth says: read here with plain SQL."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
DATABASES = (".db", ".rpd", ".sqlite")


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("samples")
    command = [sys.executable, "-m", "sample_traces.make.sqlite_formats", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def dumped(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return list(connection.iterdump())


def truth_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SAMPLES / name).read_text())
    return document


def rows(name: str, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{SAMPLES / name}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def test_the_files_in_the_tree_hold_what_the_generator_writes(regenerated: Path) -> None:
    made = sorted(path.relative_to(regenerated) for path in regenerated.rglob("*") if path.is_file())
    databases = [name for name in made if name.suffix in DATABASES and name.stem != "rocpd_truncated"]
    assert len(databases) == 21
    # the bytes of a database follow the SQLite library, its content does not
    assert [name for name in databases if dumped(regenerated / name) != dumped(SAMPLES / name)] == []
    truths = [name for name in made if name.suffix == ".json" and name.stem != "rocpd_truncated.truth"]
    assert len(truths) == 21
    assert [name for name in truths if (regenerated / name).read_text() != (SAMPLES / name).read_text()] == []


def test_the_cut_file_is_shorter_than_its_header_says() -> None:
    data = (SAMPLES / "broken/rocpd_truncated.db").read_bytes()
    pages, page_bytes = int.from_bytes(data[28:32], "big"), int.from_bytes(data[16:18], "big")
    assert pages * page_bytes == truth_of("broken/rocpd_truncated.truth.json")["whole_bytes"] > len(data)


def test_the_readme_names_every_sample(regenerated: Path) -> None:
    readme = (SAMPLES / "README.md").read_text()
    names = [path.relative_to(regenerated).as_posix() for path in regenerated.rglob("*") if path.suffix in DATABASES]
    assert [name for name in names if f"`{name}`" not in readme] == []


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        (
            "rocpd/same_run.db",
            "SELECT name, COUNT(*), SUM(end - start), MIN(start), MAX(end) FROM kernels GROUP BY name ORDER BY name",
        ),
        (
            "rpd/same_run.rpd",
            "SELECT s.string, COUNT(*), SUM(end - start), MIN(start), MAX(end) FROM rocpd_op JOIN rocpd_string s"
            " ON s.id = description_id WHERE s.string != '' GROUP BY 1 ORDER BY 1",
        ),
        (
            "nsys_sqlite/same_run.sqlite",
            "SELECT value, COUNT(*), SUM(end - start), MIN(start), MAX(end) FROM CUPTI_ACTIVITY_KIND_KERNEL"
            " JOIN StringIds ON id = demangledName GROUP BY 1 ORDER BY 1",
        ),
        (
            "hipprof_db/same_run.db",
            "SELECT STR_NAME, COUNT(*), SUM(EndNs - BeginNs), MIN(BeginNs), MAX(EndNs) FROM HIPOPS_4242_1712195495"
            " JOIN STR_TABLE ON STR_ID = CAST(Name AS INTEGER) AND TYPE = 6 GROUP BY 1 ORDER BY 1",
        ),
        (
            "rocprof_v1_db/same_run.db",
            "SELECT Name, COUNT(*), SUM(EndNs - BeginNs), MIN(BeginNs), MAX(EndNs) FROM OPS WHERE Name NOT LIKE '<%'"
            " GROUP BY 1 ORDER BY 1",
        ),
    ],
)
def test_the_truth_of_the_described_run_is_in_the_file(name: str, kernels: str) -> None:
    truth, found = truth_of(str(Path(name).with_suffix(".truth.json"))), rows(name, kernels)
    assert {row[0]: row[1] for row in found} == truth["calls_by_kernel"]
    assert {row[0]: row[2] for row in found} == truth["sum_ns_by_kernel"]
    assert max(row[4] for row in found) == truth["last_end_ns"]
    assert min(row[3] for row in found) > truth["first_start_ns"] > 1 << 53
