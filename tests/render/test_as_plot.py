"""A picture as SVG, PNG and text: well-formed whatever it is called, and refused in one line where it cannot be."""

import struct
import sys
from types import ModuleType
from xml.etree import ElementTree

import pytest

from render.sample_pages import curve
from trace_budget.drawings import colours
from trace_budget.errors import OutputError
from trace_budget.render import as_plot

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "style", "rect", "path", "polygon", "polyline", "circle", "text"}


@pytest.mark.parametrize(
    "name", ["\x1b[31m\x00\ud800\ufffe\uffff", "x" * 500, "</svg><script>alert(1)</script>", "&amp;]]>", ""]
)
def test_any_name_gives_well_formed_xml(name: str) -> None:
    root = ElementTree.fromstring(as_plot.svg(curve(name)))  # noqa: S314  (our own output)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ELEMENTS


def test_a_png_has_twice_the_pixels() -> None:
    pytest.importorskip("resvg_py")
    data = as_plot.png(curve())
    assert data.startswith(b"\x89PNG")
    root = ElementTree.fromstring(as_plot.svg(curve()))  # noqa: S314  (our own output)
    height = float(root.attrib["height"])
    assert struct.unpack(">II", data[16:24]) == (2 * int(root.attrib["width"]), pytest.approx(2 * height, abs=2))
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
    monkeypatch.setattr(colours, "_SHAPES", colours._SHAPES.replace("DejaVu Sans", families))
    assert as_plot.png(curve("gdn")) != as_plot.png(curve("swiglu"))  # they differ in the title alone
