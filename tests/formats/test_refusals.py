"""What cannot be read is refused by name, in one line, with the command that gives what can; --from and ties."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from formats.answers import ONE_EACH, SAMPLES, ask
from trace_budget import readers
from trace_budget.contracts import Reader
from trace_budget.schema.trace import empty_trace

BROKEN = SAMPLES / "broken"
BY_CONTENT = (
    ("run.nsys-rep", b"\x01\x02\x03binary", "nsys export --type sqlite run.nsys-rep"),
    ("run.qdrep", b"\x01\x02\x03binary", "nsys export --type sqlite run.qdrep"),
    ("traces.otf2", b"\x01\x02\x03binary", "rocprofv3 --kernel-trace --output-format csv"),
    ("run.ncu-rep", b"\x01\x02\x03binary", "ncu --import run.ncu-rep --csv"),
    ("pmc_perf.csv", b"Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size\n1,k,0,1\n", "rocprofv3 --kernel-trace"),
    ("empty.json", b"", "Record it again"),
    ("text.json", b"hello", "no format that can be read"),
)
BY_SAMPLE = (
    ("lfs_pointer.json", "git lfs pull --include lfs_pointer.json"),
    ("empty.json", "empty file"),
    ("kineto_no_kernels.json", "no GPU kernels"),
    ("hipprof_pmc.csv", "kernels run one by one"),
    ("rocprof_v1_counters.db", "counters"),
    ("rocprofv3_counter_collection.csv", "rocprofv3 --kernel-trace"),
    ("rocprofv3_workers/4242_kernel_trace.csv", "beside it, these have dispatches: 4243_kernel_trace.csv"),
    ("nsys_graph_level_only.sqlite", "--cuda-graph-trace=node"),
    ("nsys_no_kernels.sqlite", "holds no GPU kernels"),
    ("rocpd_no_dispatches.db", "holds no kernel dispatches"),
    ("rocpd_truncated.db", "cut short"),
)
FORMATS = {name: name.partition("/")[0] for name in ONE_EACH}


@pytest.mark.parametrize(("name", "data", "words"), BY_CONTENT)
def test_files_of_other_kinds(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    answer = ask("kernels", str(path))
    assert (answer.code, answer.document) == (3, None)
    assert answer.line.startswith(f"trace-budget: {path}")
    assert words in answer.line


@pytest.mark.parametrize(("name", "words"), BY_SAMPLE)
@pytest.mark.parametrize("command", ["kernels", "check"])
def test_samples_that_hold_no_timeline(name: str, words: str, command: str) -> None:
    answer = ask(command, str(BROKEN / name))
    if command == "check" and name == "kineto_no_kernels.json":
        assert answer.code == 0
        return
    assert (answer.code, answer.document) == (3, None)
    assert words in answer.line


def test_archives_say_how_to_unpack(tmp_path: Path) -> None:
    path = tmp_path / "traces.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SAMPLES / "rocpd/same_run.db", "same_run.db")
    answer = ask("kernels", str(path))
    assert answer.code == 3
    assert "unzip traces.zip" in answer.line


@pytest.mark.parametrize("suffix", [".nsys-rep", ".otf2", ".txt"])
def test_a_suffix_alone_refuses_nothing(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    shutil.copyfile(SAMPLES / "kineto/same_run.json", path)
    assert ask("kernels", str(path)).document["trace"]["format"] == "kineto"


def test_a_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    path = tmp_path / "windows.txt"
    text = (SAMPLES / "rocprofv3_csv/rocm62_kernel_trace.csv").read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text, mtime=0))
    rows = ask("kernels", str(path)).document["rows"]
    assert rows == ask("kernels", str(SAMPLES / "rocprofv3_csv/rocm62_kernel_trace.csv")).document["rows"]


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_wrong_format_is_refused_or_told(name: str) -> None:
    """Never a traceback, and never figures without a warning."""
    for wrong in readers.NAMES:
        if wrong == FORMATS[name]:
            continue
        answer = ask("check", str(SAMPLES / name), "--from", wrong)
        if answer.document is None:
            assert answer.code == 3, (wrong, answer.err)
            assert len(answer.err.splitlines()) == 1
        else:
            assert "format_forced" in {finding["code"] for finding in answer.document["findings"]}, wrong


def test_a_format_that_is_none() -> None:
    answer = ask("kernels", str(SAMPLES / "rpd/same_run.rpd"), "--from", "nonsense")
    assert answer.code == 2
    assert "one of kineto, rocprofv3_json, rocprof_v1_json" in answer.line


def test_a_tie_lists_the_candidates_and_from_resolves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(name: str) -> Reader:
        return Reader(name, name, "", "", lambda head: True, lambda path, options: empty_trace(str(path), name))

    path = tmp_path / "tie"
    path.write_bytes(b"anything")
    monkeypatch.setattr(readers, "NAMES", ("one", "two"))
    monkeypatch.setattr(readers, "load", greedy)
    answer = ask("check", str(path))
    assert answer.code == 3
    assert "could be read as several formats (found one, two)" in answer.line
    named = ask("check", str(path), "--from", "two")
    assert (named.code, named.document["traces"][0]["format"]) == (0, "two")
    assert "format_forced" not in {finding["code"] for finding in named.document["findings"]}


def test_an_unknown_database_lists_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (id)")
        connection.commit()
    assert "SQLite with tables recipes" in ask("steps", str(path)).line
