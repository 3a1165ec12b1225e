"""Sums of something else than kernels, in tables with the header of kernel sums: known by file name and by names.

rocprofv3 and rocpd write one table of one shape per domain (`*_marker_api_stats.csv`, `hip_summary.csv`), rocprof
and hipprof one for API calls, nsys one per report (`*_mpi_event_sum.csv`). Marker sums hold texts a user chose, so
that only the name of the file says what they are.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from trace_budget.errors import InputError
from trace_budget.readers.work_kinds import kind_of
from trace_budget.schema.kernel_names import is_step_text
from trace_budget.schema.trace import Caveat

_DOMAINS = (
    "domain|(?:hip|hsa)(?:_(?:runtime|compiler|core|amd|image|finalize))?(?:_api)?(?:_ext)?|markers?(?:_api)?|roctx|rccl(?:_api)?"
    "|rocdecode(?:_api)?|rocjpeg(?:_api)?|ompt|memory_cop(?:y|ies)|memory_allocations?|scratch_memory|counter_collection"
    "|counters|pc_sampling\\w*|regions(?:_and_samples)?|samples|graph_launch(?:es)?|hip_events?|host|python|mpi|copy"
)
_FILE = re.compile(
    rf"(?i)(?:^|[_.-])(?P<domain>{_DOMAINS})_(?:stats|summary)(?:_by_rank)?\.csv"
    r"|\.(?P<traced>hiptrace|hsatrace|hiptx|hsa|rccltrace)\.csv|(?:^|_)(?P<report>(?!\w*kern)[a-z]\w*)_sum\.csv"
)
_DOMAIN = (
    r"^(?:KERNEL_DISPATCH|KERNELS|(?:HIP|HSA|MARKER|RCCL|ROCDECODE|ROCJPEG|OMPT)(?:_[A-Z]+)*_API(?:_EXT)?|MEMORY_COPY|"
    r"MEMORY_COPIES|MEMORY_ALLOCATIONS?|SCRATCH_MEMORY|COUNTER_COLLECTION|REGIONS|MARKERS?|HIP|HSA|RCCL|HIP_EVENTS)$"
)
_CALLS = (
    r"^(?:_*hip[A-Z]\w*|hsa_\w+|roctx[A-Z]\w*|cuda[A-Z]\w+|cu(?:Launch|Mem|Stream|Event|Ctx|Graph|Module|Device|Get)\w*"
    r"|nccl(?:All|Comm|Group|Send|Recv|Reduce|Broadcast|Bcast|Get|Mem)\w*|MPI_\w+|pthread_\w+|rocdec\w+|rocjpeg\w+"
    r"|ompt_\w+|(?:MEMORY_ALLOCATION|SCRATCH_MEMORY)_\w+)(?:_v\d+|_ptsz)*$"
)


def other_domain(file_name: str) -> str | None:
    """What a table of sums is of, by the name its writer gave it; None for kernels and for other names."""
    found = _FILE.search(file_name)
    word = next((word for word in found.groups() if word), None) if found else None
    return None if found and found["report"] and "kern" in file_name.lower() else word


def none_of_kernels(names: pl.Series) -> bool:
    """Whether sums are of domains, API calls, copies or steps; one domain is enough, of the rest all must be so."""
    distinct = names.drop_nulls().cast(pl.String).unique(maintain_order=True).to_frame("name")
    name = pl.col("name")
    text = is_step_text(name) | name.str.contains(_CALLS) | (kind_of(name) != "kernel")
    domain, rest = distinct.select(name.str.contains(_DOMAIN).any(), text.all().alias("rest")).row(0)
    return bool(domain or (rest and distinct.height))


def refuse_other_sums(path: Path, names: pl.Series, advice: str) -> None:
    """InputError for sums of something else than kernels."""
    domain = other_domain(path.name)
    if domain is not None or none_of_kernels(names):
        found = f"a table of {domain}" if domain else ascii(str(names[0]))[1:-1]
        message = "sums of API calls, copies, ranges or domains, not of kernels"
        raise InputError(message, where=str(path), expected="sums of kernels", found=found, advice=advice)


def kernels_alone(rows: pl.DataFrame, column: str) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """The sums of kernels, without those of copies, fills and API calls among them, which a caveat counts."""
    name = pl.col("name")
    other = (name.str.contains(_CALLS) | (kind_of(name) != "kernel")).fill_null(value=False)
    is_other = rows[column].cast(pl.String).to_frame("name").select(other).to_series()
    text = "sums of copies, fills and API calls among those of kernels are left out"
    count = int(is_other.sum())
    caveats = (
        (Caveat("other_sums_left_out", text, count, "note", str(rows.filter(is_other)[column][0])),) if count else ()
    )
    return rows.filter(~is_other), caveats
