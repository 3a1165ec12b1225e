"""How many kernels the content of an input holds, by other means than the readers: json, csv, SQL, Arrow, protobuf."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from . import count_csv, count_json, count_xplane
from .count_json import NotStrictError

_NO_WORK = "('Barrier', 'Marker', 'InternalMarker')"


def kernels(format_name: str, path: Path) -> int:
    """Kernels of a file or folder of tables; NotStrictError where the content is not what its format promises."""
    if format_name == "nsys_parquetdir":
        return int(_parquet(path / "CUPTI_ACTIVITY_KIND_KERNEL.parquet").num_rows)
    if format_name == "ingested":
        return int(_parquet(path / "gpu_ops.parquet").column("kind").to_pylist().count("kernel"))
    data = _plain(path.read_bytes())
    if data.startswith(b"SQLite format 3\0"):
        return _in_database(format_name, data)
    if format_name == "xplane":
        return count_xplane.events_of_streams(data)
    if format_name == "perfetto":
        return _begun_slices(data)
    return (count_json.COUNTS | count_csv.COUNTS)[format_name](data)


def _plain(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise NotStrictError(str(error)) from None


def _in_database(format_name: str, data: bytes) -> int:
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.deserialize(data)
            db.execute("PRAGMA cell_size_check=ON")
            db.text_factory = bytes
            names = [name.decode() for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return sum(db.execute(sql).fetchone()[0] for sql in _queries(db, format_name, names))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise NotStrictError(str(error)) from None


def _queries(db: sqlite3.Connection, format_name: str, names: list[str]) -> list[str]:
    if format_name == "rpd":
        text = "(SELECT string FROM rocpd_string s WHERE s.id = o.opType_id)"
        name = "(SELECT string FROM rocpd_string s WHERE s.id = o.description_id)"
        no_kernel = f"{text} IN {_NO_WORK} OR substr({text}, 1, 4) IN ('Copy', 'Fill', 'Memc', 'MEMO')"
        no_kernel += f" OR {name} = 'SDMA' OR {name} GLOB 'Copy*To*'"
        return [f"SELECT count(*) FROM rocpd_op o NOT INDEXED WHERE coalesce({no_kernel}, 0) = 0"]  # noqa: S608
    if format_name == "rocprof_v1_db":
        return [_of_rocprof_v1(db, names)]
    starts = {"rocpd": "rocpd_kernel_dispatch", "nsys_sqlite": "CUPTI_ACTIVITY_KIND_KERNEL", "hipprof_db": "HIPOPS_"}
    tables = [name.replace('"', '""') for name in names if name.startswith(starts[format_name])]
    return [f'SELECT count(*) FROM "{table}" NOT INDEXED' for table in tables]  # noqa: S608


def _of_rocprof_v1(db: sqlite3.Connection, names: list[str]) -> str:
    """Dispatches of KERN, and those that OPS alone holds, where both are tables (views are not read) and compare."""
    alone = "SELECT count(*) FROM OPS NOT INDEXED WHERE coalesce(Name, '') <> '<barrier packet>'"
    if "KERN" not in names:
        return alone
    kern = "SELECT count(*) FROM KERN NOT INDEXED"
    if "OPS" not in names:
        return kern
    columns = {table: {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")} for table in ("KERN", "OPS")}
    pairs = {b"BeginNs": b"BeginNs", b"EndNs": b"EndNs", b"gpu-id": b"dev-id", b"queue-id": b"queue-id"}
    if not (pairs.keys() <= columns["KERN"] and set(pairs.values()) <= columns["OPS"]):
        return kern
    same = " AND ".join(f'k."{kern_.decode()}" = OPS."{ops.decode()}"' for kern_, ops in pairs.items())
    return f"SELECT ({kern}) + ({alone} AND NOT EXISTS (SELECT 1 FROM KERN k WHERE {same}))"  # noqa: S608


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(io.BytesIO(path.read_bytes()))
    except (pa.ArrowException, OSError) as error:
        raise NotStrictError(str(error)) from None


def _begun_slices(data: bytes) -> int:
    """Slices that begin on any track: no count of kernels, but one that changes with it."""
    from google.protobuf.message import DecodeError
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    try:
        packets = Trace.FromString(data).packet
    except DecodeError as error:
        raise NotStrictError(str(error)) from None
    return sum(1 for packet in packets if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN)
