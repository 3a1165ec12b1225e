"""What the words of an Ascend task mean: kernel, copy, fill or no work; collectives under one name for all calls.

Source: the task types of the CANN runtime (`MEMCPY_ASYNC`, `NOTIFY_WAIT`, …) and of the device's queue entries
(`SDMA_SQE`, `PLACE_HOLDER_SQE`, …) in Ascend/msprof. A word that is not known here is work.
"""

from __future__ import annotations

import re

import polars as pl

# outputs have the same names in every run, each run a folder of its own
_OUTPUTS = (re.compile("trace_view|kernel_details"), re.compile(r"(?:msprof|op_summary)(?:_slice(?:_\d+)?)?_\d+"))
_COPY = r"^(?i:MEMCPY(?:_ASYNC)?|REDUCE_ASYNC(?:_V2)?|(?:SDMA|PCIE_DMA)(?:_SQE)?)$"
_FILL = r"^(?i:MEMSET(?:_ASYNC)?)$"
_NO_WORK = (
    r"^(?i:(?:PLACE_HOLDER|CDQM|CONDITION)_SQE|(?:EVENT|NOTIFY)[_ ](?:RECORD|WAIT|RESET)(?:_SQE)?|STREAM_WAIT_EVENT"
    r"|WRITE[_ ]VALUE(?:_SQE)?|(?:Invalidate |Writeback )?Data Context|PROFILING_(?:EN|DIS)ABLE|PROFILER_TRACE(?:_EX)?"
    r"|MODEL_(?:EXECUTE|MAINTAINCE|MAINTENANCE|END_GRAPH|TO_AICPU)|STREAM_(?:SWITCH|ACTIVE)(?:_\w+)?|LABEL_\w+"
    r"|MAINTENANCE|FLIP|BARRIER|CMO(?:_\w+)?|RDMA_(?:DB_)?SEND|ROCCE(?:_SQE)?|DATADUMP_\w+|CAPTURE_\w+)$"
)
# `hcom_allReduce__661_0_1`: group and number of the call make every call another name
_NUMBERED = r"^(hcom_[A-Za-z]+)_*(?:_\d+)+(?:@\w*)?$"


def is_of_one_run(one: str, other: str) -> bool:
    """Whether names of outputs in one folder are of one run."""
    return one == other or any(names.fullmatch(one) and names.fullmatch(other) for names in _OUTPUTS)


def kind_of(name: pl.Expr, task: pl.Expr) -> pl.Expr:
    """kernel, memcpy or memset by the type of the task, or where it only names the engine, by its name."""
    copy = pl.when(_says(name, _COPY) | _says(task, _COPY)).then(pl.lit("memcpy"))
    fill = pl.when(_says(name, _FILL) | _says(task, _FILL)).then(pl.lit("memset"))
    return fill.otherwise(copy.otherwise(pl.lit("kernel")))


def is_no_work(name: pl.Expr, task: pl.Expr) -> pl.Expr:
    """Whether a task waits, marks or steers."""
    return _says(name, _NO_WORK) | _says(task, _NO_WORK)


def without_number(name: pl.Expr) -> pl.Expr:
    """The name of a collective without its group and number; other names as they are."""
    return name.str.replace(_NUMBERED, "$1")


def _says(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(pattern).fill_null(value=False)
