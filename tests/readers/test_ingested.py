"""An ingested trace is the trace: equal tables, equal answers, whatever the format it came from."""

import json
from pathlib import Path

import polars as pl
import pytest

from trace_budget import api
from trace_budget.__main__ import main
from trace_budget.batches import ingest as ingest_module
from trace_budget.batches.ingest import ingest
from trace_budget.errors import InputError
from trace_budget.schema.ingested import NEEDED
from trace_budget.schema.tables import TABLES
from trace_budget.schema.trace import Trace

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CASES = (
    *("kineto/gdn_decode_gfx936.json.gz", "kineto/cuda_two_streams_pdl.json.gz", "broken/kineto_truncated.json.gz"),
    *(
        "rocpd/same_run.db",
        "nsys_sqlite/same_run.sqlite",
        "rpd/odd_rows.rpd",
        "rocprofv3_csv/same_run_kernel_trace.csv",
    ),
    *("broken/kineto_zero_timestamps.json", "kernel_stats_csv/rocprofv3_kernel_stats.csv"),
)


def same(one: Trace, other: Trace) -> None:
    for spec in TABLES:
        first, second = getattr(one, spec.name), getattr(other, spec.name)
        assert first.schema == second.schema
        assert first.equals(second), spec.name
    if one.aggregates is not None:
        assert other.aggregates is not None
        assert one.aggregates.equals(other.aggregates)
    plain = [name for name in Trace.__dataclass_fields__ if name not in ("path", "engine", "aggregates")]
    frames = {spec.name for spec in TABLES}
    assert [getattr(one, name) for name in plain if name not in frames] == [
        getattr(other, name) for name in plain if name not in frames
    ]


@pytest.mark.parametrize("name", CASES)
def test_tables_and_facts_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    trace = api.open_trace(SAMPLES / name)
    folder, written = ingest(trace, tmp_path)
    assert written
    for path in (folder, tmp_path):
        again = api.open_trace(path)
        assert (again.path, again.engine) == (str(path), "parquet")
        same(trace, again)


COMMANDS = (
    ("kernels",),
    ("steps",),
    ("layers",),
    ("overlap",),
    ("check",),
    ("threshold",),
    ("project", "--kernel", "gdn_fused", "--saving-us", "3.228"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_gives_the_same_answer(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = SAMPLES / "kineto" / "gdn_decode_gfx936.json.gz"
    ingest(api.open_trace(sample), tmp_path)
    answers = []
    for place in (sample, tmp_path):
        assert main([command[0], str(place), *command[1:], "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out.replace(str(place), "PLACE"))
        answers.append(without_engine(document))
    assert answers[0] == answers[1]


def without_engine(document: object) -> object:
    """The document without the name of the engine that read the file."""
    if isinstance(document, dict):
        return {key: without_engine(value) for key, value in document.items() if key != "engine"}
    return [without_engine(value) for value in document] if isinstance(document, list) else document


def test_the_same_trace_is_written_once(tmp_path: Path) -> None:
    trace = api.open_trace(SAMPLES / "rocpd" / "same_run.db")
    folder, _ = ingest(trace, tmp_path)
    before = (folder / "gpu_ops.parquet").stat().st_mtime_ns
    assert ingest(trace, tmp_path) == (folder, False)
    assert (folder / "gpu_ops.parquet").stat().st_mtime_ns == before
    assert ingest(trace, tmp_path, overwrite=True) == (folder, True)
    assert (folder / "gpu_ops.parquet").stat().st_mtime_ns > before
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_several_traces_in_one_folder_must_be_named(tmp_path: Path) -> None:
    for name in ("rocpd/same_run.db", "nsys_sqlite/same_run.sqlite"):
        ingest(api.open_trace(SAMPLES / name), tmp_path)
    with pytest.raises(InputError, match="several ingested traces"):
        api.open_trace(tmp_path)


def test_damage_is_told(tmp_path: Path) -> None:
    folder, _ = ingest(api.open_trace(SAMPLES / "rocpd" / "same_run.db"), tmp_path)
    calls = folder / "calls.parquet"
    whole = calls.read_bytes()
    calls.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"calls\.parquet: cannot be read"):
        api.open_trace(folder)
    pl.read_parquet(folder / "syncs.parquet").write_parquet(calls, metadata={"trace_budget.ingested": "1"})
    with pytest.raises(InputError, match="not an ingested trace as declared"):
        api.open_trace(folder)
    pl.read_parquet(folder / "syncs.parquet").write_parquet(calls)
    with pytest.raises(InputError, match="another version"):
        api.open_trace(folder)
    calls.unlink()
    with pytest.raises(InputError, match="no format that can be read"):
        api.open_trace(folder)
    assert len(NEEDED) == 5


def test_a_rank_that_is_told_makes_a_folder_of_its_own(tmp_path: Path) -> None:
    out, path = tmp_path / "out", str(SAMPLES / "kineto/same_run.json")
    for rank in ("3", "5"):
        assert main(["ingest", path, "-o", str(out), "--rank", rank]) == 0
    assert sorted(api.open_trace(folder).rank or 0 for folder in out.iterdir()) == [3, 5]


def test_names_as_long_as_a_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    path.write_bytes((SAMPLES / "kineto/same_run.json").read_bytes())
    folder, written = ingest(api.open_trace(path), tmp_path / "out")
    assert written
    same(api.open_trace(path), api.open_trace(folder))


def test_two_runs_at_once_write_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = api.open_trace(SAMPLES / "kineto/same_run.json")
    prepare = ingest_module.to_files

    def overtaken(trace: Trace) -> dict[str, bytes]:
        monkeypatch.setattr(ingest_module, "to_files", prepare)
        assert ingest(trace, tmp_path)[1]
        return prepare(trace)

    monkeypatch.setattr(ingest_module, "to_files", overtaken)
    folder, written = ingest(trace, tmp_path)
    assert not written
    same(trace, api.open_trace(folder))
    assert [found.name for found in tmp_path.iterdir()] == [folder.name]
