"""The verdict of a comparison in words: did the saving arrive, and if not, what the two runs show instead."""

from __future__ import annotations

from dataclasses import dataclass

from trace_budget.comparison.engagement import Engagement
from trace_budget.comparison.realised import Realised
from trace_budget.schema.band import Band
from trace_budget.units import ms_from_us, show_count, show_pct, show_us, us_from_ns

REALISED = 0.8
PARTLY = 0.25
RELOCATED = 0.5  # share of the kernel's own saving that its neighbours took back
HIDDEN = 0.1  # an expected share of the product below this says that the work is hidden
STEADY_PCT = 0.5  # without an interval, a step that differs by more than this has changed


@dataclass(frozen=True, slots=True)
class Predicted:
    """What BEFORE predicted, in ns per step; `source` is candidate (stated) or measured (change of each call)."""

    source: str
    naive_ns: float
    saved_ns: Band

    @property
    def expected_ns(self) -> float:
        """What was expected."""
        return self.saved_ns.expected

    @property
    def claim_ns(self) -> float:
        """What had to arrive: the expected saving; the product where the replay takes nearly all of it for hidden."""
        return self.naive_ns if self.expected_ns < HIDDEN * self.naive_ns else self.expected_ns


@dataclass(frozen=True, slots=True)
class Moved:
    """Device time in ns per step: saved in all, saved at the kernel in question, taken by its neighbours."""

    kernel_ns: float
    own_ns: float
    beside_ns: float

    @property
    def relocated(self) -> bool:
        """Whether the neighbours took back a good part of what the kernel saved."""
        return self.own_ns > 0 and self.beside_ns >= RELOCATED * self.own_ns


@dataclass(frozen=True, slots=True)
class Outcome:
    """The word, why, and realised / predicted (None where no saving was predicted).

    The words: realised, partly realised, not realised, not resolved, not engaged, relocated, regressed, no change.
    """

    word: str
    why: str
    conversion: float | None


def outcome(
    got: Realised, predicted: Predicted | None, moved: Moved, engaged: Engagement | None, unit: str = "step"
) -> Outcome:
    """Decide: engagement first, then what the step shows, then whether noise allows to say so.

    `unit` is what was compared: step or recording.
    """
    claim = predicted.claim_ns if predicted is not None else max(moved.kernel_ns, 0.0)
    conversion = got.saving_ns / predicted.expected_ns if predicted and predicted.expected_ns > 0 else None
    word = _word(got, claim, moved, engaged)
    sentences = [_why(word, got, claim, moved, engaged, unit)]
    if predicted is not None and predicted.claim_ns != predicted.expected_ns and got.saving_ns < PARTLY * claim:
        amount = _size(max(predicted.expected_ns, 0.0))
        sentences.append(f"the replay of BEFORE expected no more than {amount}: the rest is hidden behind other work")
    if engaged is not None and engaged.word == "partly engaged":
        sentences.append(_partly(engaged))
    return Outcome(word, "; ".join(sentences), conversion)


def _word(got: Realised, claim: float, moved: Moved, engaged: Engagement | None) -> str:
    if engaged is not None and engaged.word == "not engaged":
        return "not engaged"
    if moved.relocated and got.saving_ns < REALISED * max(claim, moved.own_ns):
        return "relocated"
    if _regressed(got):
        return "regressed"
    if claim <= 0:
        return _without_claim(got, moved)
    if got.resolved is False:
        ruled_out = got.high_ns is not None and got.high_ns < PARTLY * claim
        return "not realised" if ruled_out else "not resolved"
    share = got.saving_ns / claim
    return "realised" if share >= REALISED else "partly realised" if share >= PARTLY else "not realised"


def _regressed(got: Realised) -> bool:
    """Whether the step got longer, for sure or by more than a steady run does."""
    return got.saving_ns < 0 and (got.resolved is True or (got.resolved is None and got.pct < -STEADY_PCT))


def _without_claim(got: Realised, moved: Moved) -> str:
    """Nothing was predicted and no device time saved: only the step speaks."""
    if got.resolved or (got.resolved is None and got.pct > STEADY_PCT):
        return "realised"
    return "no change" if abs(moved.kernel_ns) <= STEADY_PCT / 100.0 * got.before.median else "not resolved"


def _why(word: str, got: Realised, claim: float, moved: Moved, engaged: Engagement | None, unit: str) -> str:
    step = f"the {unit} {_went(got.saving_ns)} by {_size(got.saving_ns)} ({show_pct(abs(got.pct))})"
    if word == "not engaged" and engaged is not None:
        calls = show_count(engaged.old_calls_before)
        return f"the old kernel still runs all its {calls} calls a {unit}, as long as before; {step}"
    if word == "relocated":
        taken = _size(moved.beside_ns)
        return f"the kernel saves {_size(moved.own_ns)} a {unit}, its neighbours take {taken} more; {step}"
    if word == "not resolved":
        wanted = f"; {_size(claim)} were to arrive" if claim > 0 else ""
        return f"{step}, which noise can explain (95 %: {_interval(got)}){wanted}"
    kernels = f"kernel time {_went(moved.kernel_ns, 'fell', 'rose')} by {_size(moved.kernel_ns)} a {unit}"
    arrived = f", {100 * got.saving_ns / claim:.0f} % of the {_size(claim)} that were to arrive" if claim > 0 else ""
    return f"{kernels}, {step}{arrived}"


def _partly(engaged: Engagement) -> str:
    left, calls = show_count(engaged.old_calls_after), show_count(engaged.old_calls_before)
    return f"the old kernel still runs {left} of {calls} calls a step: {100 * engaged.taken:.0f} % engaged"


def _went(saving: float, down: str = "got shorter", up: str = "got longer") -> str:
    return down if saving >= 0 else up


def _size(ns: float) -> str:
    """An amount of time in us, or in ms where it is long."""
    us = us_from_ns(abs(ns))
    return f"{ms_from_us(us):,.2f} ms" if us >= 10_000 else f"{show_us(us)} us"


def _interval(got: Realised) -> str:
    if got.low_ns is None or got.high_ns is None:
        return "unknown"
    return f"{us_from_ns(got.low_ns):+,.1f} to {us_from_ns(got.high_ns):+,.1f} us"
