"""The replay in C gives the same doubles as the one in Python, refuses what lies outside, and can be switched off."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_simulator import KINDS, random_program, simulate, to_trace
from projection.random_traces import traces
from shared_traces import SHARED
from trace_budget import api
from trace_budget.analysis.floor import dispatch_floor
from trace_budget.errors import TraceBudgetError
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.native import SWITCH, Columns, NativeSweep, built_library, chosen_library
from trace_budget.projection.replay.prepared import Vanishing
from trace_budget.projection.replay.propagation import OP, propagate, propagate_in_python
from trace_budget.projection.replay.schedule import schedule_of
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.trace import Trace

COLUMNS = 3
HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))
needs_library = pytest.mark.skipif(built_library() is None, reason="the accelerator was not built")
FILES = [
    *sorted((Path(__file__).parents[3] / "sample_traces").rglob("*.json.gz")),
    *(sorted((SHARED / "kineto").glob("*.json.gz")) if SHARED.is_dir() else ()),
]
seeds = st.integers(0, 10_000)
programs = st.builds(lambda kind, seed: to_trace(simulate(random_program(kind, seed))), st.sampled_from(KINDS), seeds)


def lines_of(trace: Trace) -> tuple[tuple[Timeline, Edges], ...]:
    found = api.analyse(trace)
    return schedule_of(trace, found.steps, dispatch_floor(trace)).lines


def drawn(line: Timeline, seed: int) -> tuple[Columns, Vanishing]:
    """Savings, some of them losses, for some of the ops; and some ops that end with an earlier one."""
    random = np.random.default_rng(seed)
    length = (line.end_ns - line.start_ns)[:, None]
    share = np.where(random.random((line.size, COLUMNS)) < 0.3, random.uniform(-0.2, 1.0, (line.size, COLUMNS)), 0.0)
    saved = share * length
    gone: Vanishing = {}
    for op in random.integers(1, line.size, size=2).tolist() if line.size > 1 and seed % 2 else []:
        gone[op] = [(int(random.integers(0, COLUMNS)), op - 1)]
    return (saved - np.abs(saved) * 0.1, saved, saved + np.abs(saved) * 0.1), gone


def assert_equal(line: Timeline, edges: Edges, seed: int) -> None:
    columns, gone = drawn(line, seed)
    fast = propagate(line, edges, *columns, gone)
    slow = propagate_in_python(line, edges, columns, gone)
    for mine, theirs in zip((*fast.start, *fast.end), (*slow.start, *slow.end), strict=True):
        assert np.array_equal(mine, theirs)


@needs_library
@given(trace=st.one_of(programs, traces()), seed=seeds)
@settings(max_examples=80, deadline=None)
def test_both_engines_give_the_same_doubles(trace: Trace, seed: int) -> None:
    for line, edges in lines_of(trace):
        assert_equal(line, edges, seed)


@needs_library
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_both_engines_give_the_same_doubles_on_recorded_traces(path: Path) -> None:
    try:
        lines = lines_of(api.open_trace(path))
    except TraceBudgetError:
        pytest.skip("no steps to project on")
    for line, edges in lines[:3]:
        assert_equal(line, edges, 1)


@pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler")
def test_it_is_built_wherever_there_is_a_compiler() -> None:
    assert built_library() is not None, "install again: pip install -e ."


@needs_library
def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_library() is not None
    monkeypatch.setenv(SWITCH, "1")
    assert chosen_library() is None


@needs_library
@pytest.mark.parametrize("row", [-1, 10_000])
def test_an_event_outside_of_the_stretch_is_refused(row: int) -> None:
    line, edges = lines_of(to_trace(simulate(random_program(KINDS[0], 1))))[0]
    code = built_library()
    assert code is not None
    sweep = NativeSweep(code, line, edges, drawn(line, 0)[0], {})
    with pytest.raises(ValueError, match="outside"):
        sweep.run(np.array([OP]), np.array([row]))
