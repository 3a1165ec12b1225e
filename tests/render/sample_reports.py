"""Hand-made reports for the renderer tests: no trace, no analysis, every kind of cell."""

import polars as pl

from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.schema.trace import Caveat

LONG_NAME = "void tensorrt_llm::kernels::fused_gated_delta_rule<float, 128, 64>(Params<float>, int) [clone .kd]"
HOSTILE_NAME = 'evil\x1b[31m\x9b2J|kernel`s\u202e\nnext, "quoted" *bold* <b>&'
NUMBERS = (
    TableColumn("calls_per_step", "calls/ step"),
    TableColumn("mean_us", "mean us", 3),
    TableColumn("median_us", "median us", 3),
    TableColumn("us_per_step", "us/step", 2),
    TableColumn("pct_of_step", "% of step", 2),
)


def kernel_frame(names: list[str]) -> pl.DataFrame:
    count = len(names)
    return pl.DataFrame(
        {
            "kernel": pl.Series(names, dtype=pl.Enum(list(dict.fromkeys(names)))),
            "calls_per_step": [48.0, *([1.5] * (count - 1))],
            "mean_us": [20.27239, *([1234567.891] * (count - 1))],
            "median_us": [20.1, *([None] * (count - 1))],
            "us_per_step": [973.0747, *([float("nan")] * (count - 1))],
            "pct_of_step": [2.2115, *([0.0] * (count - 1))],
            "positions": [[3, 7], *([[0]] * (count - 1))],
        }
    )


def kernels_report(names: list[str] | None = None, limit: int | None = None) -> Report:
    frame = kernel_frame(names or [LONG_NAME, HOSTILE_NAME, "short"])
    table = Table("kernels", "Kernels of one step", (TableColumn("kernel", "kernel"), *NUMBERS), frame, limit)
    return Report(
        "trace-budget/kernels/1",
        {"rows": [{"kernel": HOSTILE_NAME, "mean_us": 0.1 + 0.2, "max_us": float("inf"), "calls": 3}]},
        trace={"path": "decode.json", "format": "kineto", "rank": 0},
        lines=(Line("gdn_fused in decode.json", "title"), Line("3.228 us x 48 calls = 154.944 us", "good")),
        tables=(table,),
        footer=(Line("upper bound, not measured", "dim"),),
        caveats=(
            Caveat("single_step", "one step only: no spread", 1, "note"),
            Caveat("lost_kernels", "64 of 512 kernels are missing \x1b[2J", 64, "error"),
            Caveat("profiled", "profiled step", 2, "warning"),
        ),
    )
