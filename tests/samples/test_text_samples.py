"""The CSV and JSON samples are what their generators make, and hold what their truth says: read without the readers."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
Spans = Iterable[tuple[str, int, int]]


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("samples")
    for module in ("csv_formats", "json_formats"):
        command = [sys.executable, "-m", f"sample_traces.make.{module}", "--out", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def files_of(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


def test_the_files_in_the_tree_are_what_the_generators_write(regenerated: Path) -> None:
    names = files_of(regenerated)
    assert len(names) == 47 + 8 + 15
    assert [name for name in names if (regenerated / name).read_bytes() != (SAMPLES / name).read_bytes()] == []


def test_the_readme_names_every_sample(regenerated: Path) -> None:
    readme = (SAMPLES / "README.md").read_text()
    names = [name for name in files_of(regenerated) if not name.endswith(".truth.json")]
    assert [name for name in names if f"`{name}`" not in readme] == []


def csv_rows(name: str) -> list[dict[str, str]]:
    with (SAMPLES / name).open(newline="") as handle:
        return list(csv.DictReader(handle))


def json_of(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text())


def checked(spans: Spans, folder: str) -> None:
    """Calls and sums per kernel name, suffixes left out, equal the truth."""
    truth = json_of(f"{folder}/same_run.truth.json")
    calls: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    last = 0
    for name, start, end in spans:
        plain = re.sub(r"( \[clone \.kd\]|\.kd)$", "", name)
        calls[plain] += 1
        sums[plain] += end - start
        last = max(last, end)
    assert dict(calls) == truth["calls_by_kernel"]
    assert dict(sums) == truth["sum_ns_by_kernel"]
    assert last == truth["last_end_ns"]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("rocprofv3_csv/same_run_kernel_trace.csv", ("Kernel_Name", "Start_Timestamp", "End_Timestamp")),
        ("rocprofv3_csv/rocm62_kernel_trace.csv", ("Kernel_Name", "Start_Timestamp", "End_Timestamp")),
        ("rocprofv3_csv/of_rocpd_kernel_trace.csv", ("Kernel_Name", "Start_Timestamp", "End_Timestamp")),
        ("rocprof_v1_csv/same_run.csv", ("KernelName", "BeginNs", "EndNs")),
        ("rocprof_v1_csv/timestamp_only.csv", ("KernelName", "BeginNs", "EndNs")),
        ("rocprof_v1_csv/old_registers.csv", ("KernelName", "BeginNs", "EndNs")),
        ("rocprofv2_csv/results_4242.csv", ("Kernel_Name", "Start_Timestamp", "End_Timestamp")),
    ],
)
def test_csv_timelines(name: str, columns: tuple[str, str, str]) -> None:
    text, start, end = columns
    rows = csv_rows(name)
    checked(((row[text], int(row[start]), int(row[end])) for row in rows), Path(name).parts[0])


def test_dialects_have_the_columns_of_their_writers() -> None:
    sizes = [len(csv_rows(f"rocprofv3_csv/{name}_kernel_trace.csv")[0]) for name in ("same_run", "rocm62", "of_rocpd")]
    assert sizes == [22, 18, 23]
    starts = [int(row["Start_Timestamp"]) for row in csv_rows("rocprofv3_csv/same_run_kernel_trace.csv")]
    assert starts != sorted(starts)


def test_rocprofv3_json() -> None:
    process = json_of("rocprofv3_json/same_run.json")["rocprofiler-sdk-tool"][0]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in process["kernel_symbols"]}
    records = process["buffer_records"]["kernel_dispatch"]
    spans = ((names[r["dispatch_info"]["kernel_id"]], r["start_timestamp"], r["end_timestamp"]) for r in records)
    checked(spans, "rocprofv3_json")


def test_chrome_traces() -> None:
    events = json_of("rocprof_v1_json/same_run.json")["traceEvents"]
    assert events[0] == {}
    dispatches = [e for e in events if "KernelName" in e.get("args", {})]
    checked(((e["name"], int(e["args"]["BeginNs"]), int(e["args"]["EndNs"])) for e in dispatches), "rocprof_v1_json")
    activities = [e for e in events if e.get("ph") == "X" and e["pid"] == 6 and "Name" in e["args"]]
    assert len(activities) == 66
    ops = [e for e in json_of("hipprof_json/same_run.json")["traceEvents"] if e.get("cat") == "HIPOPS"]
    checked(((e["name"], int(e["args"]["BeginNs"]), int(e["args"]["EndNs"])) for e in ops), "hipprof_json")
    tasks = [e for e in json_of("rpd_json/same_run.json") if e.get("args", {}).get("desc") == "Task"]
    calls = Counter(e["name"] for e in tasks)
    assert dict(calls) == json_of("rpd_json/same_run.truth.json")["calls_by_kernel"]


def test_the_page_holds_the_timeline_in_one_line() -> None:
    page = (SAMPLES / "hipprof_json/same_run.html").read_text()
    inside = re.search(r"^str = '(.*)';$", page, re.MULTILINE)
    assert inside is not None
    assert json.loads(inside[1]) == json_of("hipprof_json/same_run.json")


def test_nsys_reports_in_one_output_and_in_files() -> None:
    lines = (SAMPLES / "nsys_csv/same_run.csv").read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("Start (us),Duration (us),CorrId"))
    rows = list(csv.DictReader(lines[begin : lines.index("", begin)]))
    kernels = [(r["Name"], r["Start (us)"], r["Duration (us)"]) for r in rows if r["GrdX"]]
    spans = [(n, int(s.replace(".", "")), int(d.replace(".", ""))) for n, s, d in kernels]
    beside = [r for r in csv_rows("nsys_csv/beside_cuda_gpu_trace.csv") if r["GrdX"]]
    assert spans == [(r["Name"], int(r["Start (ns)"]), int(r["Duration (ns)"])) for r in beside]
    base = 1_712_195_495_604_628_867
    checked([(name, base + start, base + start + length) for name, start, length in spans], "nsys_csv")


@pytest.mark.parametrize("name", ["rocprofv3_kernel_stats.csv", "rocprof_results.stats.csv", "hipprof.hipkernel.csv"])
def test_sums(name: str) -> None:
    rows = [row for row in csv_rows(f"kernel_stats_csv/{name}") if row["Name"] != "Total"]
    truth = json_of("kernel_stats_csv/same_run.truth.json")
    assert {row["Name"]: int(row["Calls"]) for row in rows} == truth["calls_by_kernel"]
    assert {row["Name"]: int(row["TotalDurationNs"]) for row in rows} == truth["sum_ns_by_kernel"]
    assert abs(sum(float(row["Percentage"]) for row in rows) - 100) < 0.05


def test_broken_files_are_broken_in_their_way() -> None:
    broken = SAMPLES / "broken"
    assert csv_rows("broken/rocprofv3_workers/4242_kernel_trace.csv") == []
    assert len(csv_rows("broken/rocprofv3_workers/4243_kernel_trace.csv")) == 63
    lines = (broken / "rocprofv3_unescaped_quote_kernel_trace.csv").read_text().splitlines()
    quoted = [line for line in lines if '"a,b"' in line]
    assert len(quoted) == 12
    assert {len(next(csv.reader([line]))) for line in quoted} != {22}
    data = (broken / "rocprofv3_bom_crlf_kernel_trace.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\r\n") == data.count(b"\n") == 65
    for name in ("rocprofv3_truncated.json", "rocprof_v1_killed.json"):
        with pytest.raises(json.JSONDecodeError):
            json.loads((broken / name).read_text())
    assert {row["DispatchNs"] for row in csv_rows("broken/hipprof_pmc.csv")} == {"0"}
    assert Counter(row["Dispatch_Id"] for row in csv_rows("broken/rocprofv3_counter_collection.csv")) == Counter(
        {str(n): 2 for n in range(1, 64)}
    )
