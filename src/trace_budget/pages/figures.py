"""Each picture with its title, how to read it, and its numbers as a table."""

from __future__ import annotations

import polars as pl

from trace_budget.pages import pictures
from trace_budget.pages.pictures import Marked
from trace_budget.schema.findings import Findings
from trace_budget.schema.page import Curve, Figure, Mark, Strip, Waterfall
from trace_budget.schema.report import Table, TableColumn
from trace_budget.units import show_count, show_pct, show_us

MOST_ROWS = 300


def curve_figure(curve: Curve, candidate: str = "") -> Figure:
    """The main figure: what every saving per call is worth."""
    text = (
        f"What each us saved per call is worth at the token of {show_us(curve.token_us)} us: the expected share, "
        "inside the band from the low to the high bound. The axis ends where the kernel costs nothing "
        f"({show_us(curve.full_us)} us, its mean). Inside the noise band an A/B of {curve.runs} runs an arm at "
        f"{curve.noise_pct:g} % noise sees no difference (below {show_pct(curve.mde_pct)}). {_bends(curve)}"
    )
    columns = (
        TableColumn("saving_us", "saved us/call", 3), TableColumn("expected_us_per_step", "expected us/step", 2),
        TableColumn("low_pct", "low %", 3), TableColumn("expected_pct", "expected %", 3),
        TableColumn("high_pct", "high %", 3), TableColumn("naive_pct", "naive product %", 3),
    )  # fmt: skip
    title = f"What a saving is worth: {candidate}" if candidate else "What a saving is worth"
    return Figure("curve", title, text, curve, Table("curve", "", columns, curve.points))


def _bends(curve: Curve) -> str:
    """Where the expected line bends, and why."""
    out = (
        f" Beyond {show_us(curve.shortest_us)} us the shortest calls have nothing left to save, and the line flattens."
        if curve.shortest_us < curve.full_us
        else ""
    )
    if not curve.knees:
        return f"The expected line has no knee: nothing else takes over the pace.{out}"
    places = ", ".join(f"{show_us(knee.saving_us)} us" for knee in curve.knees)
    return f"It bends at {places}: from there on something else sets part of the pace.{out}"


def waterfall_figure(waterfall: Waterfall) -> Figure:
    """Many candidates: what each saves alone, and what all of them save at once."""
    text = f"Each bar is what one candidate is projected to save alone. {_together(waterfall)}"
    columns = (
        TableColumn("candidate", "candidate"), TableColumn("low_us", "low us/token", 2),
        TableColumn("expected_us", "expected us/token", 2), TableColumn("high_us", "high us/token", 2),
    )  # fmt: skip
    table = Table("waterfall", "", columns, waterfall.frame, MOST_ROWS)
    return Figure("waterfall", "Candidates together", text, waterfall, table)


def _together(waterfall: Waterfall) -> str:
    together = f"Together they save {show_us(waterfall.together_us)} us a token"
    if not waterfall.remainder_us:
        return f"{together}, which is their sum: here none takes from another, but in general savings do not add."
    alone = show_us(waterfall.together_us - waterfall.remainder_us)
    return f"{together}, not the sum of {alone} us: savings do not add, and the difference has its own bar."


def strip_figure(picture: Strip, step: int, projected: bool) -> Figure:
    """One step in time, before and after."""
    states = "as measured and, below on the same axis, as projected (each op moved by its expected shift)"
    merged = (
        f" Its ops are merged into stretches of {show_us(picture.merged_us)} us: idle time within one does not show."
    )
    text = (
        f"Step {step}, the counted one nearest the median, "
        f"{states if projected else 'as measured'}; gaps are idle time. Coloured bars are drawn "
        f"at least 1 px wide.{merged if picture.merged_us else ''} Streams inside graph replays are as recorded, and "
        "may not be the ones the work ran on."
    )
    columns = (
        TableColumn("shown", "row"), TableColumn("start_us", "start us", 2), TableColumn("width_us", "us", 2),
        TableColumn("ops", "ops"), TableColumn("kernel", "kernel"),
    )  # fmt: skip
    rows = pl.DataFrame({"row": range(len(picture.rows)), "shown": picture.rows})
    frame = picture.bars.join(
        rows.cast({"row": picture.bars.schema["row"]}), on="row", how="left", maintain_order="left"
    )
    return Figure("strip", "One step in time", text, picture, Table("strip", "", columns, frame, MOST_ROWS))


