"""The tables rocprofv3 writes as CSV: how each is recognised, and its rows as raw records.

Columns come and go between ROCm 6.2 and 7.x, so every column is taken by name. Source: rocprofiler-sdk,
`source/lib/output/generateCSV.cpp` and `source/docs/how-to/using-rocprofv3.rst`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from trace_budget.io.csv.table import Cells, CsvFile, Shape, header_cells, read_csv
from trace_budget.io.dictionary import by_text
from trace_budget.readers.csv_trace import columns, last_number, positive, rows_of

_TIMES = {"start_ns": "Start_Timestamp", "end_ns": "End_Timestamp"}
_SIZES = {
    f"{ours}_{axis}": f"{recorded}_{axis.upper()}"
    for ours, recorded in (("grid", "Grid_Size"), ("block", "Workgroup_Size"))
    for axis in "xyz"
}
_PLACE = {"stream": "Stream_Id", "queue": "Queue_Id", "correlation": "Correlation_Id", "tid": "Thread_Id", **_TIMES}
_PLACE |= {"graph_node_id": "Graph_Node_Id"}
_CALL = {"pid": "Process_Id", "tid": "Thread_Id", "correlation": "Correlation_Id", **_TIMES}
_OTHER_APIS = "(?i)^(?:rocm_)?(?:hsa|rccl|rocdecode|rocjpeg|ompt|mpi|kokkos|pthread|host|python)"
_RANGES = "(?i)marker|roctx|^user$"
_HEADER_LIKE = "Kernel_Name|Function|Direction|Agent_Type|Start_Timestamp"


def _with(*names: str, without: tuple[str, ...] = ()) -> Callable[[Cells], bool]:
    return lambda cells: set(names) <= set(cells) and not set(without) & set(cells)


def _recorded(*columns_by_name: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(recorded for names in columns_by_name for recorded in names.values())


SHAPES = (
    Shape(
        "kernels",
        _with("Kernel_Name", "Agent_Id", *_TIMES.values(), without=("Counter_Name",)),
        "Kernel_Name",
        texts=("Guid", "Agent_Id", "Kernel_Name"),
        integers=_recorded(_PLACE, _SIZES),
    ),
    Shape("counters", _with("Kernel_Name", "Agent_Id", "Counter_Name"), "Kernel_Name", integers=("Dispatch_Id",)),
    Shape(
        "api",
        _with("Domain", "Function", "Process_Id", *_TIMES.values()),
        "Function",
        texts=("Guid", "Domain", "Function"),
        integers=_recorded(_CALL),
    ),
    Shape(
        "copies",
        _with("Direction", "Source_Agent_Id", "Destination_Agent_Id", *_TIMES.values()),
        "Direction",
        texts=("Guid", "Direction", "Source_Agent_Id", "Destination_Agent_Id"),
        integers=_recorded(_PLACE),
    ),
    Shape(
        "agents",
        _with("Node_Id", "Agent_Type", "Name"),
        "Name",
        texts=("Agent_Type", "Name", "Product_Name"),
        integers=("Node_Id", "Logical_Node_Id"),
    ),
    # a header of one of the tables above that is damaged must not pass for one of these
    Shape(
        "other",
        _with("Kind", *_TIMES.values(), without=("Kernel_Name", "Function", "Direction")),
        "Kind",
        texts=("Kind",),
    ),
)


def shape_of(line: str) -> str | None:
    """Return which of the tables a header line opens: kernels, counters, api, copies, agents, other; else None."""
    cells = header_cells(line)
    return next((shape.name for shape in SHAPES if shape.matches(cells)), None)


def read_tables(path: Path) -> CsvFile:
    """Read every rocprofv3 table in a CSV file."""
    return read_csv(path, SHAPES, _HEADER_LIKE)


def kernels(file: CsvFile) -> pl.DataFrame:
    """Return one row per dispatch; the device is the number in Agent_Id (`Agent 4`, `GPU 0`, `4`)."""
    rows = rows_of(file, "kernels")
    return rows.select(
        pl.lit("kernel").alias("kind"),
        pl.col("Kernel_Name").alias("name"),
        last_number(rows["Agent_Id"]).alias("device"),
        pl.lit(None, pl.Int64).alias("pid"),
        _guid(rows),
        *columns(rows, {**_PLACE, **_SIZES}),
    ).with_columns(positive("correlation"), positive("graph_node_id"))


def copies(file: CsvFile) -> pl.DataFrame:
    """Return one row per copy, on the device that sends to the host or else receives; the bytes are not recorded."""
    rows = rows_of(file, "copies")
    to_host = pl.col("Direction").cast(pl.String).str.ends_with("TO_HOST")
    device = (
        pl.when(to_host).then(last_number(rows["Source_Agent_Id"])).otherwise(last_number(rows["Destination_Agent_Id"]))
    )
    return rows.select(
        pl.lit("memcpy").alias("kind"),
        pl.col("Direction").alias("name"),
        device.alias("device"),
        pl.lit(None, pl.Int64).alias("pid"),
        _guid(rows),
        *columns(rows, _PLACE),
    ).with_columns(positive("correlation"), positive("graph_node_id"))


def calls(file: CsvFile) -> pl.DataFrame:
    """Return one row per HIP API call; regions of rocpd hold those of other interfaces too, numbered by themselves."""
    every = rows_of(file, "api")
    rows = every.filter(~(_is_marker(every) | _domain(every, _OTHER_APIS)))
    return rows.select(pl.col("Function").alias("name"), _guid(rows), *columns(rows, _CALL))


def markers(file: CsvFile) -> pl.DataFrame:
    """Return one row per roctx range; Function holds its message."""
    every = rows_of(file, "api")
    rows = every.filter(_is_marker(every))
    names = {new: recorded for new, recorded in _CALL.items() if new != "correlation"}
    kind = pl.lit("annotation").alias("kind")
    return rows.select(kind, pl.col("Function").alias("name"), _guid(rows), *columns(rows, names))


def _domain(rows: pl.DataFrame, pattern: str) -> pl.Series:
    return by_text(rows["Domain"], pl.col("text").str.contains(pattern)).fill_null(value=False)


def _is_marker(rows: pl.DataFrame) -> pl.Series:
    return _domain(rows, _RANGES)


def _guid(rows: pl.DataFrame) -> pl.Expr:
    """What rocpd distinguishes processes by, in each table it converts."""
    known = pl.col("Guid").cast(pl.Categorical) if "Guid" in rows.columns else pl.lit(None, pl.Categorical)
    return known.alias("guid")


def gpu_names(file: CsvFile) -> dict[int, str]:
    """Return product (or else ISA) names by device number of agent_info's GPUs.

    Agent numbers count nodes of the process (Logical_Node_Id); `Node_Id` differs when devices are hidden.
    """
    rows = rows_of(file, "agents").filter(pl.col("Agent_Type").cast(pl.String) == "GPU")
    number = "Logical_Node_Id" if "Logical_Node_Id" in rows.columns else "Node_Id"
    name = pl.col("Product_Name" if "Product_Name" in rows.columns else "Name").cast(pl.String)
    pairs = rows.select(pl.col(number), name.alias("name")).drop_nulls()
    return dict(zip(pairs[number].to_list(), pairs["name"].to_list(), strict=True))
