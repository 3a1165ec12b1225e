"""The curve of savings, read back from the picture."""

from dataclasses import replace

import pytest

from drawings.read_back import Element, of_kind, texts, tree
from render.sample_pages import TAG, curve
from trace_budget import drawings
from trace_budget.drawings import axis
from trace_budget.drawings.curve import scales
from trace_budget.schema.page import Curve, Stated

SVG = "{http://www.w3.org/2000/svg}"


def read(drawn: Curve) -> tuple[Element, axis.Axis, axis.Axis]:
    return (tree(drawings.svg(drawn)), *scales(drawn))


def back(scale: axis.Axis, px: float) -> float:
    """The figure at a place."""
    return scale.low + (px - scale.first) / (scale.last - scale.first) * (scale.high - scale.low)


def points(element: Element, across: axis.Axis, up: axis.Axis) -> list[tuple[float, float]]:
    pairs = [pair.split(",") for pair in element.attrib["points"].split()]
    return [(back(across, float(x)), back(up, float(y))) for x, y in pairs]


@pytest.mark.parametrize("width", [320, 640, 1400])
def test_lines_go_through_the_points_of_the_curve(width: int) -> None:
    root = tree(drawings.svg(curve(), width))
    across, up = scales(curve(), width)
    frame = curve().points
    for kind, column in (("marked", "expected_pct"), ("muted", "naive_pct")):
        line = points(of_kind(root, "polyline", kind)[0], across, up)
        assert [x for x, _ in line] == pytest.approx(frame["saving_us"].to_list(), abs=0.02)
        assert [y for _, y in line] == pytest.approx(frame[column].to_list(), abs=0.01)
    band = points(of_kind(root, "polygon", "area")[0], across, up)
    assert [y for _, y in band] == pytest.approx([0.0, 0.7, 1.4, 2.0, 0.6, 0.5, 0.3, 0.0], abs=0.01)


def test_the_axis_is_the_one_that_its_figures_say() -> None:
    root, across, _ = read(curve())
    ticks = [(float(each.attrib["x"]), float(each.text or "")) for each in of_kind(root, "text", "tick")]
    assert len(ticks) > 2
    assert [back(across, x) for x, _ in ticks] == pytest.approx([value for _, value in ticks], abs=0.01)


def test_the_candidate_stands_at_its_place() -> None:
    for drawn, us, pct in ((curve(), 3.0, 0.6), (replace(curve(), stated=Stated(20.0, 0.0, 3.0, 3.0)), 20.0, 3.0)):
        root, across, up = read(drawn)
        dot = of_kind(root, "circle", "candidate")[0]
        assert back(across, float(dot.attrib["cx"])) == pytest.approx(us, abs=0.02)
        assert back(up, float(dot.attrib["cy"])) == pytest.approx(pct, abs=0.01)


def test_levels_stand_at_target_and_ceiling() -> None:
    root, _, up = read(curve())
    for kind, pct in (("target", 1.0), ("good", 2.4)):
        place = of_kind(root, "path", kind)[0].attrib["d"].split()[1].split("H")[0]
        assert back(up, float(place)) == pytest.approx(pct, abs=0.01)


def test_title_description_and_units_are_there() -> None:
    root, _, _ = read(curve())
    assert root.findtext(f"{SVG}title") == TAG
    assert "3.000 us saved a call: 0.600 % (0.300 % to 0.700 %)" in (root.findtext(f"{SVG}desc") or "")
    assert {"us saved per call", "wanted: 1.00 %", "noise: 5 runs see 2.02 %"} <= set(texts(root))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0, 0.035, [0, 0.01, 0.02, 0.03]), (-1, 4, [-1, 0, 1, 2, 3, 4]), (5, 5, [5])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert axis.ticks(low, high, 6) == pytest.approx(expected)
