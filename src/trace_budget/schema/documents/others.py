"""The answers of `check`, `batch`, `formats`, `schema`, `doctor` and `explain`."""

from __future__ import annotations

from msgspec import Struct

from trace_budget.schema.documents import Facts, Rows


class Finding(Struct, frozen=True):
    """Something found about a trace, or about `all` together."""

    trace: str
    code: str
    severity: str
    count: int
    text: str


class Check(Struct, frozen=True):
    """`trace-budget/check/1`, the answer of `check`."""

    trust: str
    traces: list[Facts]
    findings: list[Finding]


class Listing(Struct, frozen=True):
    """`trace-budget/formats/1` and `trace-budget/explain/1`: rows alone."""

    rows: Rows


class Schema(Struct, frozen=True):
    """`trace-budget/schema/1`, the declared tables."""

    tables: list[str]
    rows: Rows


class Doctor(Struct, frozen=True):
    """`trace-budget/doctor/1`, what is installed."""

    version: str
    rows: Rows


class Failure(Struct, frozen=True):
    """A file of a batch without an answer."""

    trace_id: str | None
    path: str
    outcome: str
    code: str
    reason: str


class Batch(Struct, frozen=True):
    """`trace-budget/batch/1`, what a batch says in the end."""

    traces: int
    jobs: int
    failed: int
    left_out: int
    other_files: int
    done_before: int
    question: str
    out: str
    by: list[str]
    groups: Rows
    best: Rows
    worst: Rows
    failures: list[Failure]
