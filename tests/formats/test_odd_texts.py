"""Odd names and packed files in every format that keeps its texts as they are: nothing is lost or changed."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from formats.answers import ONE_EACH, SAMPLES, SUMS, said
from trace_budget import api

KERNELS, NORMS = 63, 12
NAME = b"rms_norm_kernel"
# as long as the name they stand for: lengths and offsets inside binary files stay right
ODD = {
    "terminal escape": (b"rms\x1b[2J\x07kernel!", "rms?[2J?kernel!"),
    "no UTF-8": (b"rms\xff\xfe_norm_kern", "rms\ufffd\ufffd_norm_kern"),
    "zero byte": (b"rms_norm\0kernel", "rms_norm?kernel"),
    "direction mark": ("rms_\u202enorm_ker".encode(), None),
}
PLAIN = [name for name in ONE_EACH if not name.startswith("nsys_parquetdir")]


@pytest.mark.parametrize("odd", ["terminal escape", "no UTF-8", "zero byte", "direction mark"])
@pytest.mark.parametrize("name", PLAIN)
def test_an_odd_name_costs_no_kernel(tmp_path: Path, name: str, odd: str) -> None:
    data, shown = ODD[odd]
    assert len(data) == len(NAME)
    if name.startswith("perfetto") and odd in ("no UTF-8", "zero byte"):
        pytest.skip("no protobuf string holds it")
    path = tmp_path / Path(name).name
    path.write_bytes((SAMPLES / name).read_bytes().replace(NAME, data))
    trace = api.open_trace(path)
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")["name"].cast(pl.String)
    assert kernels.len() == KERNELS
    assert not kernels.str.contains("[\\x00-\\x1f]").any()
    if shown is not None:
        assert kernels.str.starts_with(shown.split("\0")[0]).sum() == NORMS


@pytest.mark.parametrize("name", SUMS)
def test_an_odd_name_costs_no_sum(tmp_path: Path, name: str) -> None:
    path = tmp_path / Path(name).name
    path.write_bytes((SAMPLES / name).read_bytes().replace(NAME, ODD["terminal escape"][0]))
    document = said("kernels", str(path), "--format", "json").document
    assert ODD["terminal escape"][1] in {row["kernel"] for row in document["rows"]}
    assert len(document["rows"]) == 6


@pytest.mark.parametrize("name", PLAIN)
def test_the_answer_is_the_same_when_it_is_packed(tmp_path: Path, name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    half = len(data) // 2
    path = tmp_path / f"{Path(name).name}.gz"
    path.write_bytes(gzip.compress(data[:half]) + gzip.compress(data[half:]))
    packed, plain = api.open_trace(path), api.open_trace(SAMPLES / name)
    assert packed.complete
    # launches, processes and copies may be known from a file that lies beside the plain one alone
    known = [name for name in packed.gpu_ops.columns if name not in ("op_id", "launch_id", "pid")]
    kernels = [trace.gpu_ops.filter(trace.gpu_ops["kind"] == "kernel").select(known) for trace in (packed, plain)]
    cast = [frame.with_columns(frame["name"].cast(str)) for frame in kernels]
    assert cast[0].equals(cast[1])
