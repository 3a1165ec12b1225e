"""Mutations that know nothing of any format: flips, cuts, splices, repeats, runs and odd numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_ODD = (b"\0", b"\xff", b"\x1b[2J", b'"', b"'", b"\\", b"\n", b"\r\n", b",", b"{", b"}", b"[", b"]", b"\xed\xa0\x80")
_ODD_NUMBERS = (b"-1", b"0", b"18446744073709551616", b"9223372036854775807", b"1e400", b"0x10", b"NaN", b"1.5.2")
_WIDTHS = (1, 2, 4, 8)


def flip(rng: Random, data: bytes) -> bytes:
    """Change one bit to eight bytes in up to four places."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4)) if out else 0):
        at = rng.randrange(len(out))
        out[at] = out[at] ^ (1 << rng.randrange(8)) if rng.random() < 0.6 else rng.randrange(256)
    return bytes(out)


def cut(rng: Random, data: bytes) -> bytes:
    """Only the beginning."""
    return data[: rng.randrange(len(data) + 1)]


def cut_near_the_end(rng: Random, data: bytes) -> bytes:
    """The last bytes are missing, as when a writer was killed."""
    return data[: max(0, len(data) - rng.randrange(1, 65))]


def without_a_part(rng: Random, data: bytes) -> bytes:
    """A stretch is missing."""
    start, end = _stretch(rng, data)
    return data[:start] + data[end:]


def repeated(rng: Random, data: bytes) -> bytes:
    """A stretch stands there twice."""
    start, end = _stretch(rng, data)
    return data[:end] + data[start:end] + data[end:]


def moved(rng: Random, data: bytes) -> bytes:
    """A stretch stands elsewhere."""
    start, end = _stretch(rng, data)
    rest = data[:start] + data[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def insertion(rng: Random, data: bytes) -> bytes:
    """Something odd in between, once or many times."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_ODD + _ODD_NUMBERS) * rng.choice((1, 1, 1, 3, 500)) + data[at:]


def one_value(rng: Random, data: bytes) -> bytes:
    """A stretch of one byte value, as where a disk lost a block."""
    start, end = _stretch(rng, data)
    return data[:start] + bytes([rng.choice((0, 0, 255, 32))]) * (end - start) + data[end:]


def number(rng: Random, data: bytes) -> bytes:
    """A binary number at its limits."""
    width = rng.choice(_WIDTHS)
    if len(data) < width:
        return data
    at = rng.randrange(len(data) - width + 1)
    value = rng.choice((0, 1, (1 << (8 * width - 1)) - 1, (1 << (8 * width - 1)), (1 << (8 * width)) - 1))
    return data[:at] + value.to_bytes(width, rng.choice(("little", "big"))) + data[at + width :]


def digit(rng: Random, data: bytes) -> bytes:
    """One digit of the text is another."""
    places = [at for at in (rng.randrange(len(data)) for _ in range(32)) if data[at : at + 1].isdigit()] if data else []
    return data[: places[0]] + b"%d" % rng.randrange(10) + data[places[0] + 1 :] if places else flip(rng, data)


def junk(rng: Random, data: bytes) -> bytes:
    """Bytes before or behind everything."""
    extra = rng.choice(
        (b"\n", b"\0" * 64, b"garbage\n", b"\xef\xbb\xbf", rng.randbytes(16), b"}]", data[: len(data) // 2])
    )
    return extra + data if rng.random() < 0.4 else data + extra


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    flip,
    flip,
    digit,
    digit,
    cut,
    cut_near_the_end,
    without_a_part,
    repeated,
    moved,
    insertion,
    one_value,
    number,
    junk,
)


def _stretch(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 4, 30, 300, 4_000)))
