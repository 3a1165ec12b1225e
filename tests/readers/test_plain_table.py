"""A table of one's own: units from the header, exact decimals, steps from a column, three containers, one answer."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

ROWS = [("a", 10_001, 15_004, 0), ("b", 16_000, 21_500, 0), ("a", 40_001, 45_004, 1), ("b", 46_000, 51_500, 1)]
SCALES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def in_unit(ns: int, unit: str) -> str:
    whole, rest = divmod(ns, SCALES[unit])
    return f"{whole}.{rest:0{len(str(SCALES[unit])) - 1}d}" if unit != "ns" else str(ns)


def opened(tmp_path: Path, text: str | bytes, name: str = "t") -> Trace:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return api.open_trace(path)


def times(trace: Trace) -> list[tuple[str, int, int]]:
    return trace.gpu_ops.select(pl.col("name").cast(pl.String), "start_ns", "end_ns").rows()


@pytest.mark.parametrize("unit", SCALES)
@pytest.mark.parametrize("style", ["{}_{}", "{} ({})", "{}[{}]"])
def test_every_unit_gives_the_same_nanoseconds(tmp_path: Path, unit: str, style: str) -> None:
    header = f"name,{style.format('start', unit)},{style.format('end', unit)}"
    rows = [f"{name},{in_unit(start, unit)},{in_unit(end, unit)}" for name, start, end, _ in ROWS]
    trace = opened(tmp_path, "\n".join([header, *rows, ""]))
    assert trace.format == "plain_table"
    assert times(trace) == [row[:3] for row in ROWS]


def test_times_beyond_2_to_the_53_stay_exact(tmp_path: Path) -> None:
    start = 1_712_195_495_604_628_867
    trace = opened(tmp_path, f"name,start_us,dur_us\nk,{in_unit(start, 'us')},1.001\n")
    assert times(trace) == [("k", start, start + 1_001)]


def test_a_step_column_makes_the_steps(tmp_path: Path) -> None:
    text = "name,start_ns,end_ns,step,phase\n" + "".join(f"{n},{s},{e},{i},decode\n" for n, s, e, i in ROWS)
    steps = api.analyse(opened(tmp_path, text)).steps
    assert steps.frame["start_ns"].to_list() == [10_001, 40_001]
    assert (steps.phase, steps.frame["kernels"].to_list()) == ("decode", [2, 2])


def test_parquet_csv_and_json_lines_give_one_answer(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["name", "start_ns", "end_ns", "step"], orient="row")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(frame.write_ndjson().encode()))
    traces = [api.open_trace(tmp_path / name) for name in ("a.parquet", "a.csv", "a.jsonl.gz")]
    assert [times(trace) for trace in traces] == [[row[:3] for row in ROWS]] * 3
    assert [trace.markers["name"].cast(pl.String).to_list() for trace in traces] == [["step[#0]", "step[#1]"]] * 3


def test_floating_epochs_in_parquet_are_told(tmp_path: Path) -> None:
    start = [1_712_195_495_604_628.867, 1_712_195_495_604_729.0]
    pl.DataFrame({"name": ["k", "k"], "start_us": start, "dur_us": [5.0, 5.0]}).write_parquet(tmp_path / "a.parquet")
    trace = api.open_trace(tmp_path / "a.parquet")
    assert "coarse_times" in {caveat.code for caveat in trace.caveats}


@pytest.mark.parametrize("text", ["name,start,end\nk,1,2\n", '{"name": "k", "start": 1, "dur": 2}\n'])
def test_times_without_a_unit_are_refused_with_the_cure(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="unit") as refused:
        opened(tmp_path, text)
    assert "start_us" in refused.value.line()


def test_lines_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    good = '{"name": "k", "start_ns": 5, "end_ns": 9}\n'
    trace = opened(tmp_path, good + "{broken\n" + good.replace("5", "15").replace("9", "19"))
    assert len(times(trace)) == 2
    assert [c.count for c in trace.caveats if c.code == "damaged_lines_dropped"] == [1]
    assert not opened(tmp_path, good + '{"name": "k", "st', "cut").complete


def test_a_word_of_kind_or_a_copy_by_name(tmp_path: Path) -> None:
    text = "name,kind,start_ns,end_ns\nk,kernel,1,2\nm,MEMSET,3,4\nMemcpy DtoH (Device -> Host),,5,6\n"
    assert opened(tmp_path, text).gpu_ops["kind"].cast(pl.String).to_list() == ["kernel", "memset", "memcpy"]


def test_other_tables_are_not_taken_for_it() -> None:
    samples = Path(__file__).resolve().parents[2] / "sample_traces"
    assert detect(samples / "nsys_csv/beside_cuda_gpu_trace.csv").name == "nsys_csv"
    assert detect(samples / "rocprofv3_csv/same_run_kernel_trace.csv").name == "rocprofv3_csv"
