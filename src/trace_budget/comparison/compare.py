"""Two runs compared: what moved on the device, what the step gained, and what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.analysis.kernels import op_table
from trace_budget.comparison.alignment import align, usual_step
from trace_budget.comparison.call_sites import beside, call_sites
from trace_budget.comparison.engagement import Engagement, Flags, drift_of, engagement
from trace_budget.comparison.outcome import Moved, Outcome, Predicted, outcome
from trace_budget.comparison.pairing import Pair
from trace_budget.comparison.realised import Realised, realised
from trace_budget.comparison.suspects import Prediction, Sides, Suspect, predict, saved, suspects, with_mates
from trace_budget.errors import NotInTraceError
from trace_budget.projection.bounds import moved_by
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.replay.schedule import Claim, schedule_of
from trace_budget.projection.replay.stretch import OP_BUDGET
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, TokenInput
from trace_budget.schema.trace import Caveat, Trace

DRIFT = 0.01
SHARED = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a comparison. Without `candidates` all differences count.

    `stated`: the candidates say what they save; else the measured change of their calls is taken. `new_kernel` names
    the new kernel in AFTER; `noise_pct` is the run-to-run sigma in % (None: not stated). `force`: devices of different
    models, too.
    """

    candidates: tuple[Candidate, ...] = ()
    stated: bool = False
    new_kernel: str | None = None
    noise_pct: float | None = None
    token: TokenInput = field(default_factory=TokenInput)
    policy: Policy = field(default_factory=Policy)
    force: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """One pair of runs. `sites` as `call_sites` gives them, `neighbours` those beside the kernel that grew.

    `suspects`: the candidates one by one, `engagement` of all their calls. `kernel_ns`: device time per step before and
    after; `drift`: median ratio of the durations of kept calls.
    """

    pair: Pair
    sites: pl.DataFrame
    neighbours: pl.DataFrame
    realised: Realised
    predicted: Predicted | None
    suspects: tuple[Suspect, ...]
    engagement: Engagement | None
    kernel_ns: tuple[float, float]
    moved: Moved
    drift: float | None
    outcome: Outcome
    caveats: tuple[Caveat, ...]


def same_model(before: Trace, after: Trace, force: bool) -> None:
    """Raise NotInTraceError for devices of different models: what differs between them is no kernel's doing."""
    names = before.device_name, after.device_name
    if all(names) and names[0] != names[1] and not force:
        raise NotInTraceError(
            "the two runs are of different devices", where=after.path, expected=f"{names[0]}, as before",
            found=str(names[1]), advice="--force compares them all the same.",
        )  # fmt: skip


def compare_all(pairs: Sequence[Pair], asked: Asked) -> list[Comparison]:
    """Compare every pair; a phase that lacks the kernel is left out with a caveat while another has it.

    Raises NotInTraceError when no pair has it.
    """
    found: list[Comparison] = []
    missing: list[tuple[Pair, NotInTraceError]] = []
    for pair in pairs:
        try:
            found.append(compare(pair, asked))
        except NotInTraceError as error:
            missing.append((pair, error))
    if not found:
        raise missing[0][1]
    texts = [f"left out, device {pair.devices[0]}, phase {pair.phase}: {error.message}" for pair, error in missing]
    caveats = tuple(Caveat("kernel_not_in_phase", text) for text in texts)
    return [replace(found[0], caveats=(*found[0].caveats, *caveats)), *found[1:]]


