"""The arithmetic alone, forward and inverse, without a trace."""

from __future__ import annotations

from dataclasses import dataclass

from trace_budget.errors import UsageError
from trace_budget.schema.options import Range


@dataclass(frozen=True, slots=True)
class Estimate:
    """`saving_us_per_token` is an upper bound at the high hit rate; `required_us_per_call` reaches the target."""

    calls: float
    saving_us_per_step: float
    saving_us_per_token: float
    low_us_per_token: float
    pct: float
    low_pct: float
    required_us_per_call: float


def estimate(
    saving_us: float, calls: float, token_us: float, hit_rate: Range, target_pct: float, tokens_per_step: float
) -> Estimate:
    """Us saved per call x calls per step x hit rate, as us per token and % of a token of `token_us`.

    UsageError when that is more than a token takes.
    """
    step = saving_us * calls
    per_token = step * hit_rate.high / tokens_per_step
    low = step * hit_rate.low / tokens_per_step
    if per_token > token_us:
        raise UsageError(
            "saves more than the token takes",
            expected=f"at most {token_us:g} us a token",
            found=f"{saving_us:g} us x {calls:g} calls",
            advice="Savings are in us a call, the token in ms.",
        )
    required = target_pct / 100.0 * token_us * tokens_per_step / (calls * hit_rate.high)
    return Estimate(
        calls, step * hit_rate.high, per_token, low, 100.0 * per_token / token_us, 100.0 * low / token_us, required
    )
