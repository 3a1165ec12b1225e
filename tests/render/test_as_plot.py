"""The curve as SVG and PNG: well-formed, at the right places, safe, and refused in one line where it cannot be."""

import struct
import sys
from dataclasses import replace
from types import ModuleType
from xml.etree import ElementTree

import pytest

from render.sample_pages import TAG, curve
from trace_budget.errors import OutputError
from trace_budget.render import as_plot
from trace_budget.render.as_plot import BOTTOM, LEFT, RIGHT, TOP
from trace_budget.schema.page import Curve, Stated

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "style", "rect", "path", "polygon", "polyline", "circle", "text"}
TOP_PCT = 2.4 * 1.05  # the sample's ceiling and 5 % of room


def tree(drawn: Curve) -> ElementTree.Element:
    return ElementTree.fromstring(as_plot.svg(drawn))  # noqa: S314  (our own output)


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    """The points of a line, back in us and %."""
    pairs = [pair.split(",") for pair in element.attrib["points"].split()]
    return [
        ((float(x) - LEFT) / (RIGHT - LEFT) * 10.0, (BOTTOM - float(y)) / (BOTTOM - TOP) * TOP_PCT) for x, y in pairs
    ]


def of_kind(root: ElementTree.Element, tag: str, kind: str) -> ElementTree.Element:
    """The first element of a class; the key below comes after the drawing."""
    return next(element for element in root.iter(SVG + tag) if element.get("class") == kind)


def test_lines_go_through_the_points_of_the_curve() -> None:
    root = tree(curve())
    frame = curve().points
    for kind, column in (("marked line", "expected_pct"), ("muted line", "naive_pct")):
        line = points(of_kind(root, "polyline", kind))
        assert [x for x, _ in line] == pytest.approx(frame["saving_us"].to_list(), abs=1e-3)
        assert [y for _, y in line] == pytest.approx(frame[column].to_list(), abs=0.01)
    band = points(of_kind(root, "polygon", "marked area"))
    assert [y for _, y in band] == pytest.approx([0.0, 0.7, 1.4, 2.0, 0.6, 0.5, 0.3, 0.0], abs=0.01)


def test_the_candidate_stands_at_its_place() -> None:
    dot = of_kind(tree(curve()), "circle", "candidate dot")
    assert (float(dot.attrib["cx"]) - LEFT) / (RIGHT - LEFT) * 10 == pytest.approx(3.0, abs=0.01)
    assert (BOTTOM - float(dot.attrib["cy"])) / (BOTTOM - TOP) * TOP_PCT == pytest.approx(0.6, abs=0.01)
    far = replace(curve(), stated=Stated(20.0, 0.0, 3.0, 3.0))
    dot = of_kind(tree(far), "circle", "candidate dot")
    assert float(dot.attrib["cx"]) == pytest.approx(RIGHT)
    assert TOP <= float(dot.attrib["cy"]) <= BOTTOM


def test_levels_stand_at_target_and_ceiling() -> None:
    for kind, pct in (("target line", 1.0), ("ceiling line", 2.4)):
        path = of_kind(tree(curve()), "path", kind).attrib["d"]
        assert (BOTTOM - float(path.split()[1].split("H")[0])) / (BOTTOM - TOP) * TOP_PCT == pytest.approx(
            pct, abs=0.01
        )


def test_title_description_and_units_are_there() -> None:
    root = tree(curve())
    texts = [element.text or "" for element in root.iter(SVG + "text")]
    assert root.findtext(f"{SVG}title") == TAG
    assert "3.000 us saved a call: 0.600 % (0.300 % to 0.700 %)" in (root.findtext(f"{SVG}desc") or "")
    assert "saved per call, us" in texts
    assert any(text.startswith("target 1.00 %") for text in texts)
    assert any("5 runs" in text and "2.02 %" in text for text in texts)
    assert [text for text in texts if text.endswith("%") and text[0].isdigit() and len(text) < 7]


@pytest.mark.parametrize(
    "name", ["\x1b[31m\x00\ud800\ufffe\uffff", "x" * 500, "</svg><script>alert(1)</script>", "&amp;]]>", ""]
)
def test_any_name_gives_well_formed_xml(name: str) -> None:
    root = tree(curve(name))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ELEMENTS


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0, 0.035, [0, 0.01, 0.02, 0.03]), (-1, 4, [-1, 0, 1, 2, 3, 4]), (5, 5, [5])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert as_plot._ticks(low, high, 6) == pytest.approx(expected)


def test_a_png_has_twice_the_pixels() -> None:
    pytest.importorskip("resvg_py")
    data = as_plot.png(curve())
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (2 * as_plot.WIDTH, 2 * as_plot.HEIGHT)
    assert data != as_plot.png(curve("another"))


def test_without_resvg_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(OutputError) as caught:
        as_plot.drawing(".PNG")(curve())
    assert "pip install resvg_py" in caught.value.line()
    assert as_plot.drawing(".svg") is as_plot.svg


def test_without_fonts_a_png_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = ModuleType("resvg_py")
    blind.svg_to_bytes = lambda **_: b"nothing drawn"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "resvg_py", blind)
    with pytest.raises(OutputError, match="no font"):
        as_plot.png(curve())


@pytest.mark.parametrize("families", ["DejaVu Sans", "a family that no machine has"])
@pytest.mark.parametrize("system_fonts", [True, False])
def test_a_png_has_its_texts_whatever_fonts_the_machine_has(
    monkeypatch: pytest.MonkeyPatch, families: str, system_fonts: bool
) -> None:
    resvg = pytest.importorskip("resvg_py")
    pytest.importorskip("font_lato")
    drawn = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **k: drawn(skip_system_fonts=not system_fonts, **k))
    monkeypatch.setattr(as_plot, "SHAPES", as_plot.SHAPES.replace("DejaVu Sans", families))
    assert as_plot.png(curve("gdn")) != as_plot.png(curve("swiglu"))  # they differ in the title alone
