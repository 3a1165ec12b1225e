"""The pictures that a page shows without a script, each with how to read it and its numbers as a table."""

from __future__ import annotations

import polars as pl

from trace_budget.schema.page import Figure
from trace_budget.schema.pictures import Cascade, Forest, Needed, OneLayer, Tornado
from trace_budget.schema.report import Table, TableColumn
from trace_budget.units import show_pct, show_us

MOST_ROWS = 300


def cascade_figure(picture: Cascade) -> Figure:
    """From the product on paper to what is left."""
    text = (
        "From the product on paper to what is left, in us a token: what overlap, launches and waits take, the hit "
        "rate, the costs of the new kernel, and what integration usually loses. The dashed line is what the target "
        f"asks for: {show_us(picture.wanted_us)} us."
    )
    frame = pl.DataFrame(
        {
            "stage": [stage.title for stage in picture.stages],
            "change_us": [None if stage.total else stage.after_us - stage.before_us for stage in picture.stages],
            "left_us": [stage.after_us for stage in picture.stages],
            "left_pct": [100 * stage.after_us / picture.token_us for stage in picture.stages],
        },
        schema_overrides={"change_us": pl.Float64},
    )
    columns = (
        TableColumn("stage", "stage"), TableColumn("change_us", "change us", 3), TableColumn("left_us", "left us", 3),
        TableColumn("left_pct", "% of token", 3),
    )  # fmt: skip
    table = Table("cascade", "", columns, frame)
    return Figure("cascade", "From the product to what is left", text, picture, table)


def tornado_figure(picture: Tornado) -> Figure:
    """What each assumption moves the answer by."""
    text = (
        f"What each assumption makes of {show_pct(picture.expected_pct)}: each was projected again at its two ends, "
        "with all else as it is. The longest bar is worth measuring first."
    )
    frame = pl.DataFrame(
        {
            "assumption": [f"{swing.question} {swing.title}".strip() for swing in picture.swings],
            "low_pct": [swing.low_pct for swing in picture.swings],
            "high_pct": [swing.high_pct for swing in picture.swings],
            "ends": [swing.ends for swing in picture.swings],
        }
    )
    columns = (
        TableColumn("assumption", "assumption"), TableColumn("low_pct", "low %", 3),
        TableColumn("high_pct", "high %", 3), TableColumn("ends", "its ends"),
    )  # fmt: skip
    return Figure("tornado", "What the answer rests on", text, picture, Table("tornado", "", columns, frame))


def forest_figure(picture: Forest) -> Figure:
    """The range of each candidate."""
    text = (
        f"The range of each candidate alone, and of all together, beside the {show_pct(picture.target_pct)} that are "
        f"wanted. In the shaded band an A/B of {picture.runs} runs an arm at {picture.noise_pct:g} % noise sees "
        "no difference."
    )
    columns = (
        TableColumn("candidate", "candidate"), TableColumn("low_pct", "low %", 3),
        TableColumn("expected_pct", "expected %", 3), TableColumn("high_pct", "high %", 3),
        TableColumn("verdict", "verdict"),
    )  # fmt: skip
    table = Table("forest", "", columns, picture.frame, MOST_ROWS)
    return Figure("forest", "What each candidate is worth", text, picture, table)


def needed_figure(picture: Needed) -> tuple[Figure, ...]:
    """Needed speed-up against share; nothing for one kernel."""
    if picture.frame.height < 2:
        return ()
    text = (
        f"Each kernel by its share of a token and the speed-up that makes {show_pct(picture.target_pct)} of it; on the "
        f"dashed line where {picture.dilution:g} of a saving is left after integration. At the top are those of "
        "which no speed-up is enough."
    )
    columns = (
        TableColumn("kernel", "kernel"), TableColumn("share_pct", "% of token", 2),
        TableColumn("speedup", "needed x", 2), TableColumn("can", "can"),
    )  # fmt: skip
    table = Table("needed", "", columns, picture.frame, MOST_ROWS, picture.among)
    return (Figure("needed", "What the target asks of each kernel", text, picture, table),)


def one_layer_figure(picture: OneLayer) -> Figure:
    """One layer in time."""
    text = (
        f"Layer {picture.layer} of step {picture.step} as measured; gaps are idle time. The numbers are those of the "
        "names below, in the order in which they first run."
    )
    columns = (
        TableColumn("number", "number"), TableColumn("kernel", "kernel"), TableColumn("calls", "calls"),
        TableColumn("us", "us", 2),
    )  # fmt: skip
    table = Table("layer", "", columns, picture.kernels, MOST_ROWS, picture.among)
    return Figure("layer", "One layer in time", text, picture, table)
