"""Collects Kineto events segment by segment into columns: dictionary codes for texts, Int64 for times and ids."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from trace_budget.readers.kineto.codes import Codes
from trace_budget.readers.kineto.events import Kept
from trace_budget.readers.kineto.numbers import Ids, int_column, ns_from_us, whole_number
from trace_budget.readers.kineto.scan import COLUMNS, KINDS, UNKNOWN, Numbers
from trace_budget.schema import build

_SHAPE = msgspec.json.Decoder(list[int], strict=False)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
_AXES = "xyz"
_MOST_WAITING = 1 << 17
_GROUP = ("group_name", "group_ranks", "source", "target")
_NO_GROUP = b"\0".join([b"null"] * len(_GROUP))
_AT = {name: at for at, name in enumerate(COLUMNS)}


class Rows:
    """Rows of one table.

    `args` is the struct an event's arguments are decoded to: its int fields become columns of that name, its Raw
    fields `grid` and `block` become three columns each, and its field `kind` only sets `kinds_seen`. What it says of a
    process group becomes the text column `group`.
    """

    def __init__(self, ids: Ids, args: type[msgspec.Struct]) -> None:
        self.kinds_seen = False
        self.lost = 0
        self.unreadable = 0
        self._ids = ids
        self._args = args
        self._decoder = msgspec.json.Decoder(list[args | None], strict=False)  # type: ignore[valid-type]
        fields = msgspec.structs.fields(args)
        self._numbers = [field.name for field in fields if field.type is not msgspec.Raw]
        self._shapes = {name: Codes() for name in ("grid", "block") if any(field.name == name for field in fields)}
        self._has_kind = any(field.name == "kind" for field in fields)
        self._groups = Codes() if any(field.name == _GROUP[0] for field in fields) else None
        self._names = Codes()
        self._frames: list[pl.DataFrame] = []
        self._waiting: list[Numbers] = []

    def add(self, kept: Kept) -> None:
        """Append the events of one segment."""
        if kept.events:
            self._take_waiting()
            self._frames.append(self._frame_of(kept))

    def add_scanned(self, rows: Numbers, texts: list[bytes], kept: Kept, ordinals: Numbers) -> None:
        """Append the scanned rows of one segment (the array is changed), and between them the events left to Python.

        `ordinals` are the places in the segment of all events left to Python, of which `kept` are some.
        """
        if kept.events:
            self._take_waiting()
            self._frames.append(self._merged(rows, texts, kept, ordinals[kept.places]))
            return
        if len(rows):
            self._waiting.append(self._with_codes(rows, texts))
        if sum(map(len, self._waiting)) > _MOST_WAITING:
            self._take_waiting()

    def _take_waiting(self) -> None:
        """Make one frame of the scanned rows so far: many small ones would cost more than the rows in them."""
        if self._waiting:
            self._frames.append(self._frame_of_numbers(np.concatenate(self._waiting)))
            self._waiting.clear()

    def _merged(self, rows: Numbers, texts: list[bytes], kept: Kept, ordinals: Numbers) -> pl.DataFrame:
        order = np.argsort(np.concatenate([rows[:, _AT["ordinal"]], ordinals]))
        # Names get their codes in the order of the file, whoever read them.
        names = np.concatenate([rows[:, _AT["code"]], len(texts) + np.arange(len(ordinals))])
        self._names.of_places(names[order], texts + [bytes(event.name) for event in kept.events])
        scanned = self._frame_of_numbers(self._with_codes(rows, texts))
        return pl.concat([scanned, self._frame_of(kept)]).select(pl.all().gather(order))

    def _with_codes(self, rows: Numbers, texts: list[bytes]) -> Numbers:
        """Scanned rows whose places in `texts` have become codes of the whole file."""
        for column, codes in {"code": self._names, **self._shapes}.items():
            rows[:, _AT[column]] = codes.of_places(rows[:, _AT[column]], texts)
        return rows

    def _frame_of_numbers(self, rows: Numbers) -> pl.DataFrame:
        def column(name: str, dtype: type[pl.DataType] = pl.Int64) -> pl.Series:
            return pl.Series(name, np.ascontiguousarray(rows[:, _AT[name]])).cast(dtype)

        numbers = ["ts_ns", "dur_ns", "pid", "tid", *self._numbers]
        columns = [
            pl.Series("kind", KINDS, dtype=pl.String).gather(rows[:, _AT["kind"]]),
            column("code", pl.UInt32),
            *(column(name) if name in _AT else _nothing(name, len(rows)) for name in numbers),
            *(column(name, pl.UInt32) for name in self._shapes),
        ]
        if self._groups is not None:
            # Events with a process group are left to Python.
            columns.append(pl.Series("group", [self._groups[_NO_GROUP]], dtype=pl.UInt32).new_from_index(0, len(rows)))
        known = [pl.when(pl.col(name) != UNKNOWN).then(pl.col(name)).alias(name) for name in numbers]
        return pl.DataFrame(columns).with_columns(known)

    def _frame_of(self, kept: Kept) -> pl.DataFrame:
        events = kept.events
        # Starts and durations in one go: what Polars costs per call is more than what it costs per row here.
        times = ns_from_us([str(e.ts, "latin-1") for e in events] + [str(e.dur, "latin-1") for e in events])
        columns = [
            pl.Series("kind", kept.kinds, dtype=pl.String),
            pl.Series("code", [self._names[bytes(e.name)] for e in events], dtype=pl.UInt32),
            times.head(len(events)).alias("ts_ns"),
            times.tail(len(events)).alias("dur_ns"),
            pl.Series("pid", [self._ids[bytes(e.pid)] for e in events], dtype=pl.Int64),
            pl.Series("tid", [self._ids[bytes(e.tid)] for e in events], dtype=pl.Int64),
        ]
        if self._numbers:
            columns += self._argument_columns(self._decoded([e.args for e in events]))
        return pl.DataFrame(columns)

    def frame(self) -> pl.DataFrame:
        """All rows: name (Enum), kind, ts_ns, dur_ns, pid, tid and the columns of the arguments."""
        self._take_waiting()
        if not self._frames:
            return self._empty()
        rows = pl.concat(self._frames)
        shapes = [column for name, codes in self._shapes.items() for column in self._shape_columns(name, codes, rows)]
        names = build.names_from_text(pl.Series([text_of(raw) for raw in self._names], dtype=pl.String))
        named = rows.drop("code", *self._shapes).with_columns(names.gather(rows["code"]).alias("name"), *shapes)
        if self._groups is None:
            return named
        groups = pl.Series("group", [_group(raw) for raw in self._groups], dtype=pl.String)
        return named.with_columns(groups.gather(rows["group"]))

    def _empty(self) -> pl.DataFrame:
        axes = [f"{name}_{axis}" for name in self._shapes for axis in _AXES]
        numbers = ("ts_ns", "dur_ns", "pid", "tid", *self._numbers, *axes)
        texts = {} if self._groups is None else {"group": pl.String}
        return pl.DataFrame(
            schema={"kind": pl.String, "name": pl.Enum([]), **dict.fromkeys(numbers, pl.Int64), **texts}
        )

    def _decoded(self, texts: Sequence[msgspec.Raw]) -> list[msgspec.Struct]:
        try:
            found = self._decoder.decode(b"[" + b",".join(texts) + b"]")
        except _UNREADABLE:
            return [self._decoded_one(text) for text in texts]
        return [item if item is not None else self._args() for item in found]

    def _decoded_one(self, text: msgspec.Raw) -> msgspec.Struct:
        """Arguments that are not as they should be: each field on its own, None where it is no integer."""
        try:
            members = _MEMBERS.decode(text)
        except _UNREADABLE:
            self.unreadable += bytes(text) != b"null"
            return self._args()
        values: dict[str, object] = {}
        for field in msgspec.structs.fields(self._args):
            raw = members.get(field.encode_name)
            if raw is not None:
                values[field.name] = raw if field.type is msgspec.Raw else whole_number(bytes(raw))
        return self._args(**values)

    def _argument_columns(self, args: list[msgspec.Struct]) -> list[pl.Series]:
        columns: list[pl.Series] = []
        for name in self._numbers:
            column, lost = int_column(name, [getattr(item, name) for item in args])
            columns.append(column)
            self.lost += lost
        for name, codes in self._shapes.items():
            columns.append(pl.Series(name, [codes[bytes(getattr(item, name))] for item in args], dtype=pl.UInt32))
        if self._groups is not None:
            keys = [b"\0".join(bytes(getattr(item, name)) for name in _GROUP) for item in args]
            found = [self._groups[key if not key.startswith(b"null") else _NO_GROUP] for key in keys]
            columns.append(pl.Series("group", found, dtype=pl.UInt32))
        if self._has_kind and not self.kinds_seen:
            self.kinds_seen = any(bytes(item.kind) != b"null" for item in args)  # type: ignore[attr-defined]
        return columns

    def _shape_columns(self, name: str, codes: Codes, rows: pl.DataFrame) -> list[pl.Series]:
        shapes = [_shape(raw) for raw in codes]
        columns = [
            int_column(f"{name}_{axis}", [shape[at] for shape in shapes], pl.Int32) for at, axis in enumerate(_AXES)
        ]
        self.lost += sum(lost for _, lost in columns)
        return [column.gather(rows[name]) for column, _ in columns]


def _nothing(name: str, size: int) -> pl.Series:
    return pl.Series(name, [UNKNOWN], dtype=pl.Int64).new_from_index(0, size)


def _group(raw: bytes) -> str | None:
    """Name and ranks of a process group, and from which rank to which; None for no group."""
    if raw == _NO_GROUP:
        return None
    name, ranks, source, target = (text_of(part) for part in raw.split(b"\0"))
    exchange = f" {source}>{target}" if source is not None and target is not None else ""
    return f"{name} {ranks or ''}{exchange}"


def _shape(raw: bytes) -> tuple[int | None, int | None, int | None]:
    try:
        sizes = _SHAPE.decode(raw)
    except _UNREADABLE:
        return None, None, None
    return (sizes[0], sizes[1], sizes[2]) if len(sizes) == 3 else (None, None, None)


def text_of(raw: bytes) -> str | None:
    """The text of a JSON token: a string (bytes that are not UTF-8 become U+FFFD), None for null, else its digits."""
    if not raw.startswith(b'"'):
        return None if raw == b"null" else raw.decode("utf-8", "replace")
    text = raw.decode("utf-8", "replace")
    return msgspec.json.decode(text.encode(), type=str) if "\\" in text else text[1:-1]
