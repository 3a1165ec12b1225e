"""The inverse question: what each kernel would have to save per call to reach the target, and whether it can."""

from __future__ import annotations

import polars as pl

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.analysis.kernels import kernel_table
from trace_budget.projection.token import Token, token_of
from trace_budget.projection.verdict import dilution_of
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, TokenInput


def _left(saving: str) -> pl.Expr:
    """What a call would still take, in ns."""
    return pl.col("ceiling_ns_per_call") - pl.col(saving)


def threshold(found: Findings, asked: TokenInput, policy: Policy) -> tuple[pl.DataFrame, Token]:
    """One row per kernel, most time first: calls_per_step, required_ns_per_call, ceiling_ns_per_call, attainable.

    `required_ns_per_call` reaches the target if every saved ns reached the token; `ceiling_ns_per_call` is the mean
    duration: no replacement can save more. `required_with_dilution_ns` adds the usual loss of integration;
    `required_speedup` is what the first of them asks of the kernel. `can` is `yes` where both are within reach, `on
    paper` where only the first is, `only if removed` where what is left would be shorter than kernels of this trace
    ever are, and `no`.
    """
    token = token_of(found.steps, asked, found.trace)
    target_ns = policy.target_pct / 100.0 * token.token_ns * token.tokens_per_step
    floor_ns = dispatch_floor(found.trace).floor_ns or 0
    dilution = dilution_of(policy)
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap).filter(pl.col("kind") == "kernel")
    return (
        rows.with_columns(
            (target_ns / pl.col("calls_per_step")).alias("required_ns_per_call"),
            (target_ns / pl.col("calls_per_step") / dilution).alias("required_with_dilution_ns"),
            pl.col("mean_ns").alias("ceiling_ns_per_call"),
            (100.0 * pl.col("mean_ns") * pl.col("calls_per_step") / (token.token_ns * token.tokens_per_step)).alias(
                "ceiling_pct"
            ),
        )
        .with_columns((pl.col("required_ns_per_call") <= pl.col("ceiling_ns_per_call")).alias("attainable"))
        .with_columns(_can(floor_ns).alias("can"), _speedup().alias("required_speedup"))
        .select(
            "kernel",
            "calls_per_step",
            "layers_hit",
            "required_ns_per_call",
            "required_with_dilution_ns",
            "ceiling_ns_per_call",
            "ceiling_pct",
            "attainable",
            "can",
            "required_speedup",
        ),
        token,
    )


def _can(floor_ns: float) -> pl.Expr:
    """Whether a kernel can save what it must, and on which condition."""
    return (
        pl.when(pl.col("attainable").is_null())
        .then(None)
        .when(~pl.col("attainable"))
        .then(pl.lit("no"))
        .when(_left("required_ns_per_call") < floor_ns)
        .then(pl.lit("only if removed"))
        .when(_left("required_with_dilution_ns") < floor_ns)
        .then(pl.lit("on paper"))
        .otherwise(pl.lit("yes"))
    )


def _speedup() -> pl.Expr:
    ceiling, required = pl.col("ceiling_ns_per_call"), pl.col("required_ns_per_call")
    return pl.when(required < ceiling).then(ceiling / (ceiling - required))
