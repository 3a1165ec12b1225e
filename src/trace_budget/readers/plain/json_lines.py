"""JSON Lines: one object a line, its members kept as texts; lines that are none are counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.schema import caveats
from trace_budget.schema.trace import Caveat

CHUNK_BYTES = 16 << 20
LINE_BYTES = 64 << 20
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class LineTable:
    """A text column per key of the objects, null where one lacks it; `damage` says why the file ends early."""

    frame: pl.DataFrame
    damage: str
    caveats: tuple[Caveat, ...]


def is_object(line: str) -> bool:
    """Whether a line looks like one object and not like the start of a document of many lines."""
    return line.startswith("{") and line.rstrip().endswith("}") and bool(keys_of(line))


def keys_of(line: str) -> tuple[str, ...]:
    """The keys of an object; none when the line is no object."""
    try:
        return tuple(_DECODER.decode(line.encode()))
    except msgspec.DecodeError:
        return ()


def read_lines(path: Path) -> LineTable:
    """Read all objects. InputError for a line beyond 64 MiB."""
    frames: list[pl.DataFrame] = []
    number, dropped, first_bad = 0, 0, ""
    with PlainStream(path) as stream:
        rest = b""
        while block := stream.read(CHUNK_BYTES):
            text = rest + block
            cut = text.rfind(b"\n") + 1
            rest = text[cut:]
            if len(rest) > LINE_BYTES:
                raise InputError("a line does not end", where=str(path), expected="lines of at most 64 MiB")
            rows, bad = _objects(text[:cut].split(b"\n"))
            first_bad = first_bad or (f"line {number + bad[0] + 1}" if bad else "")
            number, dropped = number + text.count(b"\n", 0, cut), dropped + len(bad)
            frames.append(_frame(rows))
        rows, bad = _objects([rest])
        frames.append(_frame(rows))
        cut_off = "the last line has no end" if bad else ""
        damage = stream.damage or cut_off
    return LineTable(pl.concat(frames, how="diagonal"), damage, caveats.damaged_lines(dropped, 0, first_bad))


def _objects(lines: list[bytes]) -> tuple[list[dict[str, msgspec.Raw]], list[int]]:
    """The objects of these lines, and the places of lines that hold something else."""
    rows: list[dict[str, msgspec.Raw]] = []
    bad: list[int] = []
    for place, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(_DECODER.decode(line))
        except msgspec.DecodeError:
            bad.append(place)
    return rows, bad


def _frame(rows: list[dict[str, msgspec.Raw]]) -> pl.DataFrame:
    """The members as texts: strings without their quotes, numbers as they are written, null as null."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: pl.Series([_text(row.get(name)) for row in rows], dtype=pl.String) for name in names})


def _text(value: msgspec.Raw | None) -> str | None:
    token = b"null" if value is None else bytes(value)
    if token == b"null":
        return None
    return str(msgspec.json.decode(token)) if token.startswith(b'"') else token.decode()
