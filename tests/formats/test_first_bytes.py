"""Text that starts like compressed data is text, wherever it stands; archives may hold members without a name."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest

from formats.answers import SAMPLES, said
from trace_budget import api
from trace_budget.io.csv import table as csv_table
from trace_budget.schema.trace import Trace

KERNELS = 63
SAMPLE = SAMPLES / "rocprofv3_csv/same_run_kernel_trace.csv"
ZLIB = {f"zlib {level}": zlib.compress(SAMPLE.read_bytes(), level) for level in (1, 2, 6, 9)}
PACKED = {**ZLIB, "gzip": gzip.compress(SAMPLE.read_bytes(), mtime=0)}
MAGIC = (
    b"x\x01",
    b"x^",
    b"x\x9c",
    b"x\xda",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
    b"BZh9",
    b"\xfd7zXZ\0",
)


def opened(path: Path) -> tuple[int, dict[str, int]]:
    trace: Trace = api.open_trace(path)
    return int((trace.gpu_ops["kind"] == "kernel").sum()), {caveat.code: caveat.count for caveat in trace.caveats}


def test_what_is_tried_here_starts_as_zlib_does() -> None:
    assert {data[:2] for data in ZLIB.values()} == set(MAGIC[:4])


@pytest.mark.parametrize("form", PACKED)
def test_compressed_bytes_behind_the_rows_are_one_chunk_of_damage(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inflated they would be every row a second time."""
    rows = SAMPLE.read_bytes()
    monkeypatch.setattr(csv_table, "CHUNK_BYTES", len(rows) - 3)  # the reader looks for a mark in the first three
    path = tmp_path / SAMPLE.name
    path.write_bytes(rows + PACKED[form])
    kernels, told = opened(path)
    assert kernels == KERNELS
    assert told["damaged_lines_dropped"] >= 1


@pytest.mark.parametrize("magic", MAGIC)
def test_a_chunk_of_lines_that_starts_like_compressed_data(
    magic: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    before, odd, after = b"".join(lines[:20]), magic + lines[20], b"".join(lines[21:])
    monkeypatch.setattr(csv_table, "CHUNK_BYTES", len(before) - 3)
    path = tmp_path / SAMPLE.name
    path.write_bytes(before + odd + after)
    kernels, told = opened(path)
    assert kernels + told.get("damaged_lines_dropped", 0) == KERNELS
    assert kernels >= KERNELS - 1


@pytest.mark.parametrize("magic", [b"x\x01", b"x^", b"x\x9c", b"x\xda"])
def test_a_note_above_the_header_that_starts_like_compressed_data(magic: bytes, tmp_path: Path) -> None:
    path = tmp_path / SAMPLE.name
    path.write_bytes(magic + b"2 runs\n" + SAMPLE.read_bytes())
    assert opened(path)[0] == KERNELS


def test_a_first_kernel_whose_name_starts_like_compressed_data(tmp_path: Path) -> None:
    sample = SAMPLES / "kernel_stats_csv/hipprof.hipkernel.csv"
    path = tmp_path / sample.name
    path.write_bytes(sample.read_bytes().replace(b'"lm_head_gemm_kernel"', b"x^y"))
    sums, clean = api.open_trace(path).aggregates, api.open_trace(sample).aggregates
    assert sums is not None
    assert clean is not None
    assert "x^y" in sums["name"].cast(pl.String).to_list()
    assert sums["calls"].sort().equals(clean["calls"].sort())


def test_an_archive_with_a_nameless_member_says_how_to_unpack(tmp_path: Path) -> None:
    path = tmp_path / "traces.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SAMPLE, "e.csv")
        archive.writestr("folder/", b"")
    path.write_bytes(path.read_bytes().replace(b"e.csv", b"\0.csv"))  # a name ends at the first zero
    answer = said("kernels", str(path))
    assert answer.code == 3
    assert "1 members" in answer.line
    assert "unzip traces.zip" in answer.line
    assert said("batch", str(path), "-o", str(tmp_path / "answers"), "-q").code in (0, 3, 4)


def test_an_archive_with_a_name_that_is_no_text_is_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "traces.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("\u00e9.csv", b"")
    path.write_bytes(path.read_bytes().replace("\u00e9".encode(), b"\xff\xff"))
    answer = said("kernels", str(path))
    assert answer.code == 3
    assert "a damaged zip archive" in answer.line
