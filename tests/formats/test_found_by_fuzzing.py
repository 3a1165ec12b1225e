"""Inputs that `python -m tests.fuzz` broke a reader with, made anew by hand: what each must answer since."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from formats.answers import SAMPLES, said
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.io.json import segment as json_segment
from trace_budget.schema.trace import Trace

KERNELS = 63


def kernels(trace: Trace) -> int:
    return int((trace.gpu_ops["kind"] == "kernel").sum())


def codes(trace: Trace) -> set[str]:
    return {caveat.code for caveat in trace.caveats}


def changed_text(folder: Path, sample: str, change: Callable[[bytes], bytes]) -> Path:
    path = folder / Path(sample).name
    path.write_bytes(change((SAMPLES / sample).read_bytes()))
    return path


def changed_database(folder: Path, sample: str, *statements: str) -> Path:
    path = folder / Path(sample).name
    shutil.copyfile(SAMPLES / sample, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
    return path


def doubled(table: str) -> tuple[str, ...]:
    """The table without its keys, every row twice."""
    return (
        "PRAGMA legacy_alter_table=ON",
        f"CREATE TABLE twice AS SELECT * FROM {table} UNION ALL SELECT * FROM {table}",  # noqa: S608
        f"DROP TABLE {table}",
        f"ALTER TABLE twice RENAME TO {table}",
    )


@pytest.mark.parametrize(
    ("sample", "table"),
    [
        ("nsys_sqlite/same_run.sqlite", "StringIds"),
        ("rpd/same_run.rpd", "rocpd_string"),
        ("rpd/schema_3.rpd", "rocpd_string"),
        ("rpd/same_run.rpd", "rocpd_api"),
        ("hipprof_db/same_run.db", "STR_TABLE"),
    ],
)
def test_names_that_stand_twice_make_no_second_kernel(tmp_path: Path, sample: str, table: str) -> None:
    trace = api.open_trace(changed_database(tmp_path, sample, *doubled(table)))
    clean = api.open_trace(SAMPLES / sample)
    assert kernels(trace) == KERNELS
    assert trace.gpu_ops.select("name", "start_ns").equals(clean.gpu_ops.select("name", "start_ns"))


def test_names_that_stand_twice_in_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "same_run"
    shutil.copytree(SAMPLES / "nsys_parquetdir/same_run", folder)
    strings = pl.read_parquet(folder / "StringIds.parquet")
    pl.concat([strings, strings]).write_parquet(folder / "StringIds.parquet")
    assert kernels(api.open_trace(folder)) == KERNELS


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE rocpd_string",
        "ALTER TABLE rocpd_string RENAME COLUMN string TO x",
        "ALTER TABLE rocpd_op RENAME COLUMN opType_id TO x",
    ],
)
def test_an_rpd_database_that_cannot_tell_kernels_from_copies_is_refused(tmp_path: Path, statement: str) -> None:
    path = changed_database(tmp_path, "rpd/schema_3.rpd", "PRAGMA legacy_alter_table=ON", statement)
    with pytest.raises(InputError, match="lacks what tells kernels from copies"):
        api.open_trace(path)


@pytest.mark.parametrize(
    "statement", ["OPS DROP COLUMN BeginNs", 'OPS DROP COLUMN "dev-id"', 'KERN DROP COLUMN "gpu-id"']
)
def test_two_lists_that_cannot_be_compared_are_not_added(tmp_path: Path, statement: str) -> None:
    path = changed_database(tmp_path, "rocprof_v1_db/same_run.db", f"ALTER TABLE {statement}")
    assert kernels(api.open_trace(path)) == KERNELS


JSON = ("hipprof_json/same_run.json", "rocprof_v1_json/same_run.json", "rpd_json/same_run.json")


@pytest.mark.parametrize("sample", JSON)
def test_a_second_document_is_told(tmp_path: Path, sample: str) -> None:
    trace = api.open_trace(changed_text(tmp_path, sample, lambda data: data + data))
    assert (kernels(trace), trace.complete) == (KERNELS, False)
    assert {"several_documents", "partial_file"} <= codes(trace)


@pytest.mark.parametrize("sample", JSON[:2])
def test_a_document_that_does_not_end_is_told(tmp_path: Path, sample: str) -> None:
    trace = api.open_trace(changed_text(tmp_path, sample, lambda data: data[: data.rindex(b"}")]))
    assert kernels(trace) == KERNELS
    assert not trace.complete or "damaged_metadata" in codes(trace)


def test_a_byte_that_is_no_text_beside_other_damage(tmp_path: Path) -> None:
    """The place of the damage is counted in the text as it was, not in the one with replacement characters."""

    def damage(data: bytes) -> bytes:
        return data.replace(b"rms_norm_kernel", b"\xff\xfe\xff_norm_kernel", 3) + b"]]"

    for sample in (*JSON, "rocprofv3_json/same_run.json"):
        assert kernels(api.open_trace(changed_text(tmp_path, sample, damage))) == KERNELS


def test_sums_without_calls_are_told(tmp_path: Path) -> None:
    path = changed_text(
        tmp_path, "nsys_csv/cuda_gpu_kern_sum.csv", lambda data: data.replace(b",266643,3,", b",266643,x,")
    )
    trace = api.open_trace(path)
    assert [(caveat.code, caveat.count) for caveat in trace.caveats if caveat.code == "bad_sums"] == [("bad_sums", 1)]
    assert trace.aggregates is not None
    assert trace.aggregates.height == 5


def test_damaged_bytes_in_a_schema_are_refused_in_one_line(tmp_path: Path) -> None:
    def damage(data: bytes) -> bytes:
        return data.replace(b"CREATE TABLE `KERN` (", b"CREATE TABLE `K\xb9\xb9N`  ", 1)

    answer = said("kernels", str(changed_text(tmp_path, "rocprof_v1_db/same_run.db", damage)))
    assert answer.code == 3
    assert "table sqlite_master: cannot be read" in answer.line


def test_tables_of_two_processes_in_one_file_beside_copies(tmp_path: Path) -> None:
    for path in (SAMPLES / "rocprofv3_csv").glob("same_run_*"):
        shutil.copyfile(path, tmp_path / path.name)
    trace = api.open_trace(changed_text(tmp_path, "rocprofv3_csv/same_run_kernel_trace.csv", lambda data: data + data))
    assert kernels(trace) == 2 * KERNELS
    assert "several_processes" in codes(trace)


def test_kernels_without_a_name_are_told(tmp_path: Path) -> None:
    path = changed_database(
        tmp_path, "nsys_sqlite/same_run.sqlite", "DELETE FROM StringIds WHERE value LIKE 'rms_norm%'"
    )
    answer = said("kernels", str(path), "--format", "json")
    told = [caveat for caveat in answer.document["caveats"] if caveat["code"] == "nameless_kernels"]
    assert [(caveat["severity"], caveat["count"]) for caveat in told] == [("warning", 12)]
    assert "<unnamed>" in json.dumps(answer.document["rows"])


def test_a_process_that_stands_there_twice_is_told(tmp_path: Path) -> None:
    trace = api.open_trace(changed_text(tmp_path, "rocprofv3_json/same_run.json", lambda data: data + data))
    assert kernels(trace) == 2 * KERNELS
    assert "several_documents" in codes(trace)
    assert "several_documents" not in codes(api.open_trace(SAMPLES / "rocprofv3_json/two_processes.json"))


def test_dispatches_outside_every_list_are_told(tmp_path: Path) -> None:
    def into_another_list(data: bytes) -> bytes:
        return data.replace(b'},{"size":184,"kind":4', b'}],"lost":[{"size":184,"kind":4', 1)

    trace = api.open_trace(changed_text(tmp_path, "rocprofv3_json/same_run.json", into_another_list))
    told = {caveat.code: caveat.count for caveat in trace.caveats}
    assert kernels(trace) < KERNELS
    assert kernels(trace) + told["damaged_lines_dropped"] == KERNELS


def test_a_schema_of_several_lines_is_refused_in_one(tmp_path: Path) -> None:
    odd = (
        "UPDATE sqlite_master SET sql = 'CREATE TABLE \"a' || char(10) || char(27) || '[2J' WHERE name LIKE '%metadata'"
    )
    path = changed_database(tmp_path, "rpd/same_run.rpd", "PRAGMA writable_schema=ON", odd)
    answer = said("kernels", str(path))
    assert answer.code == 3
    assert "malformed database schema (rocpd_metadata)" in answer.line
    assert "\x1b" not in answer.line


def test_a_parquet_column_of_another_type_is_refused_by_its_table(tmp_path: Path) -> None:
    folder = tmp_path / "same_run"
    shutil.copytree(SAMPLES / "nsys_parquetdir/same_run", folder)
    file = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    other = pl.lit(b"ab").alias("correlationId")
    pl.read_parquet(file).with_columns(other).write_parquet(file)
    answer = said("kernels", str(folder))
    assert answer.code == 3
    assert "CUPTI_ACTIVITY_KIND_KERNEL.parquet: holds columns of another type" in answer.line


def test_copies_without_a_target_are_no_table(tmp_path: Path) -> None:
    for path in (SAMPLES / "rocprofv3_csv").glob("same_run_*"):
        shutil.copyfile(path, tmp_path / path.name)
    sample = "rocprofv3_csv/same_run_memory_copy_trace.csv"
    changed_text(tmp_path, sample, lambda data: data.replace(b'"Destination_Agent_Id"', b'"Destination"'))
    assert kernels(api.open_trace(tmp_path / "same_run_kernel_trace.csv")) == KERNELS


def test_executions_without_a_name_are_not_lost(tmp_path: Path) -> None:
    path = changed_database(tmp_path, "rocprof_v1_db/same_run.db", "DROP TABLE KERN", "UPDATE OPS SET Name = NULL")
    with_barrier = KERNELS + 1
    assert kernels(api.open_trace(path)) == with_barrier

    def without_names(data: bytes) -> bytes:
        return data.replace(b'"name":"lm_head_gemm_kernel [clone .kd]",', b"")

    clean = SAMPLES / "rocprof_v1_json/same_run.json"
    trace = api.open_trace(changed_text(tmp_path, "rocprof_v1_json/same_run.json", without_names))
    assert kernels(trace) == kernels(api.open_trace(clean)) == KERNELS


def test_a_row_that_begins_like_another_report_is_a_row(tmp_path: Path) -> None:
    for start in (b"Total", b"Time", b"Timestamp"):
        change = (b"\n137002,21013,", b"\n" + start + b",21013,")
        trace = api.open_trace(
            changed_text(tmp_path, "nsys_csv/beside_cuda_gpu_trace.csv", lambda data, new=change: data.replace(*new))
        )
        assert kernels(trace) == KERNELS
        assert "bad_start" in codes(trace)


@pytest.mark.parametrize(
    "sample",
    [
        "rocprof_v1_csv/same_run.csv",
        "rocprofv2_csv/results_4242.csv",
        "rocprofv2_csv/hcc_ops_trace_4242.csv",
        "nsys_csv/same_run.csv",
        "nsys_csv/cuda_gpu_kern_sum.csv",
        "kernel_stats_csv/rocprofv3_kernel_stats.csv",
    ],
)
def test_one_table_behind_another_is_told(tmp_path: Path, sample: str) -> None:
    assert "several_tables" in codes(api.open_trace(changed_text(tmp_path, sample, lambda data: data + data)))
    assert "several_tables" not in codes(api.open_trace(SAMPLES / sample))


@pytest.mark.parametrize("number", [b"-1", b"-7", b"99", b"4294967296"])
def test_operations_that_no_table_names(tmp_path: Path, number: bytes) -> None:
    def renumbered(data: bytes) -> bytes:
        return data.replace(b'"kind":3,"operation":2', b'"kind":3,"operation":' + number, 1).replace(
            b'"kind":1,"operation":1', b'"kind":' + number + b',"operation":1', 1
        )

    sample = "rocprofv3_json/same_run.json"
    assert renumbered((SAMPLES / sample).read_bytes()).count(number) >= 2
    trace = api.open_trace(changed_text(tmp_path, sample, renumbered))
    assert kernels(trace) == KERNELS
    unknown = "^(operation |<unnamed>$)"  # -1 stands for what was not recorded
    assert trace.gpu_ops["name"].cast(pl.String).str.contains(unknown).sum() == 1
    assert trace.calls["name"].cast(pl.String).str.contains(unknown).sum() == 1


def test_a_nameless_row_of_sums_hides_no_total(tmp_path: Path) -> None:
    sample = "kernel_stats_csv/hipprof.hipkernel.csv"
    trace = api.open_trace(changed_text(tmp_path, sample, lambda data: data.replace(b'"rms_norm_kernel"', b"")))
    assert trace.aggregates is not None
    assert trace.aggregates["name"].cast(pl.String).sort().to_list()[0] == "<unnamed>"
    assert (trace.aggregates.height, trace.aggregates["calls"].sum()) == (6, KERNELS)


EXTREMES = (-(2**63), -(2**62), 2**62, 2**63 - 1)


@pytest.mark.parametrize("time", EXTREMES)
@pytest.mark.parametrize("table", ["NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"])
def test_times_that_cannot_be_are_unknown(tmp_path: Path, table: str, time: int) -> None:
    for column in ("start", "end"):
        change = f"UPDATE {table} SET {column} = {time} WHERE rowid = 2"  # noqa: S608
        path = changed_database(tmp_path, "nsys_sqlite/same_run.sqlite", change)
        trace = api.open_trace(path)
        assert kernels(trace) == KERNELS
        assert {"bad_start", "bad_duration", "bad_call_times", "open_ranges"} & codes(trace)
        for command in ("check", "steps", "overlap"):
            assert said(command, str(path)).code == 0


@pytest.mark.parametrize("time", EXTREMES)
def test_times_that_cannot_be_in_ingested_tables_are_refused(tmp_path: Path, time: int) -> None:
    assert said("ingest", str(SAMPLES / "kineto/same_run.json"), "-o", str(tmp_path), "-q").code == 0
    (folder,) = tmp_path.iterdir()
    version = pl.read_parquet_metadata(folder / "markers.parquet")
    markers = pl.read_parquet(folder / "markers.parquet").with_columns(pl.lit(time).alias("start_ns"))
    noted = {name: text for name, text in version.items() if name.startswith("trace_budget.")}
    markers.write_parquet(folder / "markers.parquet", metadata=noted)
    with pytest.raises(InputError, match="holds a time that cannot be in column start_ns"):
        api.open_trace(folder)


def test_a_report_whose_header_is_damaged_is_told(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        return data.replace(b"BlkY,BlkZ,Reg/Trd", b'BlkY,",Reg/Trd', 1)

    trace = api.open_trace(changed_text(tmp_path, "nsys_csv/same_run.csv", damaged))
    assert trace.aggregates is not None
    assert "damaged_lines_dropped" in codes(trace)


def test_a_value_of_damaged_length_in_a_database_is_refused_with_its_table(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        start = data.index(bytes.fromhex("17c2f0bb4d99edb6")) + 3  # a start time in the last row of rocpd_region
        return data[:start] + b"\xff" * 30 + data[start + 30 :]

    with pytest.raises(InputError, match=r"table rocpd_region_.*: cannot be read"):
        api.open_trace(changed_text(tmp_path, "rocpd/same_run.db", damaged))


def test_a_report_whose_header_lost_its_end_is_told(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        header = next(line for line in data.split(b"\n") if b"GrdX" in line)
        return data.replace(header, header[: header.index(b"DymSMem")], 1)

    trace = api.open_trace(changed_text(tmp_path, "nsys_csv/same_run.csv", damaged))
    assert trace.aggregates is not None
    assert "damaged_lines_dropped" in codes(trace)


def test_an_agent_with_the_largest_handle_is_read(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        document = json.loads(data)
        for agent in document["rocprofiler-sdk-tool"][0]["agents"]:
            if agent["type"] != 2:
                agent["id"]["handle"] = 2**64 - 1
        return json.dumps(document).encode()

    trace = api.open_trace(changed_text(tmp_path, "rocprofv3_json/same_run.json", damaged))
    clean = api.open_trace(SAMPLES / "rocprofv3_json/same_run.json")
    assert trace.gpu_ops.select("name", "device", "start_ns").equals(clean.gpu_ops.select("name", "device", "start_ns"))


def test_sums_whose_shares_do_not_add_up_are_told(tmp_path: Path) -> None:
    def damaged(data: bytes) -> bytes:
        return b"".join(line for line in data.splitlines(keepends=True) if b"paged_attention" not in line)

    for sample in ("rocprofv3_kernel_stats.csv", "rocprof_results.stats.csv"):
        path = f"kernel_stats_csv/{sample}"
        assert "bad_sums" not in codes(api.open_trace(SAMPLES / path))
        assert "bad_sums" in codes(api.open_trace(changed_text(tmp_path, path, damaged)))


def test_facts_of_another_type_in_an_ingested_trace_are_refused(tmp_path: Path) -> None:
    assert said("ingest", str(SAMPLES / "kineto/same_run.json"), "-o", str(tmp_path), "-q").code == 0
    (folder,) = tmp_path.iterdir()
    noted = pl.read_parquet_metadata(folder / "trace.parquet")
    facts = pl.read_parquet(folder / "trace.parquet").with_columns(pl.lit(b"0").alias("rank"))
    kept = {name: text for name, text in noted.items() if name.startswith("trace_budget.")}
    facts.write_parquet(folder / "trace.parquet", metadata=kept)
    with pytest.raises(InputError, match=r"trace\.rank is Binary, not Int64"):
        api.open_trace(folder)


def test_a_document_in_which_every_event_is_beyond_mending_is_given_up_quickly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    whole = json_segment.candidates

    def counted(text: bytes) -> Iterator[bytes]:
        nonlocal asked
        for candidate in whole(text):
            asked += 1
            yield candidate

    monkeypatch.setattr(json_segment, "candidates", counted)
    bad = b'{"ph": "X", "cat": "kernel", "name" "k": {]1}, "ts": 1.5, "dur": 1, "pid": 0, "tid": 7},\n'
    good = b'{"ph": "X", "cat": "kernel", "name": "k", "ts": 9.5, "dur": 1, "pid": 0, "tid": 7}'
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"schemaVersion": 1, "traceEvents": [\n' + bad * 3_000 + good + b"\n]}")
    trace = api.open_trace(path)
    assert kernels(trace) == 1
    assert {caveat.code: caveat.count for caveat in trace.caveats}["damaged_events_dropped"] == 3_000
    assert asked < 4 * json_segment.HOPELESS + 2 * 3_000
