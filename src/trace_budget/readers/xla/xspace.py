"""The messages of an XSpace, described here and built when they are needed: no generated code.

Source: openxla `tsl/profiler/protobuf/xplane.proto` (package tensorflow.profiler): the fields that are read, by number.
"""

from __future__ import annotations

from functools import cache
from typing import Any

# Types of descriptor.proto; texts are taken as bytes, since a damaged one must not cost the file.
_INT64, _UINT64, _TEXT, _MESSAGE = 3, 4, 12, 11
_MESSAGES: dict[str, tuple[tuple[str, int, int, str], ...]] = {
    "XStat": (
        ("metadata_id", 1, _INT64, ""),
        ("uint64_value", 3, _UINT64, ""),
        ("int64_value", 4, _INT64, ""),
        ("str_value", 5, _TEXT, ""),
        ("ref_value", 7, _UINT64, ""),
    ),
    "XEvent": (
        ("metadata_id", 1, _INT64, ""),
        ("offset_ps", 2, _INT64, ""),
        ("num_occurrences", 5, _INT64, ""),
        ("duration_ps", 3, _INT64, ""),
        ("stats", 4, _MESSAGE, "*XStat"),
    ),
    "XLine": (
        ("id", 1, _INT64, ""),
        ("name", 2, _TEXT, ""),
        ("display_name", 11, _TEXT, ""),
        ("timestamp_ns", 3, _INT64, ""),
        ("events", 4, _MESSAGE, "*XEvent"),
    ),
    "XMetadata": (("id", 1, _INT64, ""), ("name", 2, _TEXT, ""), ("display_name", 4, _TEXT, "")),
    "XEntry": (("key", 1, _INT64, ""), ("value", 2, _MESSAGE, "XMetadata")),
    "XPlane": (
        ("id", 1, _INT64, ""),
        ("name", 2, _TEXT, ""),
        ("lines", 3, _MESSAGE, "*XLine"),
        ("event_metadata", 4, _MESSAGE, "*XEntry"),
        ("stat_metadata", 5, _MESSAGE, "*XEntry"),
    ),
    "XSpace": (("planes", 1, _MESSAGE, "*XPlane"),),
}


@cache
def xspace_type() -> Any:
    """The class of the message XSpace."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="trace_budget/xspace.proto", package="trace_budget", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            label = 3 if of.startswith("*") else 1  # repeated, optional
            made = message.field.add(name=field, number=number, label=label, type=kind)
            if of:
                made.type_name = f".trace_budget.{of.removeprefix('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("trace_budget.XSpace"))
