"""The tolerant CSV table against Python's csv module, hand-damaged lines and generated files."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared_traces import SHARED, needs_shared
from trace_budget.io.csv import table as csv_table
from trace_budget.io.csv.table import CsvFile, Shape, first_lines, header_cells, read_csv

HEADER = '"Kind","Queue","Kernel_Name","Start","End","Note"'
SHAPE = Shape(
    "rows", lambda cells: "Kernel_Name" in cells, "Kernel_Name", ("Kernel_Name", "Kind"), ("Queue", "Start", "End")
)
NAMES = [
    "void f<float>(float*, int)",
    "g(at::Iter&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>",
    "Cijk_Ailk_Bljk_BBS_BH_MT64x32x256",
    "名前 kernel",
]


def read(tmp_path: Path, data: bytes | str, shapes: tuple[Shape, ...] = (SHAPE,), ends: str = "") -> CsvFile:
    path = tmp_path / "table.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_csv(path, shapes, "Kernel_Name", ends)


def rows(file: CsvFile, index: int = 0) -> list[tuple[str, int, int, int]]:
    frame = file.tables[index].frame
    return list(zip(*(frame[c].to_list() for c in ("Kernel_Name", "Queue", "Start", "End")), strict=True))


def line(name: str, start: int = 10, end: int = 25, queue: str = "1") -> str:
    return f'"K",{queue},"{name}",{start},{end},0\n'


def test_columns_come_by_name_in_any_order(tmp_path: Path) -> None:
    file = read(tmp_path, 'End,Extra,Kernel_Name,Start,Queue\n25,x,"f(int, int)",10,3\n')
    assert rows(file) == [("f(int, int)", 3, 10, 25)]
    assert "Kind" not in file.tables[0].frame.columns


def test_names_with_commas_braces_and_wide_characters(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + "".join(line(name) for name in NAMES))
    assert [row[0] for row in rows(file)] == NAMES
    assert (file.tables[0].repaired, file.tables[0].dropped) == (0, 0)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", ["", "end"])
def test_bom_line_ends_blank_lines_and_a_last_line_without_end(
    tmp_path: Path, ending: str, bom: bytes, last: str
) -> None:
    text = ending.join([HEADER, "", line("f").strip(), "", line("g", queue='"2"').strip()]) + (ending if last else "")
    file = read(tmp_path, bom + text.encode())
    assert rows(file) == [("f", 1, 10, 25), ("g", 2, 10, 25)]
    assert file.damage == ""


@pytest.mark.parametrize(
    "name",
    ['f<"a">(int)', 'f<"a,b","c">(int, int)', '"all quoted"', 'odd"', '"odd', 'f("x"", ""y")', '",', 'a","b'],
)
def test_unescaped_quotes_are_mended_and_neighbours_stay(tmp_path: Path, name: str) -> None:
    file = read(tmp_path, HEADER + "\n" + line("before", 1, 2) + line(name, 3, 4) + line("after", 5, 6))
    assert rows(file) == [("before", 1, 1, 2), (name, 1, 3, 4), ("after", 1, 5, 6)]
    assert (file.tables[0].repaired, file.tables[0].dropped) == (1, 0)


def test_escaped_quotes_are_no_damage(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + line('f<""a"">(int)'))
    assert rows(file) == [('f<"a">(int)', 1, 10, 25)]
    assert file.tables[0].repaired == 0


def test_a_name_broken_over_lines_is_one_record(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + line("one\ntwo, 2\nthree") + line("next") + line('b\n"q" r'))
    assert [row[0] for row in rows(file)] == ["one\ntwo, 2\nthree", "next", 'b\n"q" r']
    assert (file.tables[0].repaired, file.tables[0].dropped) == (2, 0)


def test_lines_that_cannot_be_mended_are_counted_with_their_number(tmp_path: Path) -> None:
    torn = '"K",1,"f",10,25,0"K",1,"g",10,25,0\n'
    file = read(tmp_path, HEADER + "\n" + line("good") + "1,2,3\n" + torn + line("good"))
    table = file.tables[0]
    assert [row[0] for row in rows(file)] == ["good", "good"]
    assert (table.repaired, table.dropped, table.bad_line) == (0, 2, 3)


def test_a_cut_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + line("good") + '"K",1,"half of a na')
    assert [row[0] for row in rows(file)] == ["good"]
    assert file.tables[0].dropped == 1
    assert file.damage == "the last line has no end"


def test_cells_that_are_no_integers_are_unknown(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + 'K,0x7f,"f",None,,0\nK,1.5,"f",99999999999999999999,7,0\n')
    assert rows(file) == [("f", None, None, None), ("f", None, None, 7)]


def test_integers_beyond_float_precision_are_exact(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + line("f", 1712195495604628867, 9223372036854775807))
    assert rows(file) == [("f", 1, 1712195495604628867, 9223372036854775807)]


def test_bytes_that_are_not_utf8_become_replacement_characters(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER.encode() + b"\n" + b'"K",1,"caf\xe9 \xff",10,25,0\n')
    assert rows(file)[0][0] == "caf\ufffd \ufffd"


def test_control_characters_do_not_split_lines_or_cells(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n" + line("a\x01b\x00c\td"))
    assert rows(file) == [("a?b\x00c\td", 1, 10, 25)]


def test_preamble_sections_and_notes(tmp_path: Path) -> None:
    other = "Time,Kernel_Name,Calls,Start,End,Queue\n1,api_call,2,3,4,5\n"
    text = "NOTICE: old\n\nProcessing [x] ...\n" + HEADER + "\n" + line("a") + "\nProcessing [y] ...\n" + other
    text += "Processing [z] ...\n" + HEADER + "\n" + line("b")
    shape = Shape("rows", lambda cells: cells[:1] == ("Kind",), "Kernel_Name", SHAPE.texts, SHAPE.integers)
    file = read(tmp_path, text, (shape,), "^(?:Processing |Time,)")
    assert [[row[0] for row in rows(file, index)] for index in (0, 1)] == [["a"], ["b"]]
    assert sum(table.dropped for table in file.tables) == 0


def test_header_only_and_no_header(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + "\n")
    assert file.tables[0].frame.height == 0
    assert str(file.tables[0].frame["Start"].dtype) == "Int64"
    assert read(tmp_path, "nothing,here\n1,2\n").tables == ()


def test_a_gzip_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    whole = (HEADER + "\n" + "".join(line(f"kernel_{i}", i, i + 5) for i in range(1, 5001))).encode()
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(whole)[:-4000])
    file = read_csv(path, (SHAPE,), "Kernel_Name")
    got = rows(file)
    assert file.damage
    assert 1000 < len(got) < 5000
    assert got == [(f"kernel_{i}", 1, i, i + 5) for i in range(1, len(got) + 1)]


def test_chunks_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEADER + "\n" + "".join(line(NAMES[i % 4] if i % 5 else 'q<"x">', i, i + 3) for i in range(300))
    whole = rows(read(tmp_path, text))
    monkeypatch.setattr(csv_table, "CHUNK_BYTES", 257)
    assert rows(read(tmp_path, text)) == whole
    assert len(whole) == 300


def test_helpers_of_recognition() -> None:
    assert header_cells('\ufeff"Name","Calls" , Total\r\n') == ("Name", "Calls", "Total")
    assert list(first_lines(b"\xef\xbb\xbf\n  \nA,B\n1,2\n", 2)) == []
    assert list(first_lines(b"\xef\xbb\xbf\nA,B\n1,2")) == ["A,B", "1,2"]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x01"), max_size=12)
BIG = st.integers(-(2**63), 2**63 - 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(TEXT, BIG, BIG), min_size=1, max_size=12), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
)
def test_well_formed_files_read_as_the_csv_module_reads_them(tmp_path: Path, data: list, quoting: int) -> None:
    target = io.StringIO()
    writer = csv.writer(target, quoting=quoting, lineterminator="\n")
    writer.writerow(["Kind", "Queue", "Kernel_Name", "Start", "End", "Note"])
    writer.writerows([["K", 1, name, start, end, "n"] for name, start, end in data])
    file = read(tmp_path, target.getvalue())
    got = [(name or "", start, end) for name, _, start, end in rows(file)]
    assert got == data
    assert file.tables[0].dropped == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from('ab",<> '), max_size=12), min_size=1, max_size=8))
def test_unescaped_names_never_change_the_row_count(tmp_path: Path, names: list[str]) -> None:
    text = HEADER + "\n" + "".join(line(name, i, i + 9) for i, name in enumerate(names))
    file = read(tmp_path, text)
    got = rows(file)
    assert [row[2:] for row in got] == [(i, i + 9) for i in range(len(names))]
    # `""` inside a name may stand for one quote; everything else must come back unchanged
    assert all(row[0] == name or row[0] == name.replace('""', '"') for row, name in zip(got, names, strict=True))


@needs_shared
@pytest.mark.parametrize(
    "name", ["llamacpp_decode_kernel_trace.csv", "docs_kernel_trace.csv", "docs_rocm62_kernel_trace.csv"]
)
def test_real_files_equal_the_csv_module(name: str) -> None:
    path = SHARED / "rocprofv3_csv" / name
    shape = Shape(
        "k", lambda c: "Kernel_Name" in c, "Kernel_Name", ("Kernel_Name",), ("Start_Timestamp", "End_Timestamp")
    )
    frame = read_csv(path, (shape,), "Kernel_Name").tables[0].frame
    with path.open(newline="") as handle:
        expected = [
            (r["Kernel_Name"], int(r["Start_Timestamp"]), int(r["End_Timestamp"])) for r in csv.DictReader(handle)
        ]
    assert frame.rows() == expected


def test_a_header_that_lost_its_end_took_a_row_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"Name","Start","End\n"a",1,2\n"b",3,4\n')
    shape = Shape("t", lambda cells: cells[:2] == ("Name", "Start"), "Name", texts=("Name",), integers=("Start",))
    (table,) = read_csv(path, (shape,), "Name").tables
    assert (table.frame["Start"].to_list(), table.dropped, table.bad_line) == ([1, 3], 1, 1)


def test_rows_above_their_header_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text('a note, with a comma\n"a",1,2\n\n"b",3,4\n"Name","Start","End"\n"x",5,6\n')
    shape = Shape("t", lambda cells: cells[:2] == ("Name", "Start"), "Name", texts=("Name",), integers=("Start",))
    (table,) = read_csv(path, (shape,), "Name").tables
    assert (table.frame["Start"].to_list(), table.dropped, table.bad_line) == ([5], 2, 2)


def test_files_with_marks_of_byte_order_can_be_joined(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffStart,Name\n1,f\n\ufeffStart,Name\n3,g\n", encoding="utf-8")
    shape = Shape("t", lambda cells: cells == ("Start", "Name"), "Name", texts=("Name",))
    tables = read_csv(path, (shape,), "^Start").tables
    assert [table.frame["Name"].to_list() for table in tables] == [["f"], ["g"]]
    assert [table.dropped for table in tables] == [0, 0]


@pytest.mark.parametrize(
    ("end", "damage"),
    [
        ("1,f(int)\n2,g(i", "the last line has no end"),
        ("1,f(int)\n2,f(int)", ""),
        ('1,f(int)\n2,"g(int)"', ""),
        ("1,f(int)\n2,g(i\n", ""),
    ],
)
def test_a_last_name_that_may_be_cut_short_is_told(tmp_path: Path, end: str, damage: str) -> None:
    """A name that another row has, or whose quotes are closed, is whole."""
    file = read(tmp_path, "Start,Kernel_Name\n" + end)
    assert file.damage == damage
    assert file.tables[0].frame.height == 2
