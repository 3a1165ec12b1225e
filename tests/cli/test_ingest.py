"""ingest on the command line: a folder per trace, bad files are passed over, nothing is overwritten."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
SAMPLES = Path(__file__).parents[2] / "sample_traces"
GOOD = SAMPLES / "kineto" / "integer_us_epoch.json.gz"
BAD = SAMPLES / "broken" / "empty.json"


def test_each_trace_gets_its_folder(run: Run, tmp_path: Path) -> None:
    other = SAMPLES / "rocpd" / "same_run.db"
    result = run("ingest", GOOD, other, "-o", "out")
    assert (result.code, result.out) == (0, b"")
    folders = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "out").iterdir())
    assert folders == ["trace=integer_us_epoch", "trace=same_run"]
    assert result.err.count("Wrote out/trace=") == 2
    again = run("ingest", GOOD, "-o", "out")
    assert (again.code, again.line.endswith("is there already")) == (0, True)
    assert run("ingest", GOOD, "-o", "out", "--force", "-q").err == ""


def test_a_bad_file_is_passed_over_and_told(run: Run, tmp_path: Path) -> None:
    result = run("ingest", BAD, GOOD, "-o", "out", "-q")
    assert result.code == 3
    assert result.line.startswith("trace-budget: 1 of 2 files could not be read: ")
    assert len(list((tmp_path / "out").iterdir())) == 1
    alone = run("ingest", BAD, "-o", "other")
    assert (alone.code, "empty file" in alone.line) == (3, True)
    assert not (tmp_path / "other").exists()


def test_a_folder_that_cannot_be_written(run: Run) -> None:
    result = run("ingest", GOOD, "-o", "/proc/self/out", "-q")
    assert (result.code, "cannot write" in result.line) == (5, True)
