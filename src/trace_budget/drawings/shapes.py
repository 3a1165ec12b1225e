"""Shapes as SVG text, and the document around them; every text that comes from a trace is made safe here."""

from __future__ import annotations

import html
from collections.abc import Iterable

from trace_budget.drawings.colours import style
from trace_budget.text import safe

TEXT_PX = 14
CHAR_PX = 8.1  # a character of the text on average, rounded up
SMALL_PX = 7.0
WIDE_PX = 9.6  # a capital, a digit or a sign on average
WIDEST_PX = 13.7


def escaped(text: str) -> str:
    """Untrusted text for XML, of which U+FFFE and U+FFFF are no characters."""
    return html.escape(safe(text).translate({0xFFFE: "?", 0xFFFF: "?"}))


def width_px(words: str) -> float:
    """How wide words are at most, about, in the fonts the style sheet names."""
    widest = sum(char in "mwMW%@" for char in words)
    wide = sum(not char.islower() and char not in " _.,:;|'()[]" for char in words) - sum(c in "MW%@" for c in words)
    return widest * WIDEST_PX + wide * WIDE_PX + (len(words) - widest - wide) * CHAR_PX


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place; `kind` is a class of the style sheet."""
    look = f' class="{kind}"' if kind else ""
    turn = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{turn}{look}>{escaped(words)}</text>'


def bar(x0: float, x1: float, y: float, height: float, kind: str, hint: str = "") -> str:
    """A bar between two places on the axis, whichever is the left one; `hint` is shown when it is pointed at."""
    left, width = min(x0, x1), abs(x1 - x0)
    place = f'x="{_n(left)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    named = f"<title>{escaped(hint)}</title>" if hint else ""
    return f'<rect {place} class="{kind}">{named}</rect>' if named else f'<rect {place} class="{kind}"/>'


def path(steps: str, kind: str) -> str:
    """A line by SVG path commands."""
    return f'<path d="{steps}" class="{kind}"/>'


def upright(x: float, top: float, bottom: float, kind: str) -> str:
    """A vertical line."""
    return path(f"M{_n(x)} {_n(top)}V{_n(bottom)}", kind)


def level(y: float, left: float, right: float, kind: str) -> str:
    """A horizontal line."""
    return path(f"M{_n(left)} {_n(y)}H{_n(right)}", kind)


def dot(x: float, y: float, radius: float, kind: str, hint: str = "") -> str:
    """A filled circle."""
    place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle {place} class="{kind}"><title>{escaped(hint)}</title></circle>' if hint else (
        f'<circle {place} class="{kind}"/>'
    )  # fmt: skip


def document(width: int, height: float, title: str, hint: str, parts: Iterable[str], dark: bool | None = True) -> str:
    """A whole picture, with its title and what it says for those who cannot see it.

    `dark`: follow the viewer's dark scheme; None: without a style sheet, for a page that has it already.
    """
    sheet = "" if dark is None else f"<style>{style(dark)}</style>\n"
    size = f'viewBox="0 0 {width} {_n(height)}" width="{width}" height="{_n(height)}"'
    paper = f'<rect width="{width}" height="{_n(height)}" class="paper"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="drawn" role="img">'
    words = f"<title>{escaped(title)}</title><desc>{escaped(hint)}</desc>"
    return "\n".join([head, words, sheet + paper, *parts, "</svg>\n"])


def _n(value: float) -> str:
    """A coordinate with as few digits as say its place."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
