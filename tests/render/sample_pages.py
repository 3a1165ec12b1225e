"""Hand-made pages for the drawing tests: no trace, no analysis, one of every picture, and hostile names."""

import polars as pl

from render.sample_reports import HOSTILE_NAME, LONG_NAME, kernels_report
from trace_budget.schema import page as p
from trace_budget.schema.report import Line, Table, TableColumn

TAG = "</script><img src=x onerror=alert(1)>"
NAMES = [LONG_NAME, HOSTILE_NAME, TAG]


def curve(kernel: str = TAG, stated: bool = True, knees: int = 1) -> p.Curve:
    """A line to 2 % at 10 us that bends at 6 us, and a candidate at 3 us between 0.3 and 0.7 %."""
    points = pl.DataFrame(
        {
            "saving_us": [0.0, 3.0, 6.0, 10.0], "low_pct": [0.0, 0.3, 0.5, 0.6], "expected_pct": [0.0, 0.6, 1.2, 1.4],
            "high_pct": [0.0, 0.7, 1.4, 2.0], "naive_pct": [0.0, 0.7, 1.4, 2.4],
            "expected_us_per_step": [0.0, 60.0, 120.0, 140.0],
        }
    )  # fmt: skip
    place = p.Stated(3.0, 0.3, 0.6, 0.7) if stated else None
    bends = tuple(p.Knee(6.0, 1.2) for _ in range(knees))
    return p.Curve(kernel, points, place, bends, 10.0, 9.0, 10_000.0, 2.4, 1.0, 2.02, 1.0, 5)


def strip() -> p.Strip:
    """Two rows of three ops, the second one 2 us shorter."""
    bars = pl.DataFrame(
        {
            "row": [0, 0, 0, 1, 1, 1], "start_us": [0.0, 10.0, 20.0, 0.0, 10.0, 18.0],
            "width_us": [10.0, 8.0, 5.0, 10.0, 6.0, 5.0],
            "matched": [False, True, False] * 2, "kernel": NAMES * 2, "ops": [1, 1, 4] * 2,
        }
    )  # fmt: skip
    return p.Strip(("measured", "projected"), bars, (25.0, 23.0), (p.View("whole step", 0.0, 25.0),), TAG, 0.0)


def layer_map() -> p.LayerMap:
    """Three call sites on four layers; the second one misses layer 2."""
    sites = pl.DataFrame(
        {"kernel": NAMES, "position": [0, 1, 2], "layers_hit": [4, 3, 4], "matched": [False, True, False]}
    )
    cells = pl.DataFrame(
        {
            "site": [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2], "layer_index": [0, 1, 2, 3, 0, 1, 3, 0, 1, 2, 3],
            "calls": [1.0] * 11, "us": [1.0, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 0.0, 100.0, 100.0, 100.0],
        }
    )  # fmt: skip
    return p.LayerMap(sites, cells, 4, 0)


def kernel_bars() -> p.KernelBars:
    """Three kernels of 50, 30 and 20 us."""
    frame = pl.DataFrame(
        {
            "kernel": NAMES, "us_per_step": [50.0, 30.0, 20.0], "pct_of_step": [40.0, 24.0, 16.0],
            "calls_per_step": [1.0, 2.0, 3.0], "matched": [False, True, False], "cumulative_pct": [50.0, 80.0, 100.0],
        }
    )  # fmt: skip
    return p.KernelBars(frame, 0)


def histogram() -> p.Histogram:
    """Bins of a factor of ten from 1 us, with a mark at 2 us."""
    bins = pl.DataFrame({"low_us": [1.0, 10.0], "high_us": [10.0, 100.0], "matched": [3, 1], "others": [5, 9]})
    return p.Histogram(bins, (p.Mark("dispatch floor", 2.0),), TAG, 0)


def step_times() -> p.StepTimes:
    """Three counted steps and an outlier with a hostile name."""
    frame = pl.DataFrame(
        {
            "step_index": [0, 1, 2, 3],
            "us": [900.0, 100.0, 101.0, 99.0],
            "name": [TAG, "b", "c", None],
            "why_out": ["outlier", "", "", ""],
        }
    )
    return p.StepTimes(frame, 100.0, "interval", 0)


def waterfall() -> p.Waterfall:
    """Candidates of 30 and 20 us that save 40 us together; the second was measured."""
    frame = pl.DataFrame(
        {
            "candidate": [TAG, "b"],
            "expected_us": [30.0, 20.0],
            "low_us": [10.0, 20.0],
            "high_us": [35.0, 20.0],
            "measured": [False, True],
        }
    )
    return p.Waterfall(frame, 40.0, 10_000.0)


def page() -> p.Page:
    """A page with every picture."""
    pictures = (curve(), waterfall(), strip(), layer_map(), kernel_bars(), histogram(), step_times())
    numbers = pl.DataFrame({"kernel": NAMES, "us": [1.0, None, float("nan")]})
    table = Table("numbers", "", (TableColumn("kernel", "kernel"), TableColumn("us", "us", 2)), numbers)
    figures = tuple(
        p.Figure(type(each).__name__.lower(), f"Title {TAG}", f"Text {TAG}", each, table) for each in pictures
    )
    return p.Page(TAG, kernels_report(), figures, (Line(f"note {TAG}"),))
