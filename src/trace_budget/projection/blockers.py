"""What keeps a projection from GO, each with the option that lifts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace_budget.projection.bounds import Bounds
from trace_budget.projection.claimed_saving import Saving
from trace_budget.projection.token import Token
from trace_budget.schema.options import Change, Range
from trace_budget.units import show_us, us_from_ns

WHOLE = 0.98  # a share of the saving from here on counts as all of it
HIDDEN = 0.5  # of the kernel's time: less of it alone on the device means that other streams hide it
FEWER_LAUNCHES = "only fewer launches help (--replace fuses kernels)"


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that keeps from GO: `code`, one sentence, the `option` that lifts it ('' where none does).

    `question`: Q1 … Q6 where it is an open question of the evidence.
    """

    code: str
    text: str
    option: str
    question: str | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """What lowers the low bound: the share of the saving that is left at worst, and the blocker this may be."""

    left: float
    blocker: Blocker


@dataclass(frozen=True, slots=True)
class Doubts:
    """What speaks against GO beside the target, noise and open questions.

    `stops` each forbid it; `losses` lower the low bound; `launch_bound`: the host sets the pace at these calls.
    """

    stops: tuple[Blocker, ...] = ()
    losses: tuple[Loss, ...] = ()
    launch_bound: bool = False


NO_DOUBTS = Doubts()


def doubts_of(change: Change, saving: Saving, hit: Range, limits: Bounds, steps: int, token: Token) -> Doubts:
    """The doubts about one candidate; `limits` before the hit rate, over `steps` steps."""
    losses = (_by_hit_rate(change, hit), _by_control(change, saving), _by_replay(saving, limits, steps))
    return Doubts(_stops(saving, token), tuple(loss for loss in losses if loss.left < WHOLE), is_launch_bound(limits))


def is_launch_bound(limits: Bounds) -> bool:
    """Whether the kernel runs alone on its device and most of what it saves there is not expected to reach the step."""
    alone = limits.exposed >= HIDDEN * limits.naive
    return limits.host_visible and limits.naive > 0 and alone and limits.expected < HIDDEN * limits.exposed


def _stops(saving: Saving, token: Token) -> tuple[Blocker, ...]:
    out = []
    if saving.bound_only:
        text = "an upper bound alone can rule out, not confirm; measure the new kernel"
        out.append(Blocker("bound_only", text, "--new-us with --baseline-us"))
    elif saving.impossible:
        out.append(Blocker("below_floor", saving.impossible, "--new-us with a measured time"))
    if saving.sites is not None:
        text = f"one stated time, several kinds of calls: {saving.sites.listed}; which of them was measured is unknown"
        out.append(Blocker("unlike_sites", text, saving.sites.option))
    if token.one_step:
        text = "one step alone shows no step following another: what a token takes is not known"
        out.append(Blocker("one_step", text, "--token-ms"))
    return tuple(out)


def _by_hit_rate(change: Change, hit: Range) -> Loss:
    left = hit.low / hit.high if hit.high > 0 else 1.0
    known = f"the stated hit rate goes from {hit.low:g} to {hit.high:g}"
    text = known if change.hit_rate is not None else "how many requests run the new kernel is unknown"
    return Loss(left, Blocker("hit_rate", text, "--hit-rate"))


def _by_control(change: Change, saving: Saving) -> Loss:
    """What the benchmark leaves open: the old kernel takes another time here, or the saving is an interval."""
    band = saving.mean_ns
    open_to_sites = saving.bound_only or saving.sites is not None or band.high <= 0
    left = 1.0 if open_to_sites else max(band.low, 0.0) / band.high
    text = (
        f"the benchmark leaves {show_us(us_from_ns(band.low))} to {show_us(us_from_ns(band.high))} us a call open"
        + (f": the old kernel takes {saving.kappa:.2f} times its baseline here" if saving.kappa is not None else "")
    )
    option = "--baseline-us in the state of the trace" if change.saving_ci_us is None else "--saving-us measured closer"
    return Loss(left, Blocker("control_range", text, option))


def _by_replay(saving: Saving, limits: Bounds, steps: int) -> Loss:
    """What of the least saving of the calls is not proven to reach the step."""
    claimed = float(saving.low.sum()) / steps
    left = 1.0 if claimed <= 0 else max(limits.low, 0.0) / claimed
    return Loss(left, _why_lost(limits))


def _why_lost(limits: Bounds) -> Blocker:
    """The cause that the trace names for it, the most informative first."""
    if any(caveat.code == "one_rank" for caveat in limits.caveats):
        text = "collectives wait for ranks this trace does not show: if they gain nothing, the step does not either"
        return Blocker("one_rank", text, "--with-rank, or the folder of the job")
    if limits.contended:
        text = "the kernel shares the device with other work: how they slow each other down is not in a trace"
        return Blocker("contention", text, "")
    if not limits.host_visible:
        text = "kernels only: nothing shows what the host or other streams wait for"
        return Blocker("host_invisible", text, "a trace with the host's API calls")
    if limits.exposed < HIDDEN * limits.naive:
        return Blocker("other_stream", "work on other streams runs beside these calls and may set the pace", "")
    if is_launch_bound(limits):
        return Blocker("launch_bound", f"launches or waits of the host set the pace: {FEWER_LAUNCHES}", "--replace")
    text = "a path through launches, waits or other streams that the trace does not rule out would keep the pace"
    return Blocker("bound_gap", text, "")


def binding(losses: Sequence[Loss], low: float, high: float, target: float) -> list[Blocker]:
    """Of what keeps `low` under the target: what alone would reach it if lifted, or without whose lifting nothing does.

    The largest loss first; `high` is what is left when all are lifted.
    """
    ordered = sorted(losses, key=lambda loss: loss.left)
    chosen = [
        loss.blocker
        for loss in ordered
        if high * loss.left < target or (loss.left > 0 and low / loss.left >= target) or len(ordered) == 1
    ]
    return chosen or [loss.blocker for loss in ordered]
