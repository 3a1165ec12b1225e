"""Reading ahead on threads changes nothing: same objects, fields and damage, whatever the scanner takes or declines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from kineto_mutants import EVENTS, segment
from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.ahead import AheadStream
from trace_budget.io.json.stream import ObjectStream

DECODE = msgspec.json.Decoder(list[msgspec.Raw]).decode
TAILS = (b"", b"]", b"]}", b'],"m":[{"a":1},{"b":[2]},{"c":3}]}', b'],"x":{}}{"traceEvents":[{}]}', b"]}" + b" " * 300)
SIZES = (1, 40, 300, 2_000, 4 << 20)


@dataclass(frozen=True)
class Taken:
    """The objects a scanner took from a segment."""

    objects: list[msgspec.Raw]
    stop: int


class Moody:
    """A scanner that declines some segments; it takes the others as far as the array goes."""

    def __init__(self, declines: float) -> None:
        self.declines = declines
        self.calls = 0

    def __call__(self, buffer: bytearray) -> Taken | None:
        self.calls += 1
        if Random(bytes(buffer)).random() < self.declines:
            return None
        text = bytes(buffer)
        try:
            return Taken(DECODE(text), len(text))
        except msgspec.DecodeError as error:
            if "trailing characters" not in str(error):
                return None
            stop = text.rfind(b"]", 0, int(str(error).rpartition("byte ")[2].rstrip(")")) - 1) + 1
            return Taken(DECODE(text[:stop]), stop)


def read(path: Path, segment_bytes: int, scanner: Moody | None) -> dict[str, Any] | str:
    """Everything a stream tells, or the error it ends with."""
    with PlainStream(path) as plain:
        stream: AheadStream[msgspec.Raw, Taken] | ObjectStream[msgspec.Raw]
        found: list[bytes] = []
        try:
            if scanner is None:
                stream = ObjectStream(plain, "traceEvents", DECODE, segment_bytes)
                found += [bytes(item) for objects in stream for item in objects]
            else:
                stream = AheadStream(plain, "traceEvents", DECODE, segment_bytes)
                for batch in stream.batches(scanner):
                    found += [bytes(item) for item in (batch.objects if isinstance(batch, Taken) else batch)]
        except InputError as error:
            return str(error)
    fields = {key: bytes(raw) for key, raw in stream.fields.values.items()}
    facts = (stream.ended, stream.fields.closed, stream.fields.damaged, stream.fields.more)
    return {"found": found, "fields": fields, "facts": facts, "damage": stream.damage}


def mutated(random: Random) -> bytes:
    parts = [segment(random)[1:-1] for _ in range(random.randrange(1, 6))]
    parts += [random.choice(EVENTS) for _ in range(random.randrange(30))]
    random.shuffle(parts)
    head = random.choice(
        (b"[", b'{"a":1,"traceEvents":[', b'{"traceEvents":[', b'{"a":{"traceEvents":[{}]},"traceEvents" : [')
    )
    return head + random.choice((b",", b" ,\n")).join(part for part in parts if part.strip()) + random.choice(TAILS)


@pytest.mark.parametrize("seed", range(0, 300, 20))
def test_same_as_without_a_scanner(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "t.json"
    for number in range(seed, seed + 20):
        random = Random(number)
        path.write_bytes(mutated(random))
        for segment_bytes in random.sample(SIZES, 2):
            expected = read(path, segment_bytes, None)
            for declines in (0.0, 0.4, 1.0):
                assert read(path, segment_bytes, Moody(declines)) == expected


def test_the_scanner_is_given_every_segment(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents":[' + b",".join(b'{"n":%d}' % number for number in range(1_000)) + b"]}")
    scanner = Moody(0.0)
    found = read(path, 500, scanner)
    assert isinstance(found, dict)
    assert found["found"] == [b'{"n":%d}' % number for number in range(1_000)]
    assert scanner.calls > 15


def test_an_error_of_the_scanner_is_not_swallowed(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents":[{"a":1},{"a":2}]}')

    def broken(_: bytearray) -> Taken | None:
        raise ZeroDivisionError

    with PlainStream(path) as plain, pytest.raises(ZeroDivisionError):
        list(AheadStream(plain, "traceEvents", DECODE).batches(broken))
