"""estimate: the arithmetic alone, without a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from trace_budget.cli import _config
from trace_budget.cli._groups import option
from trace_budget.cli._output import Output, emit
from trace_budget.cli._values import hit_rate, percentage, positive
from trace_budget.errors import UsageError
from trace_budget.schema.options import Policy, Range


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of the product, all told by the user."""

    saving_us: Annotated[
        float, option("Factors", "--saving-us", parser=positive, metavar="F", text="Saved per call, us.")
    ]
    calls: Annotated[
        float | None, option("Factors", "--calls", parser=positive, metavar="N", text="Calls per step.")
    ] = None
    layers: Annotated[
        float | None, option("Factors", "--layers", parser=positive, metavar="N", text="Layers that run the kernel.")
    ] = None
    calls_per_layer: Annotated[
        float | None,
        option(
            "Factors", "--calls-per-layer", parser=positive, metavar="N", text="Calls in each of them (default: 1)."
        ),
    ] = None
    token_ms: Annotated[
        float | None,
        option("Factors", "--token-ms", parser=positive, metavar="F", text="Time per token (TPOT), ms; needed."),
    ] = None
    hit_rate: Annotated[
        Range | None,
        option(
            "Factors",
            "--hit-rate",
            parser=hit_rate,
            metavar="F|LOW:HIGH",
            text="Share of requests that run it (default: 1).",
        ),
    ] = None
    tokens_per_step: Annotated[
        float | None,
        option(
            "Factors",
            "--tokens-per-step",
            parser=positive,
            metavar="F",
            text="Tokens a sequence gets per step (default: 1).",
        ),
    ] = None
    target_pct: Annotated[
        float | None,
        option(
            "Factors",
            "--target-pct",
            parser=percentage,
            metavar="F",
            text="Worth it from this share of a token, % (default: 1).",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Raise UsageError unless the calls are told in exactly one way."""
        if (self.calls is None) == (self.layers is None):
            found = "neither" if self.calls is None else "both"
            raise UsageError("the calls per step are needed, once", expected="--calls or --layers", found=found)
        if self.calls is not None and self.calls_per_layer is not None:
            raise UsageError("--calls-per-layer goes with --layers, not with --calls")


def estimate(factors: Factors, output: Output) -> None:
    """The arithmetic alone, forward and inverse, without a trace."""
    from trace_budget import api

    config = _config.load()
    token_ms = factors.token_ms or config.token_ms
    if token_ms is None:
        raise UsageError("the time per token is needed", expected="--token-ms")
    report = api.estimate_report(
        factors.saving_us,
        factors.calls,
        factors.layers,
        factors.calls_per_layer,
        token_ms,
        factors.hit_rate,
        factors.target_pct or config.target_pct or Policy().target_pct,
        factors.tokens_per_step or config.tokens_per_step or 1.0,
    )
    emit(report, output)
