"""XPlane profiles: streams, steps, launches by correlation, TPU ops, damage."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import run_description as described
from sample_traces.make import xplane_format

import same_run as run
from trace_budget import api
from trace_budget.errors import InputError

SAMPLE = run.SAMPLES / "xplane" / "same_run.xplane.pb"


def test_the_sample_is_what_its_program_writes() -> None:
    assert SAMPLE.read_bytes() == xplane_format.space(run.RUN)


def test_kernels_copies_and_calls_to_the_nanosecond() -> None:
    trace = api.open_trace(SAMPLE)
    assert trace.format == "xplane"
    assert run.kernel_rows(trace) == run.expected_kernels()
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy").select("start_ns", "end_ns").rows()
    assert copies == run.expected_copies()
    assert run.call_rows(trace) == run.expected_calls()
    assert run.launched_kernels(trace) == [21] * described.STEPS


def test_stated_steps_are_the_steps() -> None:
    steps = api.analyse(api.open_trace(SAMPLE)).steps
    assert steps.frame.height == described.STEPS
    assert steps.frame["kernels"].to_list() == [21] * described.STEPS


def test_a_device_without_streams_shows_its_ops(tmp_path: Path) -> None:
    data = xplane_format.space(run.RUN, "/device:TPU:0").replace(b"Stream #7(Compute)", b"XLA Modules Line 1")
    (tmp_path / "t.pb").write_bytes(data)
    trace = api.open_trace(tmp_path / "t.pb")
    assert run.kernel_rows(trace) == run.expected_kernels()


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_a_cut_file_is_refused_in_one_line(tmp_path: Path, cut: float) -> None:
    data = SAMPLE.read_bytes()
    (tmp_path / "t.pb").write_bytes(data[: int(cut * len(data))])
    with pytest.raises(InputError, match="damaged XSpace"):
        api.open_trace(tmp_path / "t.pb")


def test_a_host_alone_has_no_device_work(tmp_path: Path) -> None:
    (tmp_path / "t.pb").write_bytes(xplane_format.space(run.RUN, "/host:metadata"))
    with pytest.raises(InputError, match="no device work"):
        api.open_trace(tmp_path / "t.pb")
