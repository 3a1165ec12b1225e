"""A header half-way down a CSV file, as where files were joined, with damaged cells: no row is lost without a word."""

from __future__ import annotations

import csv
import io
import shutil
from itertools import combinations
from pathlib import Path

import pytest

from formats.answers import SAMPLES
from fuzz.judge import TELLING
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.schema.trace import Trace

FILES = (
    "rocprofv3_csv/same_run_kernel_trace.csv",
    "rocprofv3_csv/of_rocpd_kernel_trace.csv",
    "rocprofv3_csv/rocm62_kernel_trace.csv",
    "rocprof_v1_csv/same_run.csv",
    "rocprof_v1_csv/old_registers.csv",
    "rocprofv2_csv/hcc_ops_trace_4242.csv",
    "rocprofv2_csv/results_4242.csv",
    "nsys_csv/beside_cuda_gpu_trace.csv",
    "nsys_csv/cuda_gpu_kern_sum.csv",
    "kernel_stats_csv/rocprofv3_kernel_stats.csv",
)


def rows(trace: Trace) -> int:
    if trace.aggregates is not None:
        return trace.aggregates.height
    return int((trace.gpu_ops["kind"] == "kernel").sum())


def told(trace: Trace, *more: str) -> set[tuple[str, int]]:
    return {(caveat.code, caveat.count) for caveat in trace.caveats if caveat.code in {*TELLING, *more}}


def header_of(name: str) -> list[str]:
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines()
    return next(csv.reader([next(line for line in lines if "Name" in line)]))


def with_header_again(folder: Path, name: str, cells: list[str]) -> Path:
    """The sample with a header a second time, half-way down."""
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "Name" in line)
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(cells)
    middle = (first + len(lines)) // 2
    path = folder / Path(name).name
    path.write_text("".join([*lines[:middle], text.getvalue(), *lines[middle:]]), encoding="utf-8")
    return path


def damaged(header: list[str], *places: int) -> list[str]:
    return ["x!" if place in places else cell for place, cell in enumerate(header)]


def alone(folder: Path, name: str) -> Trace:
    """The sample as it is, without the files beside it."""
    (folder / "alone").mkdir()
    return api.open_trace(Path(shutil.copy(SAMPLES / name, folder / "alone")))


def content(trace: Trace) -> list[list[tuple[object, ...]]]:
    frames = (trace.gpu_ops, trace.calls, trace.markers, trace.aggregates)
    return [frame.rows() for frame in frames if frame is not None]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how_many", [1, 2])
def test_no_row_is_lost_without_a_word(tmp_path: Path, name: str, how_many: int) -> None:
    clean, header = api.open_trace(SAMPLES / name), header_of(name)
    for places in combinations(range(len(header)), how_many):
        trace = api.open_trace(with_header_again(tmp_path, name, damaged(header, *places)))
        if rows(trace) == rows(clean) + 1:  # nothing of it says that it is a header any more: a kernel without times
            assert told(trace, "bad_start") - told(clean, "bad_start"), places
        else:
            assert rows(trace) == rows(clean) or told(trace) - told(clean), places


@pytest.mark.parametrize("name", FILES)
def test_a_header_with_one_damaged_cell_costs_no_column(tmp_path: Path, name: str) -> None:
    clean, header = alone(tmp_path, name), header_of(name)
    for place in range(len(header)):
        trace = api.open_trace(with_header_again(tmp_path, name, damaged(header, place)))
        if rows(trace) == rows(clean):
            assert content(trace) == content(clean), place
        if name in FILES[:7]:
            assert rows(trace) >= rows(clean), place


@pytest.mark.parametrize("name", FILES)
def test_a_header_that_lacks_a_cell_costs_nothing_without_a_word(tmp_path: Path, name: str) -> None:
    clean, header = alone(tmp_path, name), header_of(name)
    for place in range(len(header)):
        for cells in ([*header[:place], *header[place + 1 :]], [*header[:place], "x!", *header[place:]]):
            trace = api.open_trace(with_header_again(tmp_path, name, cells))
            assert content(trace) == content(clean) or told(trace, "bad_start") - told(clean, "bad_start"), cells
            if rows(trace) == rows(clean):
                assert content(trace) == content(clean), cells


def test_a_report_in_a_unit_nobody_knows_is_refused(tmp_path: Path) -> None:
    text = (SAMPLES / "nsys_csv/beside_cuda_gpu_trace.csv").read_text(encoding="utf-8")
    for unit in ("(ns)", "(us)"):
        if f"Duration {unit}" in text:
            path = tmp_path / "x_cuda_gpu_trace.csv"
            path.write_text(text.replace(f"Duration {unit}", "Duration (?s)"), encoding="utf-8")
            with pytest.raises(
                InputError, match=r"x_cuda_gpu_trace\.csv: a unit of time nobody knows .*found 'Duration \(\?s\)'"
            ):
                api.open_trace(path)
            return
    raise AssertionError("the sample names no unit")


def test_a_report_whose_header_is_beyond_recognition_is_told(tmp_path: Path) -> None:
    path = tmp_path / "same_run.csv"
    text = (SAMPLES / "nsys_csv/same_run.csv").read_text(encoding="utf-8")
    header = next(line for line in text.splitlines() if line.startswith("Start") and "CorrID" in line and "Pid" in line)
    path.write_text(text.replace(header, header.replace("Start (us)", "?tart")), encoding="utf-8")
    trace = api.open_trace(path)
    assert rows(trace) == 63
    assert "damaged_lines_dropped" in {caveat.code for caveat in trace.caveats}


def test_a_header_without_rows_before_a_note_reopens_no_older_table(tmp_path: Path) -> None:
    """A narrower header, a note, and then the report: the row below it belongs to the report, not to a table before."""
    name = "nsys_csv/beside_cuda_gpu_trace.csv"
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "Name" in line)
    narrower = ",".join(cell for cell in lines[first].split(",") if cell != "Ctx")
    assert len(narrower.split(",")) == len(lines[first].split(",")) - 1
    middle = (first + len(lines)) // 2
    between = [narrower, "Processing [again.sqlite] with [cuda_gpu_trace.py]...\n", lines[first]]
    path = tmp_path / Path(name).name
    path.write_text("".join([*lines[:middle], *between, *lines[middle:]]), encoding="utf-8")
    trace = api.open_trace(path)
    assert rows(trace) == rows(api.open_trace(SAMPLES / name))
    assert "damaged_lines_dropped" not in {caveat.code for caveat in trace.caveats}
