"""Option groups of a replacement: which calls, and what the new kernel does to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from trace_budget.cli._groups import option
from trace_budget.cli._values import MOST_ROWS, hit_rate, not_negative, positive, whole
from trace_budget.errors import UsageError
from trace_budget.schema.options import Change, Range, Selection


@dataclass(frozen=True, slots=True)
class Selecting:
    """Which calls are replaced."""

    kernel: Annotated[
        str,
        option(
            "Select", "--kernel", metavar="NAME", text="Exact name, else a part of it (case counts), or glob:… or re:…"
        ),
    ]
    position: Annotated[
        int | None,
        option(
            "Select",
            "--position",
            parser=whole(0, MOST_ROWS),
            metavar="N",
            text="Only the call site at this place in the layer.",
        ),
    ] = None
    grid: Annotated[
        str | None, option("Select", "--grid", metavar="X,Y,Z", text="Only calls with this grid, as recorded.")
    ] = None
    stream: Annotated[
        int | None, option("Select", "--stream", parser=whole(), metavar="N", text="Only calls on this stream.")
    ] = None
    all_matches: Annotated[
        bool, option("Select", "--all-matches", text="Take every kernel that matches, not exactly one.")
    ] = False

    def selection(self, device: int | None) -> Selection:
        """The selection on one device, or on all."""
        return Selection(self.kernel, self.position, self.grid, self.stream, device, self.all_matches)


@dataclass(frozen=True, slots=True)
class Changing:
    """What the new kernel does to each call."""

    saving_us: Annotated[
        float | None, option("Change", "--saving-us", parser=positive, metavar="F", text="Saved per call, us.")
    ] = None
    new_us: Annotated[
        float | None, option("Change", "--new-us", parser=positive, metavar="F", text="Time of the new kernel, us.")
    ] = None
    speedup: Annotated[
        float | None, option("Change", "--speedup", parser=positive, metavar="F", text="Old time / new time.")
    ] = None
    free: Annotated[bool, option("Change", "--free", text="The ceiling: as if the kernel cost nothing.")] = False
    proxy_us: Annotated[
        float | None,
        option(
            "Change", "--proxy-us", parser=positive, metavar="F", text="Time of a stand-in no real kernel can beat, us."
        ),
    ] = None
    baseline_us: Annotated[
        float | None,
        option(
            "Change",
            "--baseline-us",
            parser=positive,
            metavar="F",
            text="The OLD kernel in your benchmark, us (control).",
        ),
    ] = None
    overhead_us: Annotated[
        float | None,
        option(
            "Change",
            "--overhead-us",
            parser=not_negative,
            metavar="F",
            text="Added cost per call, us; 0: measured, none.",
        ),
    ] = None
    per_step_us: Annotated[
        float | None,
        option(
            "Change",
            "--per-step-us",
            parser=not_negative,
            metavar="F",
            text="Added cost per step, us; 0: measured, none.",
        ),
    ] = None
    extra_bytes: Annotated[
        float | None,
        option(
            "Change", "--extra-bytes", parser=not_negative, metavar="F", text="Added memory traffic per call; 0: none."
        ),
    ] = None
    bandwidth_gbps: Annotated[
        float | None,
        option("Change", "--bandwidth-gbps", parser=positive, metavar="F", text="Achieved bandwidth for it, GB/s."),
    ] = None
    hit_rate: Annotated[
        Range | None,
        option(
            "Change", "--hit-rate", parser=hit_rate, metavar="F|LOW:HIGH", text="Share of requests that run the kernel."
        ),
    ] = None
    calls: Annotated[
        float | None,
        option("Change", "--calls", parser=positive, metavar="N", text="Calls per step; must agree with the trace."),
    ] = None
    clip: Annotated[bool, option("Change", "--clip", text="Cut a saving larger than the call to the call.")] = False

    def __post_init__(self) -> None:
        """Raise UsageError unless exactly one saving is given, and a bandwidth for extra bytes."""
        savings = {
            "--saving-us": self.saving_us,
            "--new-us": self.new_us,
            "--speedup": self.speedup,
            "--free": self.free or None,
            "--proxy-us": self.proxy_us,
        }
        given = [name for name, value in savings.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            expected = f"one of {', '.join((*savings, *self._other_ways()))}"
            raise UsageError("exactly one saving is needed", expected=expected, found=found)
        self._need_bandwidth()

    def _other_ways(self) -> tuple[str, ...]:
        """Options beside these that state a saving."""
        return ()

    def _need_bandwidth(self) -> None:
        if self.extra_bytes and self.bandwidth_gbps is None:
            raise UsageError(
                "--extra-bytes needs --bandwidth-gbps", advice="Give the bandwidth a copy really achieves."
            )

    def change(self, force: bool) -> Change:
        """The change; `force` goes on although the baseline contradicts the trace."""
        return Change(
            saving_us=self.saving_us,
            new_us=self.new_us,
            speedup=self.speedup,
            free=self.free,
            proxy_us=self.proxy_us,
            baseline_us=self.baseline_us,
            overhead_us=self.overhead_us,
            per_step_us=self.per_step_us,
            extra_bytes=self.extra_bytes,
            bandwidth_gbps=self.bandwidth_gbps,
            hit_rate=self.hit_rate,
            calls=self.calls,
            clip=self.clip,
            force=force,
        )
