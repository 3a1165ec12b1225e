"""Names made safe and short to show: control characters neutralised, the middle cut out."""

from __future__ import annotations

import re
import unicodedata

# C0, DEL and C1 controls (terminal escapes), zero-width and direction marks (spoofing), line separators, surrogates.
CONTROL_PATTERN = "[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
_UNSAFE = re.compile(CONTROL_PATTERN[:-1] + "\ud800-\udfff]")
ELLIPSIS = "…"


def safe(text: str) -> str:
    """The text with every character that could steer a terminal or split a line replaced by `?`."""
    return _UNSAFE.sub("?", text)


def safe_lines(text: str) -> str:
    """As `safe`, but line breaks stay: for messages that are lines on purpose."""
    return "\n".join(safe(line) for line in text.splitlines())


def cells(text: str) -> int:
    """Columns the text takes in a terminal: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_middle(text: str, width: int) -> str:
    """The text in at most `width` columns: head and tail stay, since kernel names differ in both."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    head = _prefix(text, width // 2)
    tail = _prefix(text[::-1], width - 1 - cells(head))[::-1]
    return head + ELLIPSIS + tail


def _prefix(text: str, width: int) -> str:
    """The longest beginning of the text that fits in `width` columns."""
    used = 0
    for index, char in enumerate(text):
        used += _cells_of(char)
        if used > width:
            return text[:index]
    return text
