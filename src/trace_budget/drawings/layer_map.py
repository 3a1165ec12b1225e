"""The layer x kernel map: a row of cells per call site, coloured by time."""

from __future__ import annotations

import math

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.colours import SHADES
from trace_budget.drawings.plain import PlainRow, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.labels import labels
from trace_budget.schema.page import LayerMap
from trace_budget.units import show_us

PITCH = 34
BAND = 10
WIDEST = 60


def svg(picture: LayerMap, width: int = 640, dark: bool | None = True) -> str:
    """Time per layer in shades; a missing cell says that the layer does not run the call site."""
    sites = picture.sites.height
    scale = axis.Axis(-0.5, picture.layers - 0.5, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(sites, PITCH)
    parts = rows.head(width, "Who runs in which layer", "one row a call site in the order of the layer")
    parts += _cells(picture, scale)
    named = labels(picture.sites["kernel"].to_list(), min(rows.room(width) - 16, WIDEST))
    shown = picture.sites.select("position", "layers_hit", "matched").rows()
    labelled = [
        Row(f"{position} {name}", f"{hit} of {picture.layers}", marked)
        for name, (position, hit, marked) in zip(named, shown, strict=True)
    ]
    parts += rows.labelled(width, labelled, PITCH)
    for layer in (each for each in axis.ticks(0, picture.layers - 1, width // 80) if each == int(each)):
        parts.append(shapes.text(scale.at(layer), bottom + 17, axis.shown(layer), "small tick", "middle"))
    parts.append(shapes.text((scale.first + scale.last) / 2, bottom + 37, "layer", "small", "middle"))
    edges = _edges(picture)
    entries = [("bar", f"heat{shade}", f"to {show_us(edges[shade])} us") for shade in range(SHADES)]
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(width, end, "Who runs in which layer", in_words(picture), [*parts, *legend], dark)


def text(picture: LayerMap, width: int = 80) -> str:
    """A row of columns a call site, dark where a layer runs it."""
    named = labels(picture.sites["kernel"].to_list(), max(width // 2 - 6, 16))
    hit: dict[int, set[int]] = {}
    for site, layer in picture.cells.select("site", "layer_index").rows():
        hit.setdefault(site, set()).add(layer)
    lines = []
    for site, (name, count) in enumerate(zip(named, picture.sites["layers_hit"].to_list(), strict=True)):
        marks = [((layer + 0.5) / picture.layers, "█") for layer in sorted(hit.get(site, set()))]
        lines.append(PlainRow(name, f"{count} of {picture.layers}", [], marks))
    return plain_rows(f"Who runs in which layer, 0 to {picture.layers - 1}", lines, width, [], "")


def in_words(picture: LayerMap) -> str:
    """What the picture says, in words."""
    shown = picture.sites.select("kernel", "layers_hit").rows()
    return "; ".join(f"{kernel}: {hit} of {picture.layers} layers" for kernel, hit in shown[:12])


def _edges(picture: LayerMap) -> list[float]:
    """The upper ends of the shades, in equal ratios of us."""
    known = [us for us in picture.cells["us"].to_list() if us > 0] or [1.0]
    low, high = min(known), max(known)
    return [low * (high / low) ** ((shade + 1) / SHADES) for shade in range(SHADES)]


def _cells(picture: LayerMap, scale: axis.Axis) -> list[str]:
    """One path a shade, so that many cells stay small."""
    edges, wide = _edges(picture), (scale.last - scale.first) / max(picture.layers, 1)
    low = edges[0] ** 2 / edges[1] if SHADES > 1 else edges[0]
    span = math.log(edges[-1] / low) or 1.0
    paths: dict[int, list[str]] = {}
    for site, layer, us in picture.cells.select("site", "layer_index", "us").rows():
        share = math.log(max(us, low) / low) / span
        shade = min(max(math.ceil(share * SHADES - 1e-9) - 1, 0), SHADES - 1)
        x, y = scale.at(layer - 0.5) + 0.04 * wide, rows.row_top(site, PITCH) + 21
        paths.setdefault(shade, []).append(f"M{x:.1f} {y:.0f}h{0.92 * wide:.2f}v{BAND}h-{0.92 * wide:.2f}z")
    return [shapes.path("".join(cells), f"heat{shade} cells") for shade, cells in sorted(paths.items())]
