"""A drawn picture read back: its axis from the figures under it, its bars as figures on that axis."""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
Element = ElementTree.Element


def tree(text: str) -> Element:
    """The picture as elements."""
    return ElementTree.fromstring(text)  # noqa: S314  (our own output)


def of_kind(root: Element, tag: str, kind: str) -> list[Element]:
    """The elements of a class."""
    return [element for element in root.iter(SVG + tag) if kind in (element.get("class") or "").split()]


def texts(root: Element, kind: str | None = None) -> list[str]:
    """Every text of the picture, or those of a class."""
    found = root.iter(SVG + "text") if kind is None else of_kind(root, "text", kind)
    return [element.text or "" for element in found]


class Scale:
    """The axis, from two of the figures that stand under it."""

    def __init__(self, root: Element) -> None:
        ticks = [
            (float(each.attrib["x"]), float((each.text or "").split()[0])) for each in of_kind(root, "text", "tick")
        ]
        (self.px, self.zero), (last_px, last) = ticks[0], ticks[-1]
        self.per_px = (last - self.zero) / (last_px - self.px)
        assert all(abs(self.value(px) - value) < 1e-6 + 0.02 * abs(self.per_px) for px, value in ticks)

    def value(self, px: float) -> float:
        """The figure at a place."""
        return self.zero + (px - self.px) * self.per_px

    def bar(self, element: Element) -> tuple[float, float]:
        """The figures at the ends of a bar."""
        left = float(element.attrib["x"])
        return self.value(left), self.value(left + float(element.attrib["width"]))


def upright_at(element: Element) -> float:
    """The place of a vertical line."""
    return float(element.attrib["d"][1:].split()[0])
