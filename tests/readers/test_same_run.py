"""One run, written in every format: every reader must find the same kernels, launches and ranges, to the nanosecond."""

from __future__ import annotations

from pathlib import Path

import pytest

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.readers.detect import detect
from trace_budget.schema.trace import Trace

FILES = sorted(
    str(path.relative_to(run.SAMPLES))
    for path in run.SAMPLES.glob("*/same_run.*")
    if not path.name.endswith(".truth.json")
)


@pytest.fixture(scope="module", params=FILES)
def trace(request: pytest.FixtureRequest) -> Trace:
    path = run.SAMPLES / request.param
    read: Trace = detect(path).read(path, ReadOptions())
    return read


def test_kernels_and_their_times(trace: Trace) -> None:
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert trace.complete


def test_kernels_of_each_graph_launch(trace: Trace) -> None:
    if not trace.calls.height:
        pytest.skip("the format records no API calls")
    assert run.launched_kernels(trace) == [21, 21, 21]


def test_ranges(trace: Trace) -> None:
    if not trace.markers.height:
        pytest.skip("the format records no ranges")
    assert run.marker_rows(trace) == run.expected_markers()


def test_the_path_is_not_what_tells_the_format(trace: Trace, tmp_path: Path) -> None:
    unknown = tmp_path / "unknown"
    unknown.write_bytes(Path(trace.path).read_bytes())
    assert detect(unknown).name == trace.format
