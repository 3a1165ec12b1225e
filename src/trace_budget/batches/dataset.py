"""The dataset of a batch: one small Parquet file per table and trace, in Hive partitions, put there once.

`table=T/question=Q/TRACE.parquet`: T a declared table, Q the key of the question, TRACE the key of the trace. The file
in `runs` (or in `failures`) is put last, so it says that the others are complete; a trace that lacks one is done again.
Names follow from content, so a second run over the same traces puts the same files, and appending touches nothing but
labels of jobs and failures.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from trace_budget._version import VERSION
from trace_budget.batches.question import Question
from trace_budget.errors import InputError, OutputError
from trace_budget.io.store import Store
from trace_budget.schema.dataset import DATASET_TABLES, DATASET_VERSION, FAILURES, PROJECTIONS, RUNS
from trace_budget.schema.tables import TableSpec

if TYPE_CHECKING:
    import polars as pl

SUFFIX = ".parquet"
AGAIN = ".again"
_FILES_AT_ONCE = 256
SPECS = {spec.name: spec for spec in DATASET_TABLES}


def folder_of(table: str, question_key: str) -> str:
    """The partition of a table that holds the answers to one question."""
    return f"table={table}/question={question_key}"


def encoded(spec: TableSpec, frame: pl.DataFrame, question: Question) -> bytes:
    """A table as Parquet (zstd); its metadata names table, schema version, program and question."""
    facts = {
        "trace_budget.table": spec.name,
        "trace_budget.dataset": str(DATASET_VERSION),
        "trace_budget.version": VERSION,
        "trace_budget.question": question.text(),
    }
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata=facts)
    return buffer.getvalue()


def failure_name(trace_id: str | None, path: str, again: bool) -> str:
    """The name of a failure's file; `again` marks what may end otherwise when tried again."""
    key = hashlib.blake2b(os.fsencode(f"{trace_id} {path}"), digest_size=16).hexdigest()  # names need not be UTF-8
    return f"{key}{AGAIN if again else ''}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The answers to one question in a store."""

    store: Store
    question: Question

    def put(self, trace_id: str, tables: Mapping[str, pl.DataFrame]) -> None:
        """Put the tables of one trace, `runs` last."""
        key = self.question.key()
        frames = [(name, tables[name]) for name in (*self.tables(), RUNS.name) if name in tables]
        self.store.put(
            [
                (f"{folder_of(name, key)}/{trace_id}{SUFFIX}", encoded(SPECS[name], frame, self.question))
                for name, frame in frames
            ]
        )

    def put_failure(self, name: str, frame: pl.DataFrame) -> None:
        """Put the row of one failure under its `failure_name`."""
        folder = folder_of(FAILURES.name, self.question.key())
        self.store.put([(f"{folder}/{name}", encoded(FAILURES, frame, self.question))])

    def remove_failure(self, name: str) -> None:
        """Remove a failure that is none any more."""
        self.store.remove(f"{folder_of(FAILURES.name, self.question.key())}/{name}")

    def failed_paths(self, stems: Iterable[str]) -> dict[str, str]:
        """The path in each of these files of failures; one that another run removed meanwhile is passed over."""
        found: dict[str, str] = {}
        for stem in sorted(stems):
            name = f"{folder_of(FAILURES.name, self.question.key())}/{stem}{SUFFIX}"
            if self.store.has(name):
                found[stem] = joined(self.store, FAILURES, [name])["path"][0]
        return found

    def relabel(self, trace_id: str, job: str) -> None:
        """Put the row of a finished trace again, as a rank of another job."""
        import polars as pl

        row = self.frame(RUNS.name, [trace_id]).with_columns(pl.lit(job).alias("job"))
        self.put(trace_id, {RUNS.name: row})

    def tables(self) -> tuple[str, ...]:
        """The tables that hold a file for every finished trace, beside `runs`."""
        asked = bool(self.question.candidates)
        apart = (RUNS.name, FAILURES.name, *(() if asked else (PROJECTIONS.name,)))
        return tuple(name for name in SPECS if name not in apart)

    def has_run(self, trace_id: str) -> bool:
        """Whether a trace is finished, with all its tables there."""
        key, file = self.question.key(), f"{trace_id}{SUFFIX}"
        return all(self.store.has(f"{folder_of(name, key)}/{file}") for name in (RUNS.name, *self.tables()))

    def finished(self) -> frozenset[str]:
        """The keys of the traces whose tables are all there."""
        return self.stems(RUNS.name).intersection(*map(self.stems, self.tables()))

    def begun(self) -> dict[str, frozenset[str]]:
        """Which tables hold a file for each key, whether all of them do or not."""
        stems = {name: self.stems(name) for name in (RUNS.name, *self.tables())}
        keys = frozenset().union(*stems.values())
        return {key: frozenset(name for name, known in stems.items() if key in known) for key in keys}

    def stems(self, table: str) -> frozenset[str]:
        """The keys under which a table has files."""
        found = self.store.names(folder_of(table, self.question.key()))
        return frozenset(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX))

    def frame(self, table: str, stems: Iterable[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows of a table in the files of these keys, in order of the keys. Raises InputError for one without."""
        kept = (RUNS.name, FAILURES.name, *self.tables())
        folder = folder_of(table, self.question.key())
        names = [f"{folder}/{stem}{SUFFIX}" for stem in sorted(set(stems))] if table in kept else []
        return joined(self.store, SPECS[table], names, columns)

    def known_frame(self, table: str, stems: Iterable[str], columns: Sequence[str]) -> pl.DataFrame:
        """Some columns of it; keys without a file are passed over."""
        return self.frame(table, self.stems(table).intersection(stems), columns)


def joined(store: Store, spec: TableSpec, names: Sequence[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of many small files of one table, or some of its columns, read some hundred files at a time.

    Raises InputError naming the first that cannot be read.
    """
    import polars as pl

    wanted = list(spec.column_names() if columns is None else columns)
    frames = [spec.empty().select(wanted)]
    left = iter(names)
    while chunk := list(islice(left, _FILES_AT_ONCE)):
        try:
            found = pl.read_parquet(store.read_all(chunk), columns=wanted, hive_partitioning=False)
        except (pl.exceptions.PolarsError, FileNotFoundError):
            raise _unread(store, chunk) from None
        frames.append(found)
    return pl.concat(frames)


def _unread(store: Store, names: Sequence[str]) -> InputError | OutputError:
    """What to say of files that cannot be read together: which is the first that cannot be read at all, and why."""
    import polars as pl

    advice = "Remove the files of this name in all tables: the next run does its trace again."
    for name in names:
        if not store.has(name):
            return OutputError("the dataset lost a file while it was read", where=f"{store.address}/{name}")
        try:
            pl.read_parquet(io.BytesIO(store.read(name)), hive_partitioning=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            return InputError("cannot be read", where=f"{store.address}/{name}", found=reason, advice=advice)
    return InputError("files of different kinds in one table", where=f"{store.address}/{names[0].rpartition('/')[0]}")
