"""Names made safe and short to show: control characters neutralised, the middle cut out."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from os.path import commonprefix

# C0, DEL and C1 controls (terminal escapes), zero-width and direction marks (spoofing), line separators, surrogates.
CONTROL_PATTERN = (
    "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
_UNSAFE = re.compile(CONTROL_PATTERN[:-1] + "\ud800-\udfff]")
_UNIT = re.compile(
    r"(?<=[0-9]) (?=(?:us|ms|ns|s|%|x|calls?|tokens/s|steps?|layers|a device)\b|%)"
    r"|(?<=[0-9] a) (?=device)|(?<=batch) (?=[0-9])"
)
ELLIPSIS = "…"


def safe(text: str) -> str:
    """The text with every character that could steer a terminal or split a line replaced by `?`."""
    return _UNSAFE.sub("?", text)


def as_text(name: str) -> str:
    """A file name as Unicode text, which it need not be: bytes that are none become `?`."""
    return name.encode("utf-8", "replace").decode()


def cells(text: str) -> int:
    """Columns the text takes in a terminal: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The text on lines of at most `width`, further ones indented; no number is parted from its unit."""
    kept = _UNIT.sub("\u00a0", text)
    lines = textwrap.wrap(kept, width, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def cut_middle(text: str, width: int) -> str:
    """The text in at most `width` columns: head and tail stay, since kernel names differ in both."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    head = _prefix(text, width // 2)
    tail = _prefix(text[::-1], width - 1 - cells(head))[::-1]
    return head + ELLIPSIS + tail


def shortened(text: str, width: int) -> str:
    """The text made safe, in at most `width` columns."""
    return cut_middle(safe(text), width)


def cut_distinct(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most `width` columns; where `cut_middle` would make different ones look alike, the cut moves.

    Then the beginning stays, and the part from where they differ.
    """
    short = [cut_middle(text, width) for text in texts]
    alike: dict[str, set[str]] = {}
    for cut, text in zip(short, texts, strict=True):
        alike.setdefault(cut, set()).add(text)
    shared = {cut: len(commonprefix(sorted(group))) for cut, group in alike.items()}  # noqa: RUF071  (names, not paths)
    return [
        cut if len(alike[cut]) == 1 else _cut_before(text, shared[cut], width)
        for cut, text in zip(short, texts, strict=True)
    ]


def _cut_before(text: str, start: int, width: int) -> str:
    """The beginning of the text, and what follows the last word boundary before `start`."""
    head = _prefix(text, width // 3)
    boundary = max(text.rfind(mark, 0, start) for mark in "_:, <(") + 1
    begin = boundary if start - boundary < width // 4 else start
    if begin <= len(head):
        return _prefix(text, width - 1) + ELLIPSIS
    tail, room = text[begin:], width - cells(head) - 1
    return head + ELLIPSIS + (tail if cells(tail) <= room else _prefix(tail, room - 1) + ELLIPSIS)


def _prefix(text: str, width: int) -> str:
    """The longest beginning of the text that fits in `width` columns."""
    used = 0
    for index, char in enumerate(text):
        used += _cells_of(char)
        if used > width:
            return text[:index]
    return text
