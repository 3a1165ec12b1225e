"""Generated small traces: every reading equals a second, plain parse, whatever the layout, order and segment size."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kineto_by_json import rows_of
from kineto_texts import LAYOUTS, ORDERS, Digits, document, read_bytes

NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
TIME = st.tuples(st.integers(0, 10**15), st.integers(0, 999)).map(lambda parts: Digits(f"{parts[0]}.{parts[1]:03d}"))
LENGTH = st.tuples(st.integers(1, 10**6), st.integers(0, 999)).map(lambda parts: Digits(f"{parts[0]}.{parts[1]:03d}"))
SIZE = st.integers(1, 2**31 - 1)
SHAPE = st.lists(SIZE, min_size=3, max_size=3)
SMALL = st.integers(0, 7)
ID = st.integers(0, 2**63 - 1)
NOISE = st.dictionaries(
    NAME, st.recursive(st.none() | st.booleans() | st.integers() | NAME, lambda x: st.lists(x, max_size=3))
)


CATEGORIES = (
    *("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation", "gpu_user_annotation"),
    *("python_function", "cpu_op", "cuda_sync", "ac2g", "Trace", "overhead"),
)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """One event of any kind, with arguments nobody asks for."""
    category = draw(st.sampled_from(CATEGORIES))
    args = {key: value for key, value in draw(NOISE).items() if key not in ("grid", "block", "bytes")}
    args |= {"device": draw(SMALL), "stream": draw(SMALL | ID), "correlation": draw(SMALL | ID)}
    if category == "kernel" and draw(st.booleans()):
        args |= {"grid": draw(SHAPE), "block": draw(SHAPE), "graph node id": draw(ID)}
    if category.startswith("gpu_mem"):
        args["bytes"] = draw(ID)
    if category == "cuda_sync":
        args |= {
            "wait_on_stream": draw(st.integers(-1, 9)),
            "wait_on_cuda_event_record_corr_id": draw(st.integers(-1, 9)),
        }
        name = draw(st.sampled_from(["Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event"]))
    else:
        name = draw(st.sampled_from(["", "nn.Module: "])) + draw(NAME.filter(lambda text: not text.startswith("nn.M")))
    ids = {"pid": draw(SMALL), "tid": draw(SMALL | ID)}
    event = {"ph": "X", "cat": category, "name": name, **ids, "ts": draw(TIME), "dur": draw(LENGTH), "args": args}
    keys = draw(st.permutations(list(event)))
    return {key: event[key] for key in keys}


DECOYS = {
    "INFO": {"traceEvents": [{"ph": "X", "cat": "kernel"}]},
    "note": '"traceEvents": [{',
    "list": [{"a": 1}, {"b": [2]}],
}


@settings(deadline=None)
@given(
    st.lists(events(), min_size=1, max_size=12),
    st.sampled_from(LAYOUTS),
    st.sampled_from(ORDERS),
    st.sampled_from([40, 300, 4 << 20]),
    st.none() | st.integers(-(10**18), 10**18),
)
def test_every_column_equals_a_plain_parse(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[dict[str, Any]],
    layout: str,
    order: str,
    segment_bytes: int,
    base: int | None,
) -> None:
    meta = {**DECOYS, **({} if base is None else {"baseTimeNanoseconds": base})}
    data = document(drawn, meta, layout, order)
    trace = read_bytes(tmp_path_factory.mktemp("trace"), data, segment_bytes)
    assert (trace.events, trace.complete) == (len(drawn), True)
    for table, rows in rows_of(json.loads(data, parse_float=Decimal)).items():
        frame = getattr(trace, table)
        assert frame.height == len(rows), table
        for column in rows[0] if rows else ():
            assert frame[column].to_list() == [row[column] for row in rows], (table, column)