def compare(pair: Pair, asked: Asked) -> Comparison:
    """Compare one pair. Raises NotInTraceError when a candidate matches nothing in BEFORE."""
    sides = _aligned(pair)
    calls, sites = sides.calls, call_sites(sides.calls)
    prediction = predict(pair.before, asked.candidates, asked.token, asked.policy) if asked.stated else Prediction()
    each = suspects(pair.before, sides, asked.candidates, prediction.alone, asked.new_kernel)
    chosen = _chosen(calls, sites, each)
    changed = with_mates(calls, chosen)
    neighbours, beside_ns = _grown(calls, sites, changed, pair.basis)
    predicted, skipped = prediction.together, prediction.caveats
    if not asked.stated:
        every = np.ones(calls.height, dtype=bool) if not each else changed
        predicted, skipped = _measured(pair.before, sides, every)
    kernel_ns = (float(calls["ns_before"].sum()), float(calls["ns_after"].sum()))
    moved = Moved(kernel_ns[0] - kernel_ns[1], saved(calls, changed), beside_ns)
    drift = drift_of(calls.filter(pl.Series(~changed)) if each else calls)
    drifted_ns = _drifted_ns(pair, kernel_ns[0], drift) if each else 0.0
    got = replace(realised(pair.before.steps, pair.after.steps, asked.noise_pct), drift_ns=drifted_ns)
    after = (sides.ops_after, sides.steps_after)
    engaged = engagement(calls, chosen, *after, asked.new_kernel, drift or 1.0) if each else None
    return Comparison(
        pair, sites, neighbours, got, predicted, tuple(each), engaged, kernel_ns, moved, drift,
        outcome(got.corrected, predicted, moved, engaged, pair.basis),
        (*pair.caveats, *got.caveats, *_less_work(pair, sites, drift), *skipped, *_caveats(calls, drift, asked)),
    )  # fmt: skip


def _aligned(pair: Pair) -> Sides:
    ops = [op_table(f.trace, f.steps, f.layers, f.overlap) for f in (pair.before, pair.after)]
    counts = [len(f.steps.used) for f in (pair.before, pair.after)]
    usual, later = (usual_step(rows, count) for rows, count in zip(ops, counts, strict=True))
    return Sides(align(usual, later), usual, ops[0], ops[1], counts[1])


def _chosen(calls: pl.DataFrame, sites: pl.DataFrame, each: Sequence[Suspect]) -> Flags:
    """The calls in question: those of the candidates, else all at sites that shrank or vanished."""
    if each:
        all_of_them: Flags = np.logical_or.reduce([suspect.chosen for suspect in each])
        return all_of_them
    return _at(calls, sites.filter(pl.col("change").is_in(["shrank", "vanished"])))


def _at(calls: pl.DataFrame, sites: pl.DataFrame) -> Flags:
    """Which calls stand at one of the sites."""
    keys = sites.select(pl.col("kernel").alias("name"), "kind", "position", pl.lit(value=True).alias("hit"))
    rows = calls.select("name", "kind", "position").join(
        keys, on=["name", "kind", "position"], how="left", maintain_order="left"
    )
    return rows["hit"].fill_null(value=False).to_numpy()


def _grown(calls: pl.DataFrame, sites: pl.DataFrame, chosen: Flags, basis: str) -> tuple[pl.DataFrame, float]:
    """Sites beside the chosen calls that grew, and by how many ns per step the calls beside them did.

    None on the basis of recordings: nothing says which call of one answers which call of the other.
    """
    if basis == "recording":
        return sites.clear(), 0.0
    near = beside(calls, chosen) & _at(calls, sites.filter(pl.col("change") == "grew"))
    rows = calls.filter(pl.Series(near))
    keys = rows.select(pl.col("name").alias("kernel"), pl.col("kind").cast(pl.String), "position").unique()
    there = sites.join(keys, on=["kernel", "kind", "position"], how="semi", maintain_order="left")
    return there, -saved(calls, near)


def _measured(found: Findings, sides: Sides, chosen: Flags) -> tuple[Predicted | None, tuple[Caveat, ...]]:
    """The measured change of the chosen calls, replayed on BEFORE."""
    op_slot = sides.usual.op_slot
    if len(found.steps.used) == 1 and op_slot.height > OP_BUDGET:
        text = f"the recording holds {op_slot.height} operations: nothing was replayed, so nothing is predicted"
        return None, (Caveat("prediction_skipped", text, 1, "warning"),)
    floor = dispatch_floor(found.trace)
    by_slot = _delta(sides.calls, chosen, sides.usual.slots.height, min(floor.gap_ns, floor.gap_max_ns))
    delta = by_slot[op_slot["slot"].to_numpy()]
    claim = Claim(op_slot["op_id"].to_numpy(), delta, delta, delta)
    naive = float(delta.sum()) / len(found.steps.used)
    (moved,) = moved_by(schedule_of(found.trace, found.steps, floor), [(claim,)])
    return Predicted("measured", naive, moved), ()


