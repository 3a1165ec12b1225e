"""A kernel trace in CSV that another program wrote again: read where it is exact, refused with the cause where not."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import nsys_text, rocprof_text, rocprofv3_text
from sample_traces.make import run_description as described

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

TEXT = rocprofv3_text.kernel_trace(run.RUN)
STAMPS = ("Start_Timestamp", "End_Timestamp")


def read(folder: Path, content: bytes) -> Trace:
    path = folder / "out_kernel_trace.csv"
    path.write_bytes(content)
    return detect(path).read(path, ReadOptions())


def rewritten(text: str, stamp: Callable[[str], str]) -> str:
    """The table with every stamp written anew, as a data frame or a spreadsheet saves it."""
    header, *rows = [line.split(",") for line in text.splitlines()]
    places = [header.index(f'"{name}"') for name in STAMPS]
    for row in rows:
        for place in places:
            row[place] = stamp(row[place])
    return "".join(",".join(row) + "\n" for row in [header, *rows])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("packed", [False, True])
def test_other_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    content = TEXT.replace("\n", "\r\n").encode(encoding)
    trace = read(tmp_path, gzip.compress(content) if packed else content)
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert trace.complete


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path: Path, separator: str) -> None:
    name, inside = '"paged_attention_kernel"', "," if separator == "\t" else separator
    quoted = TEXT.replace(",", separator).replace(name, f'"attention<a;b>({inside})"')
    trace = read(tmp_path, quoted.encode())
    expected = [
        (f"attention<a;b>({inside})" if kernel == name.strip('"') else kernel, *times)
        for kernel, *times in run.expected_kernels()
    ]
    assert run.kernel_rows(trace) == expected


def test_decimal_commas_of_nsys_in_microseconds(tmp_path: Path) -> None:
    rows = nsys_text.gpu_trace(run.RUN, unit="us").splitlines()
    assert "." in rows[1]
    path = tmp_path / "cuda_gpu_trace.csv"
    path.write_text("".join(line.replace(",", ";").replace(".", ",") + "\n" for line in rows))
    trace = detect(path).read(path, ReadOptions())
    assert run.kernel_rows(trace) == run.expected_kernels(-described.T0_NS)


def test_floats_of_whole_nanoseconds(tmp_path: Path) -> None:
    shift = described.T0_NS - 7_000_000_000_000
    trace = read(tmp_path, rewritten(TEXT, lambda stamp: f"{int(stamp) - shift}.0").encode())
    assert run.kernel_rows(trace) == run.expected_kernels(-shift)
    half = rewritten(TEXT, lambda stamp: f"{int(stamp) - shift}{'.0' if int(stamp) % 2 else ''}")
    assert run.kernel_rows(read(tmp_path, half.encode())) == run.expected_kernels(-shift)


def test_exponents_with_all_their_digits(tmp_path: Path) -> None:
    text = rewritten(TEXT, lambda stamp: f"{stamp[0]}.{stamp[1:]}E+{len(stamp) - 1}")
    assert run.kernel_rows(read(tmp_path, text.encode())) == run.expected_kernels()


@pytest.mark.parametrize(
    ("stamp", "found"),
    [
        (lambda stamp: f"{float(stamp):.5E}", "E+18"),
        (lambda stamp: f"{float(stamp)!r}", "e+18"),
        (lambda stamp: f"{float(stamp):.1f}", ".0"),
        (lambda stamp: f"{int(stamp):,}".replace(",", "."), "."),
        (lambda stamp: f"{int(stamp):,}".replace(",", "\u202f"), "202f"),
        (lambda stamp: hex(int(stamp)), "0x"),
    ],
)
def test_stamps_without_their_digits_are_refused(tmp_path: Path, stamp: Callable[[str], str], found: str) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, rewritten(TEXT, stamp).encode())
    assert found in refused.value.line()
    assert "whole n" in refused.value.line()


@pytest.mark.parametrize("separator", [",", "."])
def test_stamps_of_nsys_in_groups_of_three_are_refused(tmp_path: Path, separator: str) -> None:
    """`1.130.001` is no 1.13 ns, and `130.001` among them no 130."""
    header, *rows = [line.split(",") for line in nsys_text.gpu_trace(run.RUN, unit="ns").splitlines()]
    text = "".join(";".join([f"{int(row[0]):,}".replace(",", separator), *row[1:]]) + "\n" for row in rows)
    path = tmp_path / "cuda_gpu_trace.csv"
    path.write_text(";".join(header) + "\n" + text)
    with pytest.raises(InputError, match="no whole numbers"):
        detect(path).read(path, ReadOptions())


def test_zeros_behind_a_decimal_comma(tmp_path: Path) -> None:
    shift = described.T0_NS - 7_000_000_000_000
    commas = rewritten(TEXT, lambda stamp: f"{int(stamp) - shift}#0").replace(",", ";").replace("#", ",")
    assert run.kernel_rows(read(tmp_path, commas.encode())) == run.expected_kernels(-shift)


def test_columns_of_rocprof_in_another_order(tmp_path: Path) -> None:
    rows = [line.split(",") for line in rocprof_text.results_csv(run.RUN).splitlines()]
    path = tmp_path / "results.csv"
    path.write_text("".join(",".join(reversed(row)) + "\n" for row in rows))
    assert run.kernel_rows(detect(path).read(path, ReadOptions())) == run.expected_kernels()


def test_a_missing_stamp_is_no_reason_to_refuse(tmp_path: Path) -> None:
    rows = TEXT.splitlines()
    rows[1] = rewritten("\n".join(rows[:2]), lambda _: "").splitlines()[1]
    trace = read(tmp_path, ("\n".join(rows) + "\n").encode())
    assert trace.gpu_ops.filter(pl.col("start_ns").is_null()).height == 1
