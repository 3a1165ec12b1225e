"""What is set side by side: devices, phases, steps or recordings."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from gpu_simulator import Shown, random_program, simulate, to_trace
from trace_budget.comparison.pairing import paired
from trace_budget.errors import NotInTraceError
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace

PROGRAM = random_program("linear_graph", 3)


def run(shown: Shown | None = None) -> Trace:
    return to_trace(simulate(PROGRAM), shown=shown)


def on_device(trace: Trace, device: int) -> Trace:
    return replace(trace, gpu_ops=trace.gpu_ops.with_columns(pl.lit(device, dtype=pl.Int32).alias("device")))


def phased(trace: Trace, text: str) -> Trace:
    names = pl.Series("name", [text] * trace.markers.height, dtype=pl.Enum([text]))
    return replace(trace, markers=trace.markers.with_columns(names))


def test_annotated_steps_are_compared_step_by_step() -> None:
    (pair,) = paired(run(), run(), Scope())
    assert (pair.devices, pair.phase, pair.basis) == ((0, 0), "decode", "step")
    assert len(pair.before.steps.used) == len(pair.after.steps.used) > 1


def test_other_device_numbers_pair_in_their_order() -> None:
    (pair,) = paired(on_device(run(), 3), on_device(run(), 5), Scope())
    assert pair.devices == (3, 5)


def test_steps_marked_in_one_run_only_leave_the_recordings() -> None:
    bare = run(Shown(hide_host=True))
    (pair,) = paired(run(), bare, Scope())
    assert pair.basis == "recording"
    assert [c.code for c in pair.caveats] == ["steps_not_comparable"]
    ops = run().gpu_ops
    row = pair.before.steps.frame.to_dicts()[0]
    assert row["window_ns"] == ops["end_ns"].max() - ops["start_ns"].min()
    assert (row["gpu_ops"], pair.before.steps.used.tolist()) == (ops.height, [0])


def test_recordings_can_be_asked_for() -> None:
    (pair,) = paired(run(), run(), Scope(), "recording")
    assert (pair.basis, pair.caveats) == ("recording", ())


def test_runs_without_a_common_phase_are_refused() -> None:
    prefill = phased(run(), "execute_context_3(1024)_generation_0(0)")
    with pytest.raises(NotInTraceError, match="share no phase"):
        paired(run(), prefill, Scope())


def test_other_batch_sizes_are_told() -> None:
    other = phased(run(), "execute_context_0(0)_generation_16(16)")
    (pair,) = paired(run(), other, Scope())
    assert [c.code for c in pair.caveats] == ["loads_differ"]
