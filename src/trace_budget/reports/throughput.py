"""Tokens per second beside a token's time: of one sequence, and of one device where the batch size is known."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.schema.band import Band
from trace_budget.schema.documents.project import Ends, Throughput
from trace_budget.schema.documents.structure import Rate
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line
from trace_budget.units import NS_PER_S, show_pct, show_us

MAKES_TOKENS = ("decode", "mixed", "verify")  # phases whose steps bring every running sequence on by a token


@dataclass(frozen=True, slots=True)
class Served:
    """Tokens per second `now`; `batch` sequences a step (None: unknown), `devices` that share them."""

    now: float
    batch: int | None
    devices: int

    @property
    def per_device(self) -> float | None:
        """Tokens per second of each device; None where the batch size is not known."""
        return None if self.batch is None else self.now * self.batch / self.devices

    def document(self) -> Rate:
        """The object of a document."""
        return Rate(self.now, self.per_device, self.batch, self.devices)

    def document_with(self, saved_pct: Band) -> Throughput:
        """The object of a document that projects a saving in % of a token."""
        return Throughput(
            self.now, self.per_device, self.batch, self.devices, Ends(*(gain_pct(pct) for pct in saved_pct.ends))
        )

    def line(self) -> Line:
        """As it is."""
        return Line(f"serves  {show_us(self.now)} tokens/s a sequence{self._of_device()}")

    def line_with(self, saved_pct: float) -> Line:
        """As it is, and with a saving in % of a token."""
        gain = gain_pct(saved_pct)
        factor = 1 + gain / 100
        text = f"{show_us(self.now)} -> {show_us(self.now * factor)} tokens/s a sequence ({signed(gain)})"
        return Line(f"serves  {text}{self._of_device(factor)}")

    def _of_device(self, factor: float | None = None) -> str:
        if self.per_device is None or (self.batch, self.devices) == (1, 1):
            return ""
        then = "" if factor is None else f" -> {show_us(self.per_device * factor)}"
        return f", {show_us(self.per_device)}{then} a device (batch {self.batch})"


def served(found: Findings, token_ns: float, batch: int | None = None) -> Served | None:
    """What a token time in ns is in tokens per second; None where a token takes no time.

    `batch` is known otherwise, where the trace does not tell it.
    """
    if not token_ns > 0:
        return None
    batches = found.steps.frame.filter(pl.col("used"))["batch_size"].drop_nulls()
    middle = batches.median() if batches.len() else batch
    size = int(middle) if isinstance(middle, int | float) and middle >= 1 else None
    return Served(NS_PER_S / token_ns, size, found.trace.world_size or 1)


def makes_tokens(found: Findings) -> bool:
    """Whether a step of this phase brings each running sequence on by a token."""
    return found.steps.phase in MAKES_TOKENS


def gain_pct(saved_pct: float) -> float:
    """How many % more tokens a second a saving in % of a token's time is."""
    return 100 * saved_pct / (100 - saved_pct) if saved_pct < 100 else float("inf")


def signed(pct: float) -> str:
    """A gain or a loss in %."""
    return f"+{show_pct(pct)}".replace("+-", "-")
