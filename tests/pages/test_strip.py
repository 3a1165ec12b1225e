"""One step in time, by hand: where bars stand before and after, what vanishes, what is merged, what is worth a view."""

import numpy as np
import polars as pl
import pytest

from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.pages import strip as room
from trace_budget.pages.pictures import Marked
from trace_budget.pages.strip import step_strip, typical_step
from trace_budget.projection.candidates import Candidate, Sequence
from trace_budget.projection.target import prepared_rank, target_of
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.page import Strip
from trace_budget.schema.trace import Trace


def chain(steps: int = 3, layers: int = 2) -> Trace:
    """A graph a step: per layer k(10), m(6) and n(4) back to back on one stream, waited for."""
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = 500.0 * step, 10 * step + 1
        ranges.append(Range(at - 20, at + 10))
        calls += [
            Call("cudaGraphLaunch", at - 15, at - 5, graph),
            Call("cudaStreamSynchronize", at - 4, at + 90, graph + 1),
        ]
        for layer in range(layers):
            begin = at + 20.0 * layer
            for place, (name, offset, length) in enumerate((("k", 0, 10), ("m", 10, 6), ("n", 16, 4))):
                ops.append(Op(name, begin + offset, length, 7, graph, node=3 * layer + place))
    return hand_trace(ops, calls, ranges)


def drawn(trace: Trace, *candidates: Candidate, name: str = "k") -> Strip:
    found = api.analyse(trace)
    site = prepared_rank(found)
    claims = tuple(target_of(site, candidate).claim for candidate in candidates)
    ids = trace.gpu_ops.filter(pl.col("name").cast(pl.String) == name)["op_id"].to_numpy()
    return step_strip(found, typical_step(found), Marked(name, ids, (name,)), claims)


def rows(strip: Strip, row: int) -> list[tuple[str, float, float]]:
    """(kernel, start, width) of one row, by start."""
    frame = strip.bars.filter(pl.col("row") == row).sort("start_us")
    return frame.select("kernel", "start_us", pl.col("width_us").round(6)).rows()


def test_measured_and_projected_stand_on_one_axis() -> None:
    strip = drawn(chain(), Candidate("", Change(saving_us=3.0), Selection("re:^k$")))
    assert strip.rows == ("measured, stream 7", "projected, stream 7")
    assert rows(strip, 0) == [("k", 0, 10), ("m", 10, 6), ("n", 16, 4), ("k", 20, 10), ("m", 30, 6), ("n", 36, 4)]
    assert rows(strip, 1) == [("k", 0, 7), ("m", 7, 6), ("n", 13, 4), ("k", 17, 7), ("m", 24, 6), ("n", 30, 4)]
    assert strip.ends_us == (40.0, 34.0)
    assert strip.bars.filter(pl.col("matched"))["kernel"].to_list() == ["k"] * 4


def test_candidates_move_the_step_together() -> None:
    asked = [Candidate(n, Change(saving_us=s), Selection(f"re:^{n}$")) for n, s in (("k", 3.0), ("n", 1.0))]
    assert drawn(chain(), *asked).ends_us == (40.0, 32.0)


def test_kernels_that_a_fusion_removes_are_not_drawn_after() -> None:
    fused = Candidate("", Change(new_us=12.0), None, Sequence(("re:^k$", "re:^m$"), 12.0))
    strip = drawn(chain(), fused)
    assert [name for name, *_ in rows(strip, 0)] == ["k", "m", "n"] * 2
    assert sorted(name for name, *_ in rows(strip, 1)) in (["k", "k", "n", "n"], ["m", "m", "n", "n"])
    assert strip.ends_us[0] - strip.ends_us[1] == pytest.approx(2 * 4.0)


def test_without_a_candidate_the_step_stands_there_once() -> None:
    strip = drawn(chain())
    assert strip.rows == ("measured, stream 7",)
    assert len(rows(strip, 0)) == 6


def test_views_hold_the_call_before_and_after() -> None:
    strip = drawn(chain(layers=6), Candidate("", Change(saving_us=5.0), Selection("re:^k$")))
    assert [view.title for view in strip.views] == ["whole step", "one layer", "one call"]
    assert (strip.views[0].from_us, strip.views[0].to_us) == (0.0, 120.0)
    call = strip.views[-1]
    inside = strip.bars.filter(
        pl.col("matched")
        & (pl.col("start_us") >= call.from_us)
        & (pl.col("start_us") + pl.col("width_us") <= call.to_us)
    )
    assert set(inside["row"].to_list()) == {0, 1}


def test_the_step_nearest_the_median_is_shown() -> None:
    slow = chain(4).gpu_ops.with_columns(pl.col("start_ns"), pl.col("end_ns") + 40 * (pl.col("op_id") == 5))
    trace = chain(4)
    found = api.analyse(Trace(trace.path, trace.format, slow, trace.calls, trace.markers))
    windows = found.steps.frame.filter(pl.col("used"))["window_ns"].to_list()
    shown = found.steps.frame.filter(pl.col("step_index") == typical_step(found))["window_ns"].item()
    assert shown == sorted(windows)[len(windows) // 2]
    assert 0 < windows.count(shown) < len(windows)


def test_too_many_ops_are_merged_without_losing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn(chain(layers=40), Candidate("", Change(saving_us=3.0), Selection("re:^k$")))
    monkeypatch.setattr(room, "MOST_BARS", 50)
    monkeypatch.setattr(room, "PIECES", 10)
    merged = drawn(chain(layers=40), Candidate("", Change(saving_us=3.0), Selection("re:^k$")))
    assert whole.merged_us == 0
    assert merged.merged_us == pytest.approx(800 / 10)
    assert merged.bars.height < 50 < whole.bars.height
    keys = ["row", "matched"]
    for frame in (whole, merged):
        counts = frame.bars.group_by(keys).agg(pl.col("ops").sum()).sort(keys)["ops"].to_list()
        assert counts == [80, 40, 80, 40]
    ends = [frame.bars.select((pl.col("start_us") + pl.col("width_us")).max()).item() for frame in (whole, merged)]
    assert ends[0] == ends[1] == 800.0


def test_rare_streams_share_a_row() -> None:
    streams = np.repeat(np.arange(9), [90, 80, 70, 60, 50, 4, 3, 2, 1])
    lane, titles = room._lanes(pl.Series(streams))
    assert titles == ("stream 0", "stream 1", "stream 2", "stream 3", "stream 4", "4 other streams")
    assert np.bincount(lane).tolist() == [90, 80, 70, 60, 50, 10]
    assert room._lanes(pl.Series([None, None, 5], dtype=pl.Int64))[1] == ("stream unknown", "stream 5")