def layer_figure(found: Findings, marked: Marked) -> tuple[Figure, ...]:
    """The layer x kernel map; nothing when no layers were found."""
    picture = pictures.layer_picture(found, marked)
    if picture is None:
        return ()
    more = f" {picture.left_out} call sites with less time are not shown." if picture.left_out else ""
    text = (
        f"One row per call site in the order of the layer, one column per layer (0 to {picture.layers - 1}), "
        f"coloured by us in that layer and step. A blank cell: this layer does not run it.{more}"
    )
    named = picture.cells.join(
        picture.sites.with_row_index("site").cast({"site": pl.Int64}), on="site", how="left", maintain_order="left"
    )
    columns = (
        TableColumn("kernel", "kernel"), TableColumn("position", "position"), TableColumn("layers_hit", "layers hit"),
        TableColumn("mean_us", "mean us/layer", 2), TableColumn("min_us", "min", 2), TableColumn("max_us", "max", 2),
    )  # fmt: skip
    frame = (
        named.group_by("site", "kernel", "position", "layers_hit", maintain_order=True)
        .agg(
            pl.col("us").mean().alias("mean_us"), pl.col("us").min().alias("min_us"), pl.col("us").max().alias("max_us")
        )
        .sort("site")
    )
    return (Figure("layers", "Who runs in which layer", text, picture, Table("layers", "", columns, frame, MOST_ROWS)),)


def kernel_figure(found: Findings, marked: Marked) -> Figure:
    """Kernels by time per step."""
    picture = pictures.kernel_bars(found, marked)
    last = f" The last row sums up {show_count(picture.others)} kernels." if picture.others else ""
    text = (
        "Time of each kernel per counted step, most first, with its share of the step; the shade behind is the "
        f"share of all kernel time up to that row.{last}"
    )
    columns = (
        TableColumn("kernel", "kernel"), TableColumn("calls_per_step", "calls/step"),
        TableColumn("us_per_step", "us/step", 1),
        TableColumn("pct_of_step", "% of step", 2), TableColumn("cumulative_pct", "cumulative %", 1),
    )  # fmt: skip
    return Figure(
        "kernels",
        "Where the time of a step goes",
        text,
        picture,
        Table("kernels", "", columns, picture.frame, MOST_ROWS),
    )


def histogram_figure(found: Findings, marked: Marked, marks: tuple[Mark, ...]) -> tuple[Figure, ...]:
    """Durations of single calls; nothing without usable times."""
    picture = pictures.duration_histogram(found, marked, marks)
    if picture is None:
        return ()
    zero = f" {show_count(picture.zero)} calls of 0 ns find no place on it." if picture.zero else ""
    text = (
        "Durations of single calls in the counted steps on a logarithmic axis: two humps under one name are two "
        "shapes; what stands at the dispatch floor (the 1st percentile of this trace) gets cheaper only by removing "
        f"launches.{zero}"
    )
    columns = (
        TableColumn("low_us", "from us", 3), TableColumn("high_us", "to us", 3),
        TableColumn("matched", "marked calls"), TableColumn("others", "other calls"),
    )  # fmt: skip
    filled = picture.bins.filter((pl.col("matched") > 0) | (pl.col("others") > 0))
    return (
        Figure(
            "durations", "How long single calls take", text, picture, Table("durations", "", columns, filled, MOST_ROWS)
        ),
    )


def _outside(steps: int) -> str:
    if not steps:
        return "All of those drawn count."
    return f"{steps} of those drawn {'do' if steps > 1 else 'does'} not count: cut off, stalled, or of another phase."


def step_figure(found: Findings) -> Figure:
    """Step times in order, with what was left out."""
    picture = pictures.step_times(found)
    out = picture.frame.filter(pl.col("why_out") != "").height
    thinned = (
        f" {show_count(picture.left_out)} steps are not drawn: too many for one picture." if picture.left_out else ""
    )
    what = "start to next start" if picture.measure == "interval" else "first to last GPU op"
    text = (
        f"Time of each step ({what}) in the order of the trace; the line is the median of the counted ones, "
        f"{show_us(picture.median_us)} us. {_outside(out)}{thinned}"
    )
    columns = (
        TableColumn("step_index", "step"), TableColumn("us", f"{picture.measure} us", 1), TableColumn("name", "name"),
        TableColumn("why_out", "left out"),
    )  # fmt: skip
    return Figure("steps", "Step after step", text, picture, Table("steps", "", columns, picture.frame, MOST_ROWS))
