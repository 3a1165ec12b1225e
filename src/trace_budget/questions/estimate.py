"""estimate: the arithmetic alone, without a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from trace_budget.errors import UsageError
from trace_budget.schema.option import option
from trace_budget.schema.options import Range
from trace_budget.schema.values import hit_rate as share_of_requests
from trace_budget.schema.values import percentage, positive

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget estimate -s 3.1 --calls 48 --token-ms 44",
    "trace-budget estimate -s 3.1 --layers 48 --calls-per-layer 2 --token-ms 44 --hit-rate 0.6:1",
)

Saving = Annotated[
    float, option("Factors", "--saving-us", "-s", parse=positive, metavar="F", text="Saved per call, us.")
]
Calls = Annotated[float | None, option("Factors", "--calls", parse=positive, metavar="N", text="Calls per step.")]
Layers = Annotated[
    float | None, option("Factors", "--layers", parse=positive, metavar="N", text="Layers that run the kernel.")
]
CallsPerLayer = Annotated[
    float | None,
    option("Factors", "--calls-per-layer", parse=positive, metavar="N", text="Calls in each of them (default: 1)."),
]
TokenMs = Annotated[
    float | None,
    option("Factors", "--token-ms", parse=positive, metavar="F", in_config=True,
           text="Time per token (TPOT), ms; needed."),
]  # fmt: skip
HitRate = Annotated[
    Range | None,
    option("Factors", "--hit-rate", parse=share_of_requests, metavar="F|LOW:HIGH",
           text="Share of requests that run it (default: 1)."),
]  # fmt: skip
TargetPct = Annotated[
    float,
    option("Factors", "--target-pct", parse=percentage, metavar="F", in_config=True,
           text="Worth it from this share of a token, % (default: 1)."),
]  # fmt: skip
TokensPerStep = Annotated[
    float,
    option("Factors", "--tokens-per-step", parse=positive, metavar="F", in_config=True,
           text="Tokens a sequence gets per step (default: 1)."),
]  # fmt: skip


def estimate(
    saving_us: Saving,
    calls: Calls = None,
    layers: Layers = None,
    calls_per_layer: CallsPerLayer = None,
    token_ms: TokenMs = None,
    hit_rate: HitRate = None,
    target_pct: TargetPct = 1.0,
    tokens_per_step: TokensPerStep = 1.0,
) -> Report:
    """The arithmetic alone, forward and inverse, without a trace."""
    from trace_budget.projection.estimate import estimate as product
    from trace_budget.reports import inverse
    from trace_budget.units import ns_from_ms, us_from_ns

    if (calls is None) == (layers is None):
        found = "neither" if calls is None else "both"
        raise UsageError("the calls per step are needed, once", expected="--calls or --layers", found=found)
    if calls is not None and calls_per_layer is not None:
        raise UsageError("--calls-per-layer goes with --layers, not with --calls")
    if token_ms is None:
        raise UsageError("the time per token is needed", expected="--token-ms")
    per_layer = 1 if calls_per_layer is None else calls_per_layer
    count = calls if calls is not None else (layers or 0) * per_layer
    hit, token_us = hit_rate or Range(1.0, 1.0), us_from_ns(ns_from_ms(token_ms))
    result = product(saving_us, count, token_us, hit, target_pct, tokens_per_step)
    return inverse.estimate_report(result, saving_us, token_us, hit, target_pct, tokens_per_step)
