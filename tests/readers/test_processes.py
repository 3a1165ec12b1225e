"""Kernels whose rows name no process get that of the call that launched them, where it can be told."""

from __future__ import annotations

import polars as pl
import pytest

from trace_budget.errors import InputError
from trace_budget.readers.processes import keys_of, with_processes

STEP_NS, STEPS, KERNELS = 600_000, 6, 17
Run = tuple[pl.DataFrame, pl.DataFrame]


def run_of(pid: int, device: int, begin_ns: int = 1_000_000_000, first_id: int = 1, kernels: int = KERNELS) -> Run:
    """Steps of a copy, a graph launch with its kernels and a wait; three ids a step; the host is 30 us ahead."""
    ops, calls = [], []
    for step in range(STEPS):
        start, number = begin_ns + step * STEP_NS, first_id + 3 * step
        for offset, name in enumerate(("cudaMemcpyAsync", "cudaGraphLaunch", "cudaStreamSynchronize")):
            at = start + 2_000 * offset
            calls.append((name, pid, number + offset, at, at + 1_000))
        work = [("memcpy", number), *[("kernel", number + 1)] * kernels]
        for place, (kind, correlation) in enumerate(work):
            ops.append((kind, device, correlation, start + 30_000 + 17_000 * place, pid))
    names = ["kind", "device", "correlation", "start_ns", "truth"]
    frame = pl.DataFrame(ops, schema=names, orient="row").with_columns(pl.lit(None, pl.Int64).alias("pid"))
    return frame, pl.DataFrame(calls, schema=["name", "pid", "correlation", "start_ns", "end_ns"], orient="row")


def together(*runs: Run) -> Run:
    return pl.concat([ops for ops, _ in runs]).sort("start_ns"), pl.concat([calls for _, calls in runs])


def owners(run: Run) -> tuple[pl.DataFrame, list[str]]:
    found, told = with_processes(*run, ("device",), "file", "advice")
    return found, [caveat.code for caveat in told]


def test_one_process_owns_everything() -> None:
    found, told = owners(run_of(100, 0))
    assert found["pid"].to_list() == [100] * found.height
    assert told == []


@pytest.mark.parametrize("shift", [1, 2, 3, 9, 1_000])
@pytest.mark.parametrize("later_ns", [-250_000, -7_000, 41_000])
def test_two_devices_whose_ids_are_shifted(shift: int, later_ns: int) -> None:
    found, _ = owners(together(run_of(100, 0), run_of(200, 1, 1_000_000_000 + later_ns, 1 + shift)))
    known = found.drop_nulls("pid")
    assert known["pid"].to_list() == known["truth"].to_list()
    assert known.height in (0, found.height)


def test_two_devices_with_equal_ids_are_left_unknown_and_told() -> None:
    found, told = owners(together(run_of(100, 0), run_of(200, 1, 1_000_007_000)))
    assert found["pid"].null_count() == found.height
    assert told == ["processes_unknown"]


@pytest.mark.parametrize("later_ns", [7_000, 300_000])
def test_one_device_with_equal_ids_is_refused(later_ns: int) -> None:
    with pytest.raises(InputError, match="processes 100, 200"):
        owners(together(run_of(100, 0), run_of(200, 0, 1_000_000_000 + later_ns)))


def test_one_device_with_ids_of_their_own_is_told_apart_call_by_call() -> None:
    found, told = owners(together(run_of(100, 0), run_of(200, 0, 1_000_300_000, 5_000)))
    assert found["pid"].to_list() == found["truth"].to_list()
    assert told == []


def test_three_processes_on_two_devices_are_refused_when_two_share_one() -> None:
    shared = together(run_of(100, 0), run_of(200, 0, 1_000_300_000), run_of(300, 1, 1_000_000_000, 700))
    with pytest.raises(InputError, match="cannot be told apart"):
        owners(shared)


def test_a_process_that_waits_only_owns_nothing() -> None:
    ops, calls = run_of(100, 0)
    idle = calls.with_columns(name=pl.lit("cudaDeviceSynchronize"), pid=pl.lit(900, pl.Int64))
    found, told = owners((ops, pl.concat([calls, idle])))
    assert found["pid"].to_list() == [100] * found.height
    assert told == []


def test_known_processes_stay() -> None:
    ops, calls = together(run_of(100, 0), run_of(200, 1))
    found, told = owners((ops.with_columns(pl.col("truth").alias("pid")), calls))
    assert found["pid"].to_list() == found["truth"].to_list()
    assert told == []
    assert keys_of(found, calls) == ("pid", "correlation")


def test_without_processes_the_correlation_has_to_do() -> None:
    ops, calls = run_of(100, 0)
    nobody = calls.with_columns(pl.lit(None, pl.Int64).alias("pid"))
    found, _ = owners((ops, nobody))
    assert found["pid"].null_count() == found.height
    assert keys_of(found, nobody) == ("correlation",)
