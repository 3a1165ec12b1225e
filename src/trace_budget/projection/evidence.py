"""The six questions behind a projection, each answered with a grade: A measured here … D unknown."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.projection.bounds import Bounds
from trace_budget.projection.claimed_saving import Saving
from trace_budget.projection.match import Match
from trace_budget.projection.stated_time import KAPPA_FINE
from trace_budget.schema.findings import Layers, Steps
from trace_budget.schema.options import Change

QUESTIONS = {
    "Q1": "us saved per call",
    "Q2": "calls per token",
    "Q3": "layers hit",
    "Q4": "do all requests hit",
    "Q5": "overlap with other work",
    "Q6": "integration conversions",
}

LIFTED_BY = {
    "Q1": "--baseline-us",
    "Q2": "--calls",
    "Q3": "--layers",
    "Q4": "--hit-rate",
    "Q5": "a trace with the host's API calls",
    "Q6": "--overhead-us, --extra-bytes, --per-step-us (0 where there are none)",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """Grade A measured in this trace, B measured by the user with a control, C stated by the user, D assumed."""

    grade: str
    source: str
    text: str


def evidence(
    change: Change, saving: Saving, found: Match, steps: Steps, layers: Layers, limits: Bounds
) -> dict[str, Graded]:
    """Answers to Q1 … Q6 in order."""
    return {
        "Q1": _saved(change, saving),
        "Q2": _calls(change, found, steps),
        "Q3": _layers(found, layers),
        "Q4": _requests(change, found),
        "Q5": _overlap(limits),
        "Q6": _integration(change),
    }


def _saved(change: Change, saving: Saving) -> Graded:
    if change.free:
        return Graded("A", "trace", "the kernel's own time in the trace: no faster kernel can save more")
    if any(caveat.code in ("unlike_calls", "unlike_sites") for caveat in saving.caveats):
        return Graded("C", "user", "measured for some calls at best: they differ too much for one time to fit them all")
    if saving.kappa is not None and abs(saving.kappa - 1.0) <= KAPPA_FINE:
        return Graded(
            "B", "user", f"measured standalone; the old kernel agrees with the trace (ratio {saving.kappa:.2f})"
        )
    if saving.kappa is not None:
        return Graded(
            "C",
            "user",
            f"measured standalone, but the old kernel takes {saving.kappa:.2f} times its baseline in the trace",
        )
    return Graded(
        "C", "user", "stated; give the old kernel's standalone time (--baseline-us) to check it against the trace"
    )


def _calls(change: Change, found: Match, steps: Steps) -> Graded:
    unsure = " (low confidence)" if steps.confidence == "low" else ""
    counted = f"{found.calls_per_step:g} calls per step counted over {found.steps} step(s)"
    text = f"{counted}, steps by {steps.method}{unsure}"
    if change.calls is not None and abs(change.calls - found.calls_per_step) > 1e-9:
        return Graded("D", "trace", f"{text}; {change.calls:g} were expected")
    told = change.calls is not None or any(caveat.code == "step_stated" for caveat in steps.caveats)
    grade = {"high": "A", "medium": "B"}.get(steps.confidence, "C" if told else "D")
    left_out = steps.frame.filter((pl.col("phase") == steps.phase) & ~pl.col("used")).height
    if left_out and grade == "A":
        grade, text = "B", f"{text}, {left_out} left out"
    if found.damaged:
        grade = max(grade, "C")
        text = f"{text}; {found.damaged} more stand under names that damage may have made of it"
    return Graded(grade, "trace", text if grade != "D" else f"{text}: state --calls")


def _layers(found: Match, layers: Layers) -> Graded:
    if found.layers_hit is None:
        return Graded("D", "assumed", "no layers were found in the trace")
    grade = {"high": "A", "medium": "B"}.get(layers.confidence, "C")
    source = "user" if layers.method == "user" else "trace"
    return Graded(grade, source, f"{found.layers_hit} of {layers.layers} layers{found.of_type}, by {layers.method}")


def _requests(change: Change, found: Match) -> Graded:
    if change.hit_rate is not None:
        low, high = change.hit_rate.low, change.hit_rate.high
        return Graded("C", "user", f"stated hit rate {low:g}" + (f" to {high:g}" if high != low else ""))
    if found.constant:
        return Graded(
            "C",
            "trace",
            f"the old kernel runs equally often in each of {found.steps} step(s); that every request takes the new one"
            " is assumed (--hit-rate)",
        )
    return Graded(
        "D",
        "assumed",
        f"the kernel runs in {found.steps_hit} of {found.steps} steps, not equally often: state --hit-rate",
    )


def _overlap(limits: Bounds) -> Graded:
    if not limits.host_visible:
        return Graded("D", "trace", "kernels only: nothing shows what the host or other streams wait for")
    if limits.pace == "outside":
        return Graded("C", "trace", "host and device idle together: what sets the pace is not on record")
    if limits.contended:
        return Graded("C", "trace", "the kernel shares the device with other work; contention is not in a trace")
    if limits.high - limits.low <= 0.02 * max(abs(limits.naive), 1.0):
        return Graded("A", "trace", "launches, streams and gaps leave no room: the interval is closed")
    return Graded("B", "trace", "bounded by launches and gaps; not every dependency is recorded")


def _integration(change: Change) -> Graded:
    told = [
        label
        for label, value in (
            ("overhead per call", change.overhead_us),
            ("extra bytes", change.extra_bytes),
            ("time per step", change.per_step_us),
        )
        if value is not None
    ]
    if told:
        return Graded("C", "user", "stated: " + ", ".join(told))
    return Graded(
        "D",
        "assumed",
        "format conversions, allocation and dispatch are assumed free (--overhead-us, --extra-bytes, --per-step-us)",
    )
