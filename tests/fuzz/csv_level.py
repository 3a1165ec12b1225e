"""Mutations of CSV text: cells, rows, headers, quoting and line ends."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_ODD_CELLS = (
    *(b"", b'""', b'"', b"-1", b"0", b"NaN", b"abc", b"1e9", b"99999999999999999999", b"9223372036854775807", b" 7 "),
    *(
        b'"a,b"',
        b'"a""b"',
        b'"a"b"',
        b'"a\nb"',
        b"=cmd()",
        b"\xff\xfe",
        b"\0",
        b"\x1b[31m",
        b"k" * 3_000,
        b"1.5",
        b"-0",
    ),
    *(b"\xc3\xa9", b"KERNEL_DISPATCH", b"MEMORY_COPY", b"Total", b"\x01"),
)


def cell(rng: Random, text: bytes) -> bytes:
    """Another cell; cut at commas, so also inside quotes."""

    def change(line: bytes) -> bytes:
        cells = line.split(b",")
        cells[rng.randrange(len(cells))] = rng.choice(_ODD_CELLS)
        return b",".join(cells)

    return _with_line(rng, text, change)


def width(rng: Random, text: bytes) -> bytes:
    """A row with a cell more or less."""

    def change(line: bytes) -> bytes:
        cells = line.split(b",")
        at = rng.randrange(len(cells))
        cells[at : at + 1] = rng.choice(([], [b"1", b"2"], [b""] * 3))
        return b",".join(cells)

    return _with_line(rng, text, change)


def row_gone(rng: Random, text: bytes) -> bytes:
    """A row is missing, blank or cut."""
    return _with_line(rng, text, lambda line: rng.choice((b"", b"\r", line[: len(line) // 2], b",,,")))


def row_twice(rng: Random, text: bytes) -> bytes:
    """A row stands there twice."""
    return _with_line(rng, text, lambda line: line + b"\n" + line)


def rows_joined(rng: Random, text: bytes) -> bytes:
    """Two rows on one line, as parallel writers leave them."""
    lines = text.split(b"\n")
    at = rng.randrange(len(lines))
    return b"\n".join([*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]])


def rows_shuffled(rng: Random, text: bytes) -> bytes:
    """The rows in another order, the header possibly among them."""
    lines = text.split(b"\n")
    keep = rng.choice((0, 1))
    rest = lines[keep:]
    rng.shuffle(rest)
    return b"\n".join([*lines[:keep], *rest])


def header(rng: Random, text: bytes) -> bytes:
    """The header misses a column, names one twice, has an odd name, or comes again later."""
    lines = text.split(b"\n")
    cells = lines[0].split(b",")
    at = rng.randrange(len(cells))
    how = rng.randrange(5)
    if how == 0:
        cells[at] = rng.choice(_ODD_CELLS)
    elif how == 1:
        cells[at] = cells[rng.randrange(len(cells))]
    elif how == 2:
        del cells[at]
    elif how == 3:
        cells[at] = cells[at].swapcase()
    else:
        lines.insert(rng.randrange(len(lines) + 1), lines[0])
    return b"\n".join([b",".join(cells), *lines[1:]])


def line_ends(rng: Random, text: bytes) -> bytes:
    """Line ends of another system."""
    return text.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n")))


def as_utf16(rng: Random, text: bytes) -> bytes:
    """The file as some spreadsheets save it."""
    return text.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-8-sig")))


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(cell, cell, cell, width, row_gone, row_twice, rows_joined, rows_shuffled, header, header, line_ends, as_utf16),
)


def _with_line(rng: Random, text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    lines = text.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = change(lines[at])
    return b"\n".join(lines)
