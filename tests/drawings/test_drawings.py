"""Pictures without a script: what is drawn, read back from it, is to scale, inside, and safe, at every width."""

from dataclasses import replace

import polars as pl
import pytest

from drawings.read_back import Scale, of_kind, texts, tree, upright_at
from render import sample_pages
from render.sample_reports import HOSTILE_NAME, LONG_NAME
from trace_budget import drawings
from trace_budget.drawings import colours
from trace_budget.errors import OutputError
from trace_budget.schema.band import Band
from trace_budget.schema.pictures import Cascade, Drawn, Forest, Needed, OneLayer, Stage, Swing, Tornado

WIDTHS = (320, 420, 640, 1400)
TAG = "</svg><script>alert(1)</script>"


def cascade() -> Cascade:
    stages = (
        Stage("10 us x 10 calls", 0.0, 100.0, total=True), Stage("overlap and launches", 100.0, 60.0),
        Stage("costs", 60.0, 65.0), Stage("projected", 0.0, 65.0, total=True),
    )  # fmt: skip
    return Cascade(TAG, stages, Band(50.0, 65.0, 80.0), 10_000.0, 1.5, "NO-GO")


def forest() -> Forest:
    frame = pl.DataFrame(
        {
            "candidate": [TAG, LONG_NAME, "c"], "low_pct": [1.0, -0.5, 0.2], "expected_pct": [2.0, 0.5, 0.2],
            "high_pct": [3.0, 0.75, 0.2], "verdict": ["GO", "MARGINAL", "NO-GO"],
        }
    )  # fmt: skip
    return Forest(frame, Band(1.0, 2.2, 3.5), 1.0, 0.8, 0.42, 5)


def tornado() -> Tornado:
    swings = (
        Swing("Q1", "us saved per call", 0.5, 3.0, "1 to 3 us"), Swing("Q4", "requests", 0.0, 2.0, "0 to 1"),
        Swing("Q2", "calls", 2.0, 2.0, "12 in every step"),
    )  # fmt: skip
    return Tornado(TAG, swings, 2.0, 1.0)


def needed() -> Needed:
    frame = pl.DataFrame(
        {
            "kernel": [LONG_NAME, TAG, HOSTILE_NAME, "d"], "share_pct": [40.0, 2.0, 1.1, 0.5],
            "speedup": [40 / 39, 2.0, 11.0, None], "can": ["yes", "on paper", "only if removed", "no"],
        }
    )  # fmt: skip
    return Needed(frame, 1.0, 0.82)


def one_layer() -> OneLayer:
    bars = pl.DataFrame(
        {
            "row": [0, 1, 0], "start_us": [0.0, 5.0, 20.0], "us": [10.0, 8.0, 5.0],
            "kernel": [LONG_NAME, TAG, LONG_NAME], "number": [1, 2, 1], "matched": [False, True, False],
        }
    )  # fmt: skip
    kernels = pl.DataFrame(
        {"kernel": [LONG_NAME, TAG], "calls": [2, 1], "us": [15.0, 8.0], "number": [1, 2], "matched": [False, True]}
    )
    return OneLayer(3, 8, 2, ("stream 7", "stream 8"), bars, kernels, 25.0)


OF_PAGES = (
    sample_pages.curve(LONG_NAME), sample_pages.strip(), sample_pages.layer_map(), sample_pages.kernel_bars(),
    sample_pages.histogram(), sample_pages.step_times(), sample_pages.waterfall(),
)  # fmt: skip
EVERY = (cascade(), forest(), tornado(), needed(), one_layer(), *OF_PAGES)


