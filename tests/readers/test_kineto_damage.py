"""Damaged and cut Kineto traces: what survives, what is told, and that a lost event makes the trace PARTIAL."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kineto_damages import DAMAGES
from kineto_texts import codes, document, kernel, names, read_bytes
from trace_budget.errors import InputError

GOOD = [kernel(f"k{index}", 1_000 + 10 * index, 5.125, correlation=index) for index in range(200)]
NAMES = [str(event["name"]) for event in GOOD]


def told(data: bytes, folder: Path, name: str = "t.json") -> tuple[dict[str, int], bool, int]:
    """The caveats about the file, whether the trace is complete, and how many operations it has."""
    trace = read_bytes(folder, data, name=name)
    file_codes = ("partial_file", "damaged_events_repaired", "damaged_events_dropped", "several_documents")
    return (
        {code: count for code, count in codes(trace).items() if code in file_codes},
        trace.complete,
        trace.gpu_ops.height,
    )


@pytest.mark.parametrize("case", DAMAGES)
def test_one_damaged_event_among_two_hundred(tmp_path: Path, case: str) -> None:
    damage = DAMAGES[case]
    data = document([*GOOD[:77], damage.text("kineto"), *GOOD[77:]])
    trace = read_bytes(tmp_path, data)
    found = names(trace)
    assert [name for name in found if name in NAMES] == NAMES
    safe = None if damage.name is None else "".join("?" if ord(char) < 32 else char for char in damage.name)
    assert [name for name in found if name not in NAMES] == ([safe] if safe else [])
    code = "damaged_events_repaired" if safe else "damaged_events_dropped"
    (caveat,) = (caveat for caveat in trace.caveats if caveat.code.startswith("damaged"))
    assert (caveat.code, caveat.count) == (code, 1)
    offset = int(caveat.example.removeprefix("first at byte ").removesuffix(" of the plain text"))
    assert data[offset:].startswith(damage.text("kineto").strip().encode())
    assert trace.complete == (safe is not None)


def test_a_duration_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    trace = read_bytes(tmp_path, document([*GOOD, DAMAGES["nan_duration"].text("kineto")]))
    row = trace.gpu_ops.row(0, named=True)
    assert (row["name"], row["start_ns"], row["end_ns"]) == ("bad", 500_000, None)
    assert codes(trace)["bad_duration"] == 1


def test_bytes_that_are_not_utf8_become_replacement_characters(tmp_path: Path) -> None:
    data = document([*GOOD, kernel("caf@", 1, 2)]).replace(b"caf@", b"caf\xe9")
    trace = read_bytes(tmp_path, data)
    assert names(trace)[0] == "caf\ufffd"
    assert codes(trace)["replacement_characters"] == 1
    assert trace.complete


def test_terminal_escapes_in_names_are_neutralised(tmp_path: Path) -> None:
    trace = read_bytes(tmp_path, document([kernel("\\u001b]0;owned\\u0007", 1, 2)]).replace(b"\\\\u", b"\\u"))
    assert names(trace) == ["?]0;owned?"]


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_a_cut_file_keeps_every_complete_event(tmp_path: Path, keep: float) -> None:
    data = document(GOOD)
    cut = data[: int(len(data) * keep)]
    complete = cut.count(b"\n  }, ") + cut.endswith(b"\n  }")
    assert told(cut, tmp_path) == ({"partial_file": 1}, False, complete)


def test_a_cut_gzip_stream_keeps_what_it_still_gives(tmp_path: Path) -> None:
    packed = gzip.compress(document(GOOD))
    caveats, complete, count = told(packed[: len(packed) * 3 // 4], tmp_path, "t.json.gz")
    assert (caveats, complete) == ({"partial_file": 1}, False)
    assert 100 < count < 200


def test_a_wrong_gzip_checksum_makes_the_trace_partial(tmp_path: Path) -> None:
    packed = gzip.compress(document(GOOD))
    assert told(packed[:-8] + b"\0" * 8, tmp_path) == ({"partial_file": 1}, False, 200)


def test_one_document_in_two_gzip_members_is_whole(tmp_path: Path) -> None:
    data = document(GOOD)
    packed = gzip.compress(data[:5_000]) + gzip.compress(data[5_000:])
    assert told(packed, tmp_path) == ({}, True, 200)


def test_two_ranks_in_one_gzip_file_are_not_mixed(tmp_path: Path) -> None:
    packed = gzip.compress(document(GOOD)) + gzip.compress(document(GOOD[:50]))
    assert told(packed, tmp_path) == ({"several_documents": 1}, False, 200)


def test_metadata_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    data = document(GOOD, {"INFO": "x", "baseTimeNanoseconds": 5}).replace(b'"x"', b'"x')
    assert codes(read_bytes(tmp_path, data))["damaged_metadata"] == 1


@pytest.mark.parametrize(
    "data", [b'{"schemaVersion": 1, "traceEvents": []}', b"[]", b'{"traceEvents": [{"ph": "X"', b"[\n"]
)
def test_no_event_is_no_trace(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="no complete event"):
        read_bytes(tmp_path, data)


@pytest.mark.parametrize("opening", [b"[", b'{"traceEvents": [{"args": ', b'{"traceEvents": [{"ph": "X"}], "x": '])
def test_a_million_nested_brackets_are_refused(tmp_path: Path, opening: bytes) -> None:
    with pytest.raises(InputError, match="nested too deep"):
        read_bytes(tmp_path, opening + b"[" * 1_000_000)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACE_BUDGET_INFLATE_LIMIT", "1000000")
    with pytest.raises(InputError, match="inflates too far"):
        read_bytes(tmp_path, gzip.compress(document(GOOD) + b" " * 2_000_000))
