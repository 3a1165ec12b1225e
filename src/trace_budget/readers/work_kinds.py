"""What device work is, by its operation type and its name: kernel, copy, fill, or no work. One rule for all readers.

The words are those of the recorders: CUPTI (`Memcpy HtoD`, `Memset`), nsys (`[CUDA memcpy …]`), roctracer and CLR
(`CopyHostToDevice`, `FillBuffer`, `SDMA`, `Barrier`), rocprofiler-sdk (`MEMORY_COPY_HOST_TO_DEVICE`,
`SCRATCH_MEMORY_ALLOC`), hipprof (`H2D`). Apart from those of nsys in brackets, a whole name must be one of them: a
kernel may be called `__amd_rocclr_copyBuffer` or `memcpy_kernel`, runs on the compute units like any other, and stays
a kernel.
"""

from __future__ import annotations

import polars as pl

from trace_budget.io.dictionary import by_text
from trace_budget.schema.kernel_names import is_dispatch_type

_PLACE = "(?:Host|Device|Peer|Array|Image|Buffer)"
_COPY = (
    r"^(?i:\[CUDA memcpy.*|Memcpy(?: ?(?:[HDPA]to[HDPA]|Unknown))?(?: ?\(.*\))?"
    rf"|(?:hc|hip)?(?:Memcpy|Copy)_?{_PLACE}_?To_?{_PLACE}(?:2D|3D|Rect)?|SVMMemcpy"
    r"|MEMORY_COPY(?:_[A-Z_]+)?|(?:HOST|DEVICE|PEER)_TO_(?:HOST|DEVICE|PEER)|[HDP]2[HDP]"
    r"|SDMA(?:[ _].*)?|(?:Read|Write|Copy)(?:Buffer|Image)(?:Rect)?|Map(?:Buffer|Image)|UnmapMemObject"
    r"|MigrateMemObjects)$"
)
_FILL = r"^(?i:\[CUDA memset.*|Memset(?: ?\(.*\))?|MEMORY_SET(?:_[A-Z_]+)?|Fill(?:Buffer|Image)?|SVMMemFill|SET)$"
# words that are operation types, but as names those of kernels somebody wrote: `fill`, `memcpy`
_OWN_NAME = r"^(?:[a-gi-z]|h[^c]|(?:Fill|SET|[HDP]2[HDP])$)"
_NO_WORK = (
    r"^(?i:<barrier packet>|Barrier|(?:Internal)?Marker|UserMarker|UserEvent|SCRATCH_MEMORY(?:_[A-Z_]+)?"
    r"|(?:Stream|Event|Context|Device) Sync|Stream Wait Event|Graph Launch)$"
)


def is_no_work(text: pl.Expr) -> pl.Expr:
    """Whether an operation type or name is that of a barrier, a marker or a wait."""
    return text.str.contains(_NO_WORK)


def kind_of(name: pl.Expr, operation: pl.Expr | None = None) -> pl.Expr:
    """kernel, memcpy or memset, by the operation type where there is one (a copy that is called a fill is a fill).

    The name decides only where the type is unknown: a kernel launched as one stays one, whatever it is called.
    """
    by_name = pl.when(name.str.contains(_OWN_NAME)).then(pl.lit("kernel")).otherwise(_named(name))
    if operation is None:
        return by_name
    by_type = _named(operation)
    fills = (by_type == "memcpy") & name.str.contains(_FILL)
    return (
        pl.when(fills.fill_null(value=False))
        .then(pl.lit("memset"))
        .when(by_type != "kernel")
        .then(by_type)
        .when(is_dispatch_type(operation).fill_null(value=False))
        .then(pl.lit("kernel"))
        .otherwise(by_name)
    )


def _named(text: pl.Expr) -> pl.Expr:
    copy = pl.when(text.str.contains(_COPY).fill_null(value=False)).then(pl.lit("memcpy"))
    fill = copy.when(text.str.contains(_FILL).fill_null(value=False)).then(pl.lit("memset"))
    return fill.otherwise(pl.lit("kernel"))


def with_kinds_by_name(ops: pl.DataFrame) -> pl.DataFrame:
    """Kernels whose whole name is that of a copy or fill become one; names become Enum, each is looked at once."""
    named = ops if isinstance(ops["name"].dtype, pl.Enum) else ops.with_columns(_enum(ops["name"]))
    by_name, kind = by_text(named["name"], kind_of(pl.col("text"))), ops["kind"].cast(pl.String)
    odd = (by_name != "kernel").fill_null(value=False) & (kind == "kernel")
    return named.with_columns(kind.zip_with(~odd, by_name).alias("kind")) if odd.any() else named


def _enum(names: pl.Series) -> pl.Series:
    texts = names.cast(pl.String)
    return texts.cast(pl.Enum(texts.unique(maintain_order=True).drop_nulls()))
