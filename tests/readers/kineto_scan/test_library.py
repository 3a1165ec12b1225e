"""The accelerator's library: built where it can be, absent and switched off without harm, declining what is hostile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kineto_both import needs_library, reading
from kineto_texts import call, document, kernel
from trace_budget.__main__ import main
from trace_budget.readers.kineto.scan import COLUMNS, KINDS, SWITCH, UNKNOWN, Scanner, built_library, find_scanner
from trace_budget.schema.trace import Trace

HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))


@pytest.fixture
def scanner() -> Scanner:
    found = find_scanner()
    assert found is not None
    return found


def engine_of(tmp_path: Path, data: bytes, accelerated: bool = True) -> str | None:
    path = tmp_path / "t.json"
    path.write_bytes(data)
    trace = reading(path, 4 << 20, accelerated)
    assert isinstance(trace, Trace)
    return trace.engine


@pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler")
def test_it_is_built_wherever_there_is_a_compiler() -> None:
    assert built_library() is not None, "install again: pip install -e ."
    assert find_scanner() is not None


@needs_library
def test_the_trace_says_which_engine_read_it(tmp_path: Path) -> None:
    data = document([kernel("k", 1, 2), call("cudaLaunchKernel", 0, 1)])
    assert engine_of(tmp_path, data) == "c"
    assert engine_of(tmp_path, data, accelerated=False) == "msgspec"
    damaged = data.replace(b'"k"', b'"a "b""')
    assert engine_of(tmp_path, damaged) == "msgspec"


@needs_library
@pytest.mark.parametrize(("off", "engine"), [("", "c"), ("1", "msgspec")])
def test_the_engine_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], off: str, engine: str
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(document([kernel("k", 1, 2), call("cudaLaunchKernel", 0, 1)]))
    monkeypatch.setenv(SWITCH, off)
    assert main(["check", str(path), "-v", "--no-cache", "--format", "json"]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["trace"]["engine"] == engine
    assert told.err.splitlines()[0].endswith(f", engine {engine}")


@pytest.mark.parametrize(("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False)])
@needs_library
def test_the_switch(monkeypatch: pytest.MonkeyPatch, value: str, off: bool) -> None:
    monkeypatch.setenv(SWITCH, value)
    assert (find_scanner() is None) == off


def test_a_library_that_is_none_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(b"\x7fELF, but not really")
    assert find_scanner(path) is None
    assert find_scanner(tmp_path / "missing.so") is None


@needs_library
def test_plain_events_become_rows_and_others_are_left(scanner: Scanner) -> None:
    text = bytearray(
        b'[{"ph":"X","cat":"kernel","name":"k","ts":1.0005,"dur":-2,"pid":3,"tid":4,"args":{"grid":[1,2,3]}},'
        b'{"ph":"X","cat":"cpu_op","name":"aten::mm"},7,{"ph":"X","cat":"cuda_runtime","name":"c","ts":"5"}]'
    )
    found = scanner(text)
    assert found is not None
    assert (found.elements, found.stop, found.kinds_seen) == (4, len(text), False)
    (row,) = (dict(zip(COLUMNS, row, strict=True)) for row in found.rows.tolist())
    assert (KINDS[row["kind"]], row["ts_ns"], row["dur_ns"], row["pid"], row["tid"]) == ("kernel", 1_001, -2_000, 3, 4)
    assert (row["ordinal"], row["stream"]) == (0, UNKNOWN)
    assert [found.texts[row[column]] for column in ("code", "grid", "block")] == [b'"k"', b"[1,2,3]", b"null"]
    assert found.odd_ordinals.tolist() == [2, 3]
    assert [None if event is None else bytes(event.ts) for event in found.odd] == [None, b'"5"']


@needs_library
@pytest.mark.parametrize(
    ("text", "stop"),
    [(b"[]", 2), (b"[ ] ", 4), (b'[{}],"a":1}]', 4), (b"[{},{}]  ]", 7), (b"[1]x", 3), (b"[{}]\n\t ", 7)],
)
def test_where_the_array_ends(scanner: Scanner, text: bytes, stop: int) -> None:
    found = scanner(bytearray(text))
    assert found is not None
    assert found.stop == stop


@needs_library
@pytest.mark.parametrize(
    "text",
    [
        *(
            b"",
            b"[",
            b"{}",
            b"[{]",
            b"[{}",
            b"[,]",
            b"[{},]",
            b"[{}{}]",
            b'[{"a":1,}]',
            b'[{"a" 1}]',
            b"[{1:2}]",
            b"[01]",
        ),
        *(b"[1.]", b"[.5]", b"[1e]", b"[-]", b"[+1]", b"[NaN]", b"[tru]", b"[nulls]", b"['a']", b'["a]', b'["\x1f"]'),
        *(b'["\\x"]', b'["\\u12g4"]', b'["\\ud800"]', b'["\\udc00"]', b'["\\ud800\\u0041"]', b'["\\', b"[\0]"),
        *(b"[" * 200 + b"]" * 200, b'[{"a":' * 200, b'[{"cat":"\xff"}]', b'[{"cat":"\xff","cat":"kernel"}]'),
        b"[" + b",".join(b"7" for _ in range(1_000)) + b"]",
    ],
)
def test_what_it_declines(scanner: Scanner, text: bytes) -> None:
    assert scanner(bytearray(text)) is None


@needs_library
def test_tables_are_used_again_and_hold_nothing_of_before(scanner: Scanner) -> None:
    large = bytearray(b"[" + b",".join(b'{"ph":"X","cat":"kernel","name":"k%d"}' % n for n in range(900)) + b"]")
    small = bytearray(b'[{"ph":"X","cat":"kernel","name":"k5"},{"ph":"X","cat":"kernel","name":"k5"}]')
    for text, names in ((large, 900), (small, 1), (large, 900)):
        found = scanner(text)
        assert found is not None
        assert len(set(found.rows[:, COLUMNS.index("code")].tolist())) == len(found.texts) - 1 == names