@pytest.mark.parametrize("picture", EVERY, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_text_is_inside_and_none_is_small(picture: Drawn, width: int) -> None:
    root = tree(drawings.svg(picture, width))
    height = float(root.attrib["height"])
    lefts: dict[float, float] = {}
    rights: dict[float, float] = {}
    assert root.attrib["viewBox"] == f"0 0 {width} {root.attrib['height']}"
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        size = (7.0 if "small" in (element.get("class") or "") else 8.1) * len(element.text or "")
        begin = {"start": 0.0, "middle": -size / 2, "end": -size}[element.get("text-anchor", "start")]
        x, y = float(element.attrib["x"]) + begin, float(element.attrib["y"])
        assert -4 <= x <= x + size <= width + 8, element.text
        assert 10 <= y <= height, element.text
        if element.get("text-anchor") == "end" and x > width / 3:
            rights[y] = x
        elif x < 20:
            lefts[y] = x + size
    assert [y for y in rights if lefts.get(y, 0.0) > rights[y] + 8] == []
    assert 12 * 420 / drawings.WIDTH > 7.5  # px of the smallest text where a picture is shrunk to a phone's width


@pytest.mark.parametrize("picture", EVERY, ids=lambda each: type(each).__name__)
def test_names_of_a_trace_cannot_leave_their_place(picture: Drawn) -> None:
    text = drawings.svg(picture)
    assert "<script" not in text
    assert "\x1b" not in drawings.text(picture)
    assert text.count("<style>") == 1
    assert "<style>" not in drawings.svg(picture, dark=None)
    assert "prefers-color-scheme" not in drawings.svg(picture, dark=False)
    assert drawings.svg(picture) == text


@pytest.mark.parametrize("picture", EVERY, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_text_keeps_to_the_terminal(picture: Drawn, width: int) -> None:
    lines = drawings.text(picture, width).splitlines()
    assert len(lines) > 2
    if width >= 60:
        assert max(len(line) for line in lines) <= max(width, 78)


def test_colours_differ_on_dark_paper() -> None:
    assert set(colours.LIGHT) == set(colours.DARK)
    assert all(colours.LIGHT[name] != colours.DARK[name] for name in colours.LIGHT)
    assert "@media screen and (prefers-color-scheme:dark)" in colours.style()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_cascade_is_drawn_to_scale(width: int) -> None:
    root = tree(drawings.svg(cascade(), width))
    scale = Scale(root)
    bars = [scale.bar(each) for each in of_kind(root, "rect", "stage")]
    wanted = [(0, 100), (60, 100), (60, 65), (0, 65)]
    assert bars == [pytest.approx(ends, abs=2 * abs(scale.per_px)) for ends in wanted]
    target = of_kind(root, "path", "target")
    assert scale.value(upright_at(target[0])) == pytest.approx(150, abs=abs(scale.per_px))


def test_a_forest_is_drawn_to_scale() -> None:
    root = tree(drawings.svg(forest()))
    scale = Scale(root)
    dots = [scale.value(float(each.attrib["cx"])) for each in of_kind(root, "circle", "expected")]
    assert dots == pytest.approx([2.0, 0.5, 0.2, 2.2], abs=abs(scale.per_px))
    ranges = [each.attrib["d"].replace("M", "").replace("H", " ").split() for each in of_kind(root, "path", "range")]
    ends = [(scale.value(float(x0)), scale.value(float(x1))) for x0, _, x1 in ranges]
    assert ends == [pytest.approx(e, abs=abs(scale.per_px)) for e in ((1, 3), (-0.5, 0.75), (0.2, 0.2), (1, 3.5))]


def test_a_tornado_is_drawn_to_scale_and_names_what_moves_nothing() -> None:
    root = tree(drawings.svg(tornado()))
    scale = Scale(root)
    bars = [scale.bar(each) for each in of_kind(root, "rect", "swing")]
    wanted = [(0.5, 2.0), (2.0, 3.0), (0.0, 2.0), (2.0, 2.0)]
    assert bars == [pytest.approx(ends, abs=2 * abs(scale.per_px)) for ends in wanted]
    assert "Q2 calls moves nothing: 12 in every step" in texts(root)


def test_dots_of_needed_lie_on_the_line_of_what_is_needed() -> None:
    root = tree(drawings.svg(needed()))
    dots = of_kind(root, "circle", "kernel")
    assert len(dots) == 4
    line = of_kind(root, "path", "muted")[0].attrib["d"]
    points = [tuple(float(part) for part in pair.split()) for pair in line[1:].split("L")]
    for dot in dots:
        x, y = float(dot.attrib["cx"]), float(dot.attrib["cy"])
        if x < points[0][0]:
            continue
        after = next(i for i, (px, _) in enumerate(points) if px >= x - 0.1)
        (x0, y0), (x1, y1) = points[max(after - 1, 0)], points[after]
        assert min(y0, y1) - 1 <= y <= max(y0, y1) + 1, (x0, x, x1)
    with pytest.raises(OutputError, match="one kernel alone"):
        drawings.svg(Needed(needed().frame.head(1), 1.0, 0.82))


def test_bars_of_a_layer_are_as_long_as_its_ops() -> None:
    root = tree(drawings.svg(one_layer()))
    scale = Scale(root)
    bars = [scale.bar(each) for each in of_kind(root, "rect", "op")]
    wanted = [(0, 10), (5, 13), (20, 25)]
    assert bars == [pytest.approx(ends, abs=2 * abs(scale.per_px)) for ends in wanted]
    tops = [float(each.attrib["y"]) for each in of_kind(root, "rect", "op")]
    assert tops[0] == tops[2] < tops[1]


def test_a_title_names_the_kernel_as_no_other_of_the_trace() -> None:
    names = ("ns::f<int, 1>(float*)", "ns::f<int, 2>(float*)")
    for picture in (cascade(), tornado()):
        both = replace(picture, kernel=names[0], among=names)
        title = texts(tree(drawings.svg(both)), "title")[0]
        assert title.endswith("f<int, 1>") or title.startswith("f<int, 1>")
        assert texts(tree(drawings.svg(replace(both, among=()))), "title")[0].count("<") == 0
        assert "f<int, 1>" in drawings.text(both)
