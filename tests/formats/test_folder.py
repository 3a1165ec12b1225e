"""A folder as TRACE: one run in several outputs, several processes, ranks of a job, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from formats.answers import SAMPLES, Answer, ask
from formats.folders import CAPTURE, copied, rank_text, written
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.inputs.folder import MOST_FILES, look_into
from trace_budget.schema.trace import Trace

VLLM = "rank{0}.177370974{0}.pt.trace.json"
PROCESS = {
    f"node1/4242_{table}.csv": f"rocprofv3_csv/same_run_{table}.csv"
    for table in ("kernel_trace", "hip_api_trace", "marker_api_trace", "memory_copy_trace", "agent_info")
}
WORKERS = "broken/rocprofv3_workers"


def caveats(trace: Trace | Mapping[str, Any]) -> dict[str, str]:
    found = [(c.code, c.text) for c in trace.caveats] if isinstance(trace, Trace) else []
    return dict(found or [(c["code"], c["text"]) for c in trace["caveats"]])  # type: ignore[index]


def project(*arguments: str) -> Answer:
    return ask("project", *arguments, "--kernel", "gemm", "--saving-us", "5")


def test_the_output_folder_of_one_process(tmp_path: Path) -> None:
    trace = api.open_trace(copied(tmp_path, PROCESS))
    assert trace.path == str(tmp_path / "node1/4242_kernel_trace.csv")
    assert trace.gpu_ops.equals(api.open_trace(SAMPLES / "rocprofv3_csv/same_run_kernel_trace.csv").gpu_ops)
    assert trace.calls.height == 9
    left_out = caveats(trace)["files_left_out"]
    assert "4242_hip_api_trace.csv (accompanies the kernel trace beside it)" in left_out


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"42_results.db": "rocpd/same_run.db", "42_results.json": "rocprofv3_json/same_run.json"}, "42_results.db"),
        (
            {
                "42_results.json": "rocprofv3_json/same_run.json",
                "42_kernel_trace.csv": "rocprofv3_csv/rocm62_kernel_trace.csv",
                "42_kernel_stats.csv": "kernel_stats_csv/rocprofv3_kernel_stats.csv",
                "42_results.pftrace": "perfetto/same_run.pftrace",
            },
            "42_results.json",
        ),
        (
            {
                "results.csv": "rocprof_v1_csv/same_run.csv",
                "results.json": "rocprof_v1_json/same_run.json",
                "results.db": "rocprof_v1_db/same_run.db",
                "results.stats.csv": "kernel_stats_csv/rocprof_results.stats.csv",
            },
            "results.db",
        ),
        (
            {
                "run.csv.hipkernel.csv": "kernel_stats_csv/hipprof.hipkernel.csv",
                "run.json": "hipprof_json/same_run.json",
                "run.html": "hipprof_json/same_run.html",
                "run.db": "hipprof_db/same_run.db",
            },
            "run.db",
        ),
        ({"run.rpd": "rpd/same_run.rpd", "run.json": "rpd_json/same_run.json"}, "run.rpd"),
        (
            {"trace_view.json": "ascend_json/same_run.json", "kernel_details.csv": "ascend_csv/kernel_details.csv"},
            "trace_view.json",
        ),
        (
            {
                "msprof_20260101.json": "ascend_json/same_run.json",
                "op_summary_20260102.csv": "ascend_csv/op_summary_20260101.csv",
            },
            "msprof_20260101.json",
        ),
        (
            {
                "node1.trace.json": "xla_json/same_run.trace.json",
                "node1.xplane.pb": "xplane/same_run.xplane.pb",
                "perfetto_trace.json": "xla_json/same_run.trace.json",
            },
            "node1.xplane.pb",
        ),
        (
            {
                "run_cuda_gpu_trace.csv": "nsys_csv/beside_cuda_gpu_trace.csv",
                "run_cuda_api_trace.csv": "nsys_csv/beside_cuda_api_trace.csv",
                "run_cuda_gpu_kern_sum.csv": "nsys_csv/cuda_gpu_kern_sum.csv",
                "run.sqlite": "nsys_sqlite/same_run.sqlite",
            },
            "run.sqlite",
        ),
        (
            {
                "run_cuda_gpu_trace.csv": "nsys_csv/beside_cuda_gpu_trace.csv",
                "run_cuda_gpu_kern_sum.csv": "nsys_csv/cuda_gpu_kern_sum.csv",
            },
            "run_cuda_gpu_trace.csv",
        ),
    ],
)
def test_one_run_in_several_outputs_is_read_once(tmp_path: Path, files: dict[str, str], chosen: str) -> None:
    trace = api.open_trace(copied(tmp_path, files))
    assert trace.path == str(tmp_path / chosen)
    assert (trace.gpu_ops["kind"] == "kernel").sum() == 63
    left_out = look_into(tmp_path).left_out
    assert len(left_out) == len(files) - 1
    assert {one.path.name for one in left_out} == set(files) - {chosen}


def test_processes_that_launched_nothing_are_left_out(tmp_path: Path) -> None:
    csv = api.open_trace(SAMPLES / WORKERS)
    assert Path(csv.path).name == "4243_kernel_trace.csv"
    assert "4242_kernel_trace.csv (a header without rows)" in caveats(csv)["files_left_out"]
    files = {"1_results.db": "broken/rocpd_no_dispatches.db", "2_results.db": "rocpd/same_run.db"}
    database = api.open_trace(copied(tmp_path, files))
    assert Path(database.path).name == "2_results.db"
    assert "1_results.db (no kernel dispatches)" in caveats(database)["files_left_out"]


def test_one_process_alone_is_refused_as_a_file_is(tmp_path: Path) -> None:
    files = {"1_results.db": "broken/rocpd_no_dispatches.db"}
    answer = ask("kernels", str(copied(tmp_path, files)))
    assert answer.code == 3
    assert "holds no kernel dispatches" in answer.line


def test_several_processes_are_listed_not_summed(tmp_path: Path) -> None:
    files = {f"node1/{pid}_results.db": "rocpd/same_run.db" for pid in (41, 42, 43)}
    folder = copied(tmp_path, files)
    for command in ("kernels", "steps", "threshold"):
        answer = ask(command, str(folder))
        assert answer.code == 3
        for words in ("found 3: node1/41_results.db (rocpd)", "--with-rank", "trace-budget batch"):
            assert words in answer.line
    assert len(ask("check", str(folder)).document["traces"]) == 3
    assert ask("kernels", str(folder / "node1/41_results.db")).code == 0


def test_a_folder_of_ranks_is_reported_on_by_its_lowest(tmp_path: Path) -> None:
    folder = written(tmp_path, {VLLM.format(rank): rank_text(rank) for rank in (1, 0)})
    for options, rank in (((), 0), (("--rank", "0"), 0), (("--rank", "1"), 1)):
        document = ask("steps", str(folder), *options).document
        assert (document["trace"]["rank"], document["trace"]["world_size"]) == (rank, 2)
        assert f"2 of 2 ranks of one job: figures are of rank {rank}" in caveats(document)["several_ranks"]
    refused = ask("steps", str(folder), "--rank", "7")
    assert refused.code == 3
    assert "no such rank (expected --rank with one of [0, 1], found 7)" in refused.line


def test_the_ranks_of_a_folder_are_projected_together(tmp_path: Path) -> None:
    files = {VLLM.format(rank): rank_text(rank) for rank in (0, 1)}
    folder = written(tmp_path, files)
    first, second = (str(folder / name) for name in files)
    alone, named, together = project(first), project(first, "--with-rank", second), project(str(folder))
    assert "one_rank" in caveats(alone.document)
    assert "one_rank" not in caveats(together.document)
    told = {k: v for k, v in together.document.items() if k != "caveats"}
    assert told == {k: v for k, v in named.document.items() if k != "caveats"}
    assert together.document["saving_us_per_step"]["naive"] == pytest.approx(3 * 5)
    assert [trace.rank for trace in api.open_traces(folder)] == [0, 1]
    assert [trace.rank for trace in api.open_traces(folder, rank=1)] == [1, 0]


@pytest.mark.parametrize("late", [False, True])
def test_the_rank_is_told_by_the_job_before_the_name(tmp_path: Path, late: bool) -> None:
    """Also where the description stands behind more events than the first look sees."""
    files = {f"host_{10 - rank}.177370974{rank}.pt.trace.json": rank_text(rank, late=late) for rank in (0, 1)}
    if late:
        padding = '"traceEvents": [' + " " * 300_000
        files = {name: text.replace('"traceEvents": [', padding) for name, text in files.items()}
    folder = written(tmp_path, files)
    (job,) = look_into(folder).jobs
    assert [(member.path.name, member.rank) for member in job] == [(name, rank) for rank, name in enumerate(files)]


def test_else_by_the_name(tmp_path: Path) -> None:
    folder = written(tmp_path, {VLLM.format(rank): rank_text(rank, told=False) for rank in (0, 1, 2)})
    assert [trace.rank for trace in api.open_traces(folder)] == [0, 1, 2]


def test_other_formats_tell_their_rank_by_name(tmp_path: Path) -> None:
    folder = copied(tmp_path, {f"decode_rank{rank}_results.db": "rocpd/same_run.db" for rank in (0, 1)})
    assert [trace.rank for trace in api.open_traces(folder)] == [0, 1]
    traces = ask("check", str(folder)).document["traces"]
    assert [trace["rank"] for trace in traces] == [0, 1]


def test_sidecars_frontends_and_merged_files_are_left_out(tmp_path: Path) -> None:
    files = {VLLM.format(rank): rank_text(rank) for rank in (0, 1)}
    aside = {CAPTURE: rank_text(0), "host_1.async_llm.17.pt.trace.json": rank_text(0), "merged-17.json": rank_text(0)}
    folder = written(tmp_path, files | aside | {"profiler_out_0.txt": "a table", "notes.json": "{}"})
    copied(folder, {"x_counter_collection.csv": "broken/rocprofv3_counter_collection.csv"})
    written(folder, {"report.nsys-rep": "proprietary"})
    found = look_into(folder)
    assert [[member.rank for member in job] for job in found.jobs] == [[0, 1]]
    reasons = {one.path.name: one.reason for one in found.left_out}
    assert set(reasons) == {*aside, "x_counter_collection.csv", "report.nsys-rep"}
    assert "graph capture" in reasons[CAPTURE]
    assert "Nsight Systems report" in reasons["report.nsys-rep"]
    assert "ranks merged" in reasons["merged-17.json"]
    assert caveats(project(str(folder)).document)["files_left_out"].endswith("…")


def test_of_two_stages_the_decode_one_is_meant(tmp_path: Path) -> None:
    names = [f"177-TP-{rank}-{stage}.trace.json" for rank in (0, 1) for stage in ("DECODE", "EXTEND")]
    folder = written(tmp_path, {name: rank_text(int("TP-1" in name)) for name in names})
    document = project(str(folder)).document
    assert document["trace"]["path"].endswith("177-TP-0-DECODE.trace.json")
    assert "prefill stage" in caveats(document)["files_left_out"]


def test_two_sessions_are_two_jobs(tmp_path: Path) -> None:
    names = {f"rank{rank}.17737{session}9742.pt.trace.json": rank for rank in (0, 1) for session in (0, 9)}
    folder = written(tmp_path, {name: rank_text(rank) for name, rank in names.items()})
    assert [[member.rank for member in job] for job in look_into(folder).jobs] == [[0, 1], [0, 1]]
    answer = ask("kernels", str(folder))
    assert answer.code == 3
    assert "holds several traces (expected one job, found 2" in answer.line


def test_a_timeline_is_meant_before_sums(tmp_path: Path) -> None:
    files = {"a.db": "rocpd/same_run.db", "other.hipkernel.csv": "kernel_stats_csv/hipprof.hipkernel.csv"}
    assert Path(api.open_trace(copied(tmp_path, files)).path).name == "a.db"


def test_the_format_named_chooses_among_the_files(tmp_path: Path) -> None:
    folder = copied(tmp_path, {"a.db": "rocpd/same_run.db", "b.rpd": "rpd/same_run.rpd"})
    assert ask("kernels", str(folder)).code == 3
    assert ask("kernels", str(folder), "--from", "rpd").document["trace"]["format"] == "rpd"


def test_folders_without_a_trace(tmp_path: Path) -> None:
    written(tmp_path, {"notes.txt": "nothing", "run.nsys-rep": "proprietary", ".hidden.json": rank_text(0)})
    answer = ask("kernels", str(tmp_path))
    assert answer.code == 3
    assert "holds no trace (found 2 files; run.nsys-rep: an Nsight Systems report" in answer.line
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "found 0 files" in ask("steps", str(empty)).line


def test_a_folder_of_thousands_of_files_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace_budget.inputs.folder.MOST_FILES", 3)
    written(tmp_path, {f"{index}.txt": "" for index in range(4)})
    with pytest.raises(InputError, match="holds too many files"):
        look_into(tmp_path)
    assert MOST_FILES > 1_000


def test_check_takes_every_trace_of_a_folder(tmp_path: Path) -> None:
    folder = written(tmp_path, {VLLM.format(rank): rank_text(rank, world_size=4) for rank in (0, 1)})
    copied(folder, {"cut_results.db": "broken/rocpd_truncated.db"})
    answer = ask("check", str(folder))
    assert answer.code == 0
    assert [trace["rank"] for trace in answer.document["traces"]] == [0, 1]
    missing = next(f for f in answer.document["findings"] if f["code"] == "missing_ranks")
    assert "2 of 4 ranks are missing: [2, 3]" in missing["text"]
    assert "cut_results.db: database is cut short" in answer.err


def test_a_curve_is_of_one_rank(tmp_path: Path) -> None:
    folder = written(tmp_path, {VLLM.format(rank): rank_text(rank) for rank in (0, 1)})
    answer = project(str(folder), "--plot", str(tmp_path / "x.svg"))
    assert answer.code == 2
    assert "--plot draws the curve of one rank" in answer.line
