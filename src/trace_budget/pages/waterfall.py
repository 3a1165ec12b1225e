"""One candidate's way from the product on paper to what is left: each factor of the answer as one stage."""

from __future__ import annotations

from trace_budget.errors import OutputError
from trace_budget.projection.project import Projection
from trace_budget.schema.options import Change
from trace_budget.schema.pictures import Cascade, Stage
from trace_budget.units import ns_from_us, show_count, show_us, us_from_ns, us_of_bytes


def cascade(p: Projection, among: tuple[str, ...] = ()) -> Cascade:
    """The stages in the order in which the figures come about; their last total is what the answer says is left.

    The hit rate and the costs are the candidate's own; what is neither of them nor the product is what overlap,
    launches, waits and the calls' own lengths take.
    """
    refuse_invalid(p)
    tokens = p.token.tokens_per_step
    share = hit_of(p)
    call_cost = cost_per_call_ns(p.candidate) * p.match.calls_per_step
    step_cost = ns_from_us(p.candidate.per_step_us or 0.0)
    product = _product_ns(p) + call_cost
    costs = call_cost * share + step_cost
    in_reach = (p.limits.expected + costs) / share if share else 0.0
    expected = p.limits.expected
    left = expected * p.verdict.dilution if expected > 0 else expected
    totals = [product, in_reach, in_reach * share, expected, left]
    us = [us_from_ns(ns) / tokens for ns in totals]
    stages = (
        Stage(_on_paper(p), 0.0, us[0], total=True),
        Stage("overlap and launches", us[0], us[1]),
        Stage(f"hit rate {share:g}", us[1], us[2]),
        Stage("costs of the new kernel", us[2], us[3]),
        Stage("projected", 0.0, us[3], total=True),
        Stage(f"integration ({p.verdict.dilution:g} is left)", us[3], us[4]),
        Stage("after integration", 0.0, us[4], total=True),
    )
    return Cascade(
        p.match.kernel, stages, p.limits.over(tokens).each(us_from_ns), us_from_ns(p.token.token_ns),
        p.required.target_pct, p.verdict.verdict, among,
    )  # fmt: skip


def refuse_invalid(p: Projection) -> None:
    """Raise OutputError for what is no projection: its figures mean nothing."""
    if p.verdict.verdict == "INVALID":
        raise OutputError("an INVALID projection has no picture", where="--plot", found=p.verdict.why)


def cost_per_call_ns(change: Change) -> float:
    """What integration adds to every call, in ns."""
    traffic = 0.0
    if change.extra_bytes and change.bandwidth_gbps:
        traffic = us_of_bytes(change.extra_bytes, change.bandwidth_gbps)
    return ns_from_us((change.overhead_us or 0.0) + traffic)


def hit_of(p: Projection) -> float:
    """The hit rate that the expected figure takes: the middle of a stated range, all where none is known."""
    low, high = p.hit_rate.low, p.hit_rate.high
    return high if (low, high) == (0.0, 1.0) else (low + high) / 2


def _product_ns(p: Projection) -> float:
    """Saving per call x calls of a step with costs per call taken off, before hit rate and costs per step, in ns."""
    if not p.hit_rate.high:
        return float(p.saving.expected.mean()) * p.match.calls_per_step
    return (p.limits.naive + ns_from_us(p.candidate.per_step_us or 0.0)) / p.hit_rate.high


def _on_paper(p: Projection) -> str:
    per_call = us_from_ns(float(p.saving.expected.mean()) + cost_per_call_ns(p.candidate))
    split = f" / {p.token.tokens_per_step:g} tokens" if p.token.tokens_per_step != 1 else ""
    return f"{show_us(per_call)} us x {show_count(p.match.calls_per_step)} calls{split}"
