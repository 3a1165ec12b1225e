"""One run, written in every format: every reader must find the same kernels, launches and ranges, to the nanosecond.

What a format cannot hold is listed in LOSSES and asserted to be lost, so that nothing else can go missing unseen.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from sample_traces.make import run_description as described

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

# several files belong together, or have the names their writers give them
NAMED = (
    "rocprofv3_csv/same_run_kernel_trace.csv",
    "rocprofv3_csv/rocm62_kernel_trace.csv",
    "rocprofv3_csv/of_rocpd_kernel_trace.csv",
    "rocprofv3_csv/utf16_kernel_trace.csv",
    "rocprofv2_csv/results_of_old_header.csv",
    "rocprofv2_csv/results_of_xccs.csv",
    "rocprof_v1_csv/timestamp_only.csv",
    "rocprof_v1_csv/old_registers.csv",
    "rocprofv2_csv/results_4242.csv",
    "rocprofv2_csv/hcc_ops_trace_4242.csv",
    "nsys_csv/beside_cuda_gpu_trace.csv",
    "rpd/of_sdk.rpd",
)
FILES = sorted(
    {str(p.relative_to(run.SAMPLES)) for p in run.SAMPLES.glob("*/same_run.*") if not p.name.endswith(".truth.json")}
    | set(NAMED)
)
NO_HOST, NO_COPIES, NO_RANGES, NO_LINKS, WHOLE_US, FROM_0 = (
    "no host",
    "no copies",
    "no ranges",
    "no links",
    "us",
    "from 0",
)
DEVICE_STEPS, RANGES_AS_DOUBLES = "ranges of the device, not of the host", "ranges as microseconds in doubles"
LOSSES = {
    "ascend_json/same_run.json": {RANGES_AS_DOUBLES},
    "xplane/same_run.xplane.pb": {DEVICE_STEPS},
    "xla_json/same_run.trace.json": {DEVICE_STEPS, FROM_0},
    "rocprof_v1_csv/same_run.csv": {NO_HOST, NO_COPIES},
    "rocprof_v1_csv/timestamp_only.csv": {NO_HOST, NO_COPIES},
    "rocprof_v1_csv/old_registers.csv": {NO_HOST, NO_COPIES},
    "rocprof_v1_json/same_run.json": {NO_LINKS},
    "rocprofv2_csv/results_4242.csv": {NO_HOST, NO_COPIES},
    "rocprofv2_csv/hcc_ops_trace_4242.csv": {NO_RANGES},
    "rocprofv3_csv/rocm62_kernel_trace.csv": {NO_HOST, NO_COPIES},
    "rocprofv3_csv/utf16_kernel_trace.csv": {NO_HOST, NO_COPIES},
    "rocprofv2_csv/results_of_old_header.csv": {NO_HOST, NO_COPIES},
    "rocprofv2_csv/results_of_xccs.csv": {NO_HOST, NO_COPIES},
    "nsys_csv/same_run.csv": {FROM_0},
    "nsys_csv/beside_cuda_gpu_trace.csv": {FROM_0},
    "rpd_json/same_run.json": {WHOLE_US},
    "plain_table/same_run.csv": {NO_HOST},
    "plain_table/same_run.jsonl": {NO_HOST},
}
Rows = list[tuple[str, int, int]]


@pytest.fixture(scope="module", params=FILES)
def case(request: pytest.FixtureRequest) -> tuple[Trace, set[str]]:
    path = run.SAMPLES / request.param
    trace: Trace = detect(path).read(path, ReadOptions())
    return trace, LOSSES.get(request.param, set())


def as_recorded(rows: Rows, losses: set[str]) -> Rows:
    """The rows as a format with these losses holds them."""
    if FROM_0 in losses:
        return [(name, start - described.T0_NS, end - described.T0_NS) for name, start, end in rows]
    if WHOLE_US in losses:
        # start and length are cut, each for itself
        cut = [(name, start // 1_000, (end - start) // 1_000) for name, start, end in rows]
        return [(name, start * 1_000, (start + length) * 1_000) for name, start, length in cut]
    return rows


def test_kernels_and_their_times(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    assert run.kernel_rows(trace) == as_recorded(run.expected_kernels(), losses)
    assert trace.complete
    assert trace.aggregates is None


def test_sums_per_kernel(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    sums: dict[str, int] = {}
    for name, start, end in run.kernel_rows(trace):
        sums[name] = sums.get(name, 0) + end - start
    truth = described.truth()["sum_ns_by_kernel"]
    if WHOLE_US not in losses:
        assert sums == truth
        return
    # 63 kernels lose less than 1 us each, and the format says so
    assert all(truth[name] - 1_000 * 12 < total < truth[name] for name, total in sums.items())
    assert trace.resolution_ns == 1_000


def test_copies(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    copies = [r[1:] for r in as_recorded([("", *times) for times in run.expected_copies()], losses)]
    found = trace.gpu_ops.filter(trace.gpu_ops["kind"] == "memcpy").select("start_ns", "end_ns").rows()
    assert found == ([] if NO_COPIES in losses else copies)


def test_calls(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    expected = [] if NO_HOST in losses else as_recorded(run.expected_calls(), losses)
    assert run.call_rows(trace) == expected


def test_kernels_of_each_graph_launch(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    launches = [] if NO_HOST in losses else [0, 0, 0] if NO_LINKS in losses else [21, 21, 21]
    assert run.launched_kernels(trace) == launches
    codes = {caveat.code for caveat in trace.caveats}
    assert ("no_calls" in codes, "launches_unknown" in codes) == (NO_HOST in losses, NO_LINKS in losses)


def test_ranges(case: tuple[Trace, set[str]]) -> None:
    trace, losses = case
    expected = [] if {NO_HOST, NO_RANGES} & losses else as_recorded(run.expected_markers(), losses)
    if DEVICE_STEPS in losses:
        steps = [[op for op in run.RUN.ops if op.step == step] for step in range(described.STEPS)]
        ranges = [(f"step[#{i}]", ops[0].start_ns, max(op.end_ns for op in ops)) for i, ops in enumerate(steps)]
        expected = as_recorded(ranges, losses)
    if RANGES_AS_DOUBLES in losses:
        printed = [(name, repr(start / 1_000), end - start) for name, start, end in expected]
        starts = [int(Decimal(us) * 1_000) for _, us, _ in printed]
        expected = [(name, start, start + length) for start, (name, _, length) in zip(starts, printed, strict=True)]
        assert all(abs(at - start) <= 250 for at, (_, start, _) in zip(starts, run.expected_markers(), strict=True))
    assert run.marker_rows(trace) == expected


@pytest.mark.parametrize("name", [*FILES, "perfetto/rocprof_sys.proto", "perfetto/rocprof_sys_node.proto"])
def test_all_work_is_on_one_device(name: str) -> None:
    """Copies of recorders that number devices otherwise, or not at all, run on none of their own."""
    path = run.SAMPLES / name
    trace = detect(path).read(path, ReadOptions())
    assert trace.gpu_ops["device"].n_unique() == 1
    assert trace.gpu_ops["pid"].drop_nulls().n_unique() <= 1


def test_a_rank_that_the_user_names_is_kept() -> None:
    formats = ("rocpd/same_run.db", "rpd/same_run.rpd", "nsys_sqlite/same_run.sqlite", "hipprof_db/same_run.db")
    for path in (run.SAMPLES / name for name in (*formats, "rocprof_v1_db/same_run.db")):
        assert detect(path).read(path, ReadOptions(rank=3)).rank == 3


def test_the_path_is_not_what_tells_the_format(case: tuple[Trace, set[str]], tmp_path: Path) -> None:
    trace, _ = case
    unknown = tmp_path / "unknown"
    unknown.write_bytes(Path(trace.path).read_bytes())
    assert detect(unknown).name == trace.format


def test_every_loss_is_of_a_file_that_is_there() -> None:
    assert set(LOSSES) <= set(FILES)


SUMS = (
    ("kernel_stats_csv/rocprofv3_kernel_stats.csv", True),
    ("kernel_stats_csv/rocprof_results.stats.csv", False),
    ("kernel_stats_csv/hipprof.hipkernel.csv", False),
    ("nsys_csv/cuda_gpu_kern_sum.csv", True),
)


@pytest.mark.parametrize(("name", "has_extremes"), SUMS)
def test_sums_without_a_timeline(name: str, has_extremes: bool) -> None:
    path = run.SAMPLES / name
    trace = detect(path).read(path, ReadOptions())
    assert trace.aggregates is not None
    rows = {row["name"]: row for row in trace.aggregates.to_dicts()}
    truth = described.truth()
    assert {name: row["calls"] for name, row in rows.items()} == truth["calls_by_kernel"]
    assert {name: row["total_ns"] for name, row in rows.items()} == truth["sum_ns_by_kernel"]
    assert rows["paged_attention_kernel"]["mean_ns"] == 181_368 / 12
    # steps add 0, 7 and 14 ns to the attention kernel
    extremes = (15_107, 15_121) if has_extremes else (None, None)
    assert (rows["paged_attention_kernel"]["min_ns"], rows["paged_attention_kernel"]["max_ns"]) == extremes
    assert trace.gpu_ops.height == 0
    assert [caveat.code for caveat in trace.caveats] == ["aggregates_only"]
