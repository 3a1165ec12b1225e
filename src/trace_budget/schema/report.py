"""Report: the one model between questions and renderers; it carries numbers with their units, never layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, TypeVar

import polars as pl
from msgspec import Struct

from trace_budget.errors import UsageError
from trace_budget.schema.documents import plain
from trace_budget.schema.trace import Caveat, Trace

if TYPE_CHECKING:
    import pandas as pd

Json = Mapping[str, object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """How one column of a table is shown: a header with its unit, and decimals for numbers (None: text or count).

    Where room is short, names are cut in the middle; `prose` is wrapped over several lines instead. Where not all
    columns find room side by side, those with `answer` stand beside the first one, and the others below.
    """

    key: str
    title: str
    digits: int | None = None
    prose: bool = False
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in a frame whose columns carry units in their names; `columns` is the order people read them in.

    CSV and Parquet write the whole frame; terminal and Markdown show `columns`, at most `limit` rows (0: not shown).
    `among`: further kernels of the trace, from which the labels of those in the table are distinguished.
    """

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    frame: pl.DataFrame
    limit: int | None = None
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; `style` is title, plain, good, warn, bad or dim (renderers may ignore it)."""

    text: str
    style: str = "plain"


class Svg(str):
    """A picture as SVG text; a notebook draws it."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<SVG of {len(self):,} characters>"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The answer to one question, as frames, as a JSON document, and in words; a notebook shows what a terminal does.

    `schema` names and versions the JSON document (`trace-budget/kernels/1`); `answer` is that document without
    `schema`, `trace` and `caveats`, which every renderer adds: a struct of schema/documents, or a mapping. The first
    table is the one CSV and Parquet write. `pictures` are made when they are asked for.
    """

    schema: str
    answer: Struct | Json
    trace: Json | None = None
    lines: tuple[Line, ...] = ()
    tables: tuple[Table, ...] = ()
    footer: tuple[Line, ...] = ()
    caveats: tuple[Caveat, ...] = field(default=())
    pictures: Mapping[str, Callable[[], object]] = field(default_factory=dict, compare=False)

    @property
    def document(self) -> Json:
        """The answer as plain values, with the keys of the JSON document."""
        return plain(self.answer) if isinstance(self.answer, Struct) else self.answer

    def answered(self, kind: type[T]) -> T:
        """The answer as the struct it was built as; TypeError for another question's."""
        if not isinstance(self.answer, kind):
            raise TypeError(f"{self.schema} is answered with {type(self.answer).__name__}, not with {kind.__name__}")
        return self.answer

    @property
    def table(self) -> pl.DataFrame:
        """The rows of the answer: what CSV and Parquet hold."""
        return self.tables[0].frame if self.tables else pl.DataFrame()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas frame."""
        return self.table.to_pandas()

    def picture(self, name: str = "", width: int = 640) -> Svg:
        """A picture of the answer as SVG, `width` px wide; without a name the first. UsageError where there is none."""
        from importlib import import_module

        make = self.pictures.get(name or next(iter(self.pictures), ""))
        if make is None:
            known = ", ".join(self.pictures) or "none: this answer has no picture"
            raise UsageError("no picture of that name", expected=known, found=name or "no name")
        return Svg(import_module("trace_budget.drawings").svg(make(), width))

    def text(self) -> str:
        """The answer as a terminal shows it."""
        from importlib import import_module  # by name: what draws answers knows this file, not the other way round

        rendered: bytes = import_module("trace_budget.render.as_terminal").RENDERER.render(self)
        return rendered.decode()

    def __repr__(self) -> str:
        first = next((line.text for line in (*self.footer, *self.lines)), "")
        return f"<{self.schema}: {first}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def trace_facts(trace: Trace) -> dict[str, object]:
    """The `trace` object of every JSON document."""
    return {
        "path": trace.path,
        "format": trace.format,
        "device": trace.device_name,
        "rank": trace.rank,
        "world_size": trace.world_size,
        "complete": trace.complete,
        "resolution_ns": trace.resolution_ns,
        "engine": trace.engine,
    }


def caveat_facts(caveats: tuple[Caveat, ...]) -> list[dict[str, object]]:
    """The `caveats` list of every JSON document."""
    return [
        {"code": c.code, "severity": c.severity, "count": c.count, "text": c.text, "example": c.example or None}
        for c in caveats
    ]
