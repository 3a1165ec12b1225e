"""Parquet files one by one: what is damaged, grows too far or is none is refused by its name, and never ends Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from trace_budget.errors import InputError
from trace_budget.io import parquet_file
from trace_budget.io.parquet_folder import ParquetFolder

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces/nsys_parquetdir/same_run"
COPIES = SAMPLE / "CUPTI_ACTIVITY_KIND_MEMCPY.parquet"


@pytest.mark.parametrize("file", sorted(SAMPLE.glob("*.parquet")), ids=lambda file: file.stem)
def test_the_tables_are_those_that_polars_reads(file: Path) -> None:
    assert parquet_file.read(file).equals(pl.read_parquet(file))
    assert parquet_file.column_names(file) == list(pl.read_parquet_schema(file))
    first = parquet_file.column_names(file)[:1]
    assert parquet_file.read(file, first).columns == first


@pytest.mark.parametrize("byte", [0x00, 0x39, 0x7F, 0xFF])
def test_one_changed_byte_anywhere_is_read_or_refused(tmp_path: Path, byte: int) -> None:
    """Some of these end the process in the Parquet reader of Polars 2.1 ("negative number of values")."""
    whole, path = COPIES.read_bytes(), tmp_path / "x.parquet"
    refused: list[InputError] = []
    for at in range(0, len(whole), 17):
        path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        try:
            assert parquet_file.read(path).width <= 16
        except InputError as error:
            refused.append(error)
    assert len(refused) > 10
    assert all(error.where == str(path) and "\n" not in error.line() for error in refused)


def test_a_cut_file_an_empty_one_and_one_of_another_kind(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"PAR1", COPIES.read_bytes()[:-9], b"{}", b"PAR1" + b"\xff" * 400 + b"PAR1")):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(data)
        for ask in (parquet_file.read, parquet_file.facts, parquet_file.column_names):
            with pytest.raises(InputError, match="cannot be read"):
                ask(path)


def test_equal_values_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "equal.parquet"
    pl.DataFrame({"a": pl.Series([7]).new_from_index(0, 400_000)}).write_parquet(path)
    assert path.stat().st_size < 10_000
    assert parquet_file.read(path).height == 400_000
    monkeypatch.setenv("TRACE_BUDGET_INFLATE_LIMIT", "1000000")
    with pytest.raises(InputError, match=r"inflates too far \(expected at most 1000000 bytes, found 3200000 bytes"):
        parquet_file.read(path)
    monkeypatch.setenv("TRACE_BUDGET_INFLATE_LIMIT", "4000000")
    assert parquet_file.read(path).height == 400_000


def test_a_table_without_any_wanted_column_has_no_rows(tmp_path: Path) -> None:
    shutil.copyfile(COPIES, tmp_path / "t.parquet")
    frame = ParquetFolder(tmp_path).read("t", {"x": pl.Int64(), "y": pl.String()})
    assert frame.shape == (0, 2)


ENUM = pl.Enum(["x", "y;z", "é", "", "12;3"])


def test_enums_come_back_with_all_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    frame = pl.DataFrame({"a": pl.Series(["x", "y;z", None, "é", ""], dtype=ENUM), "b": range(5)})
    frame.write_parquet(path)
    assert parquet_file.read(path).equals(frame)
    assert parquet_file.read(path).schema == frame.schema


@pytest.mark.parametrize("damage", [b"9;x3;y;z", b"x;x3;y;z", b"1;x1;x;z", b"-;x3;y;z", b"1;q3;y;z", b"1;x3;\xff;z"])
def test_damaged_texts_of_an_enum_are_refused_without_a_panic(
    tmp_path: Path, damage: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """The note stands base64-coded in the Arrow schema: it is damaged there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "e.parquet"
    pl.DataFrame({"a": pl.Series(["x", "y;z"], dtype=ENUM)}).write_parquet(path)
    table = pq.read_table(path)
    (key,) = table.schema.field("a").metadata
    noted = {key: table.schema.field("a").metadata[key].replace(b"1;x3;y;z", damage)}
    schema = pa.schema([table.schema.field("a").with_metadata(noted)])
    pq.write_table(pa.table([table.column("a")], schema=schema), path)
    with pytest.raises(InputError, match="cannot be read"):
        parquet_file.read(path)
    assert capfd.readouterr().err == ""