def _delta(calls: pl.DataFrame, chosen: Flags, slots: int, gap_ns: int) -> npt.NDArray[np.float64]:
    """What each call of BEFORE saves: its measured change; calls of a group share what the group saved.

    A launch less takes its dispatch gap along. What appeared where nothing vanished is a cost of the call it follows.
    """
    rows = calls.filter(pl.Series(chosen))
    groups = rows.group_by("group").agg(
        pl.col("ns_before").sum().alias("was"),
        pl.col("ns_after").sum().alias("is"),
        (1.0 - pl.col("slot_after").count() / pl.col("slot_before").count()).alias("launches_less"),
    )
    gone = rows.filter(pl.col("slot_after").is_null()).join(groups, on="group", how="left")
    part = gone["mean_ns_before"] * (1.0 - gone["is"] / gone["was"]) + gap_ns * gone["launches_less"]
    kept = rows.filter(pl.col("slot_before").is_not_null() & pl.col("slot_after").is_not_null())
    new = rows.filter(pl.col("slot_before").is_null() & (pl.col("group") < 0))
    out = np.zeros(slots)
    for slot, value in (
        (gone["slot_before"], part),
        (kept["slot_before"], kept["mean_ns_before"] - kept["mean_ns_after"]),
        (new["rank"], -new["ns_after"]),
    ):
        np.add.at(out, slot.to_numpy(), value.fill_null(0.0).fill_nan(0.0).to_numpy())
    return out


def _drifted_ns(pair: Pair, kernel_ns: float, drift: float | None) -> float:
    """What the drift of everything else saved per step: device work alone follows it, at most the whole step."""
    if drift is None or abs(drift - 1.0) <= DRIFT or pair.basis == "recording":
        return 0.0
    return (1.0 - drift) * min(kernel_ns, pair.before.steps.step_ns)


def _less_work(pair: Pair, sites: pl.DataFrame, drift: float | None) -> tuple[Caveat, ...]:
    """Recordings of the same length that hold other numbers of nearly every kernel hold other amounts of work."""
    kept = sites.filter((pl.col("calls_before") > 1) & (pl.col("calls_after") > 1))
    ratio = (kept["calls_after"] / kept["calls_before"]).median()
    if pair.basis != "recording" or not isinstance(ratio, float) or abs(ratio - 1.0) <= DRIFT:
        return ()
    text = (
        f"AFTER holds {ratio:.2f} times as many calls of most kernels, each as long as {drift or 1.0:.2f} times before:"
        " the recordings hold different amounts of work, so less kernel time is not faster kernels"
    )
    return (Caveat("other_amount_of_work", text, 1, "warning"),)


def _caveats(calls: pl.DataFrame, drift: float | None, asked: Asked) -> tuple[Caveat, ...]:
    out: list[Caveat] = []
    kept = calls.filter(pl.col("slot_before").is_not_null() & pl.col("slot_after").is_not_null())
    whole = float(calls["ns_before"].sum() or 0)
    share = float(kept["ns_before"].sum() or 0) / whole if whole else 0.0
    if share < SHARED:
        text = (
            f"only {100 * share:.0f} % of BEFORE's device time is in calls that AFTER has too: is it the same program?"
        )
        out.append(Caveat("little_in_common", text, 1, "warning"))
    if drift is not None and abs(drift - 1.0) > DRIFT:
        text = f"unchanged calls take {drift:.3f} times as long in AFTER (median): clocks, profiler or load differ"
        out.append(Caveat("durations_drift", text, 1, "warning"))
    if asked.noise_pct is None:
        text = "one run of each: the interval holds the noise between steps, not between runs (--noise-pct states it)"
        out.append(Caveat("run_noise_unknown", text, 1, "note"))
    return tuple(out)
