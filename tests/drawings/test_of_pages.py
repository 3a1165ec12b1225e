"""The pictures of the page, read back: bars as long as their figures, cells where a layer runs a kernel."""

import re

import polars as pl
import pytest

from drawings.read_back import Scale, of_kind, texts, tree
from render import sample_pages
from trace_budget import drawings
from trace_budget.errors import OutputError
from trace_budget.schema.page import StepTimes, Strip, View

BOX = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v")


def boxes(path: str) -> list[tuple[float, float, float]]:
    """(left, top, width) of the rectangles of a path."""
    return [(float(x), float(y), float(wide)) for x, y, wide in BOX.findall(path)]


def test_candidates_stand_one_after_the_other_and_the_remainder_leads_back() -> None:
    root = tree(drawings.svg(sample_pages.waterfall()))
    scale = Scale(root)
    bars = [scale.bar(each) for each in of_kind(root, "rect", "stage")]
    wanted = [(0, 30), (30, 50), (40, 50), (0, 40)]
    assert bars == [pytest.approx(ends, abs=2 * scale.per_px) for ends in wanted]
    assert "-10.000 us = -0.100 %" in texts(root)


def test_bars_of_kernels_are_as_long_as_their_time() -> None:
    root = tree(drawings.svg(sample_pages.kernel_bars()))
    scale = Scale(root)
    ends = [scale.bar(each)[1] for each in of_kind(root, "rect", "kernel")]
    assert ends == pytest.approx([50, 30, 20], abs=scale.per_px)
    shades = [float(each.attrib["width"]) for each in of_kind(root, "rect", "grid-fill")]
    assert [shade / shades[-1] for shade in shades] == pytest.approx([0.5, 0.8, 1.0], abs=0.001)


def test_a_layer_that_does_not_run_a_kernel_has_no_cell() -> None:
    root = tree(drawings.svg(sample_pages.layer_map()))
    scale = Scale(root)
    cells = [box for each in of_kind(root, "path", "cells") for box in boxes(each.attrib["d"])]
    rows = sorted({y for _, y, _ in cells})
    found = {(rows.index(y), round(scale.value(x + wide / 2))) for x, y, wide in cells}
    map_ = sample_pages.layer_map()
    assert found == set(map_.cells.select("site", "layer_index").rows())
    darkest = boxes(of_kind(root, "path", "heat5")[-1].attrib["d"])
    assert {rows.index(y) for _, y, _ in darkest} == {2}  # the only site of 100 us


def test_the_step_before_and_after_share_their_axis() -> None:
    root = tree(drawings.svg(sample_pages.strip()))
    scale = Scale(root)
    drawn = [
        [(scale.value(x), scale.value(x + w)) for x, _, w in boxes(p.attrib["d"])]
        for p in of_kind(root, "path", "bars")
    ]
    wanted = [[(0, 10), (20, 25)], [(10, 18)], [(0, 10), (18, 23)], [(10, 16)]]
    assert drawn == [[pytest.approx(ends, abs=2 * scale.per_px) for ends in row] for row in wanted]


def test_very_many_short_ops_stay_small() -> None:
    count = 100_000
    bars = pl.DataFrame(
        {
            "row": [0] * count, "start_us": [float(i) for i in range(count)], "width_us": [0.5] * count,
            "matched": [False] * count, "kernel": ["k"] * count, "ops": [1] * count,
        }
    )  # fmt: skip
    end = float(count)
    strip = Strip(("measured",), bars, (end,), (View("whole step", 0.0, end),), "k", 0.0)
    assert len(drawings.svg(strip, 1400)) < 100_000


def test_bins_are_as_high_as_their_calls() -> None:
    root = tree(drawings.svg(sample_pages.histogram()))
    heights = [float(each.attrib["height"]) for each in of_kind(root, "rect", "bin")]
    assert [heights[0] / heights[1], heights[2] / heights[3]] == pytest.approx([3.0, 5 / 9], rel=0.01)


def test_steps_that_do_not_count_are_crosses() -> None:
    root = tree(drawings.svg(sample_pages.step_times()))
    dots = of_kind(root, "path", "dotted")[0].attrib["d"].count("h0")
    crosses = next(each for each in of_kind(root, "path", "target") if "l8 8" in each.attrib["d"])
    assert (dots, crosses.attrib["d"].count("l8 8")) == (3, 1)
    assert "median 100.00 us" in texts(root)
    with pytest.raises(OutputError, match="one step alone"):
        drawings.svg(StepTimes(sample_pages.step_times().frame.head(1), 900.0, "window", 0))
