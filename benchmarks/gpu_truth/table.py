"""The table predicted against realised, from the records of runs: no accelerator is needed to make it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

TITLES = ("loop", "shorter by", "predicted us a step", "realised us a step", "inside", "realised / expected")


@dataclass(frozen=True, slots=True)
class Record:
    """One question to one loop: the knob shortened by `share`; predicted range and realised steps, in us a step.

    `before_us`, `after_us`: mean step time of each interleaved run without a profiler.
    """

    loop: str
    share: float
    low_us: float
    expected_us: float
    high_us: float
    before_us: tuple[float, ...]
    after_us: tuple[float, ...]

    @property
    def realised_us(self) -> float:
        """What the step really gained."""
        return statistics.mean(self.before_us) - statistics.mean(self.after_us)

    @property
    def noise_us(self) -> float:
        """Two standard errors of that difference."""
        parts = [statistics.variance(runs) / len(runs) for runs in (self.before_us, self.after_us) if len(runs) > 1]
        return 2.0 * sum(parts) ** 0.5

    @property
    def inside(self) -> bool:
        """Whether what was realised lies in the predicted range, as far as noise lets one tell."""
        return self.low_us - self.noise_us <= self.realised_us <= self.high_us + self.noise_us


def table(records: Sequence[Record]) -> str:
    """Markdown, a row a record, and a line that sums up."""
    lines = ["| " + " | ".join(TITLES) + " |", "| :--- |" + " ---: |" * (len(TITLES) - 1)]
    for one in records:
        share = f"{one.realised_us / one.expected_us:.2f}" if one.expected_us else "-"
        cells = (
            one.loop,
            f"{100 * one.share:.0f} %",
            f"{one.low_us:.1f} .. {one.expected_us:.1f} .. {one.high_us:.1f}",
            f"{one.realised_us:.1f} ± {one.noise_us:.1f}",
            "yes" if one.inside else "no",
            share,
        )
        lines.append("| " + " | ".join(cells) + " |")
    held = sum(one.inside for one in records)
    return "\n".join((*lines, "", f"{held} of {len(records)} realised savings lie inside the predicted range.", ""))
