"""Coverage-guided runs with atheris over the parsers: `python -m tests.fuzz.coverage_guided json -max_total_time=150`.

Atheris is no dependency of the tests: install it (`pip install atheris`) where this is run. Words after the parser's
name go to libFuzzer; the inputs it starts from are the samples. Every exception but the one-line refusals is a fault.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import atheris

from .packing import plain
from .samples import CSV, JSON, PROTOBUF, SAMPLES, SQLITE, files_of

if TYPE_CHECKING:
    from trace_budget.errors import TraceBudgetError

_SUFFIX = {JSON: ".json", CSV: ".csv", SQLITE: ".db", PROTOBUF: ".pftrace"}
_FAMILIES = (JSON, CSV, SQLITE, PROTOBUF)
_LONGEST_BYTES = 1 << 13
_PIECES = (777, 1 << 22)


def main() -> None:
    """Fuzz one family until libFuzzer stops."""
    family = sys.argv[1] if len(sys.argv) > 1 else ""
    if family not in _FAMILIES:
        sys.exit(f"name one of {', '.join(_FAMILIES)} first")
    with atheris.instrument_imports(include=["trace_budget"]):
        from trace_budget.errors import TraceBudgetError

        for name in {sample.format for sample in SAMPLES}:
            __import__(f"trace_budget.readers.{name}")
    with tempfile.TemporaryDirectory(prefix="atheris-") as folder:
        seeds = Path(folder, "seeds")
        seeds.mkdir()
        small = [sample for sample in SAMPLES if sample.weight >= 1 or sample.family == PROTOBUF]
        for sample in (sample for sample in small if sample.family == family):
            own = Path(sample.name).name
            (seeds / sample.name.replace("/", "_")).write_bytes(plain(files_of(sample)[own]))
        path = Path(folder, f"input{_SUFFIX[family]}")
        makers = {PROTOBUF: lambda *_: _packets, JSON: _streams}
        once = makers.get(family, _reading)(path, TraceBudgetError)
        atheris.Setup([sys.argv[0], f"-max_len={_LONGEST_BYTES}", "-timeout=30", *sys.argv[2:], str(seeds)], once)
        atheris.Fuzz()


def _reading(path: Path, refusal: type[TraceBudgetError]) -> Callable[[bytes], None]:
    """Reads the bytes as a file, as `open_trace` does."""
    from trace_budget import api
    from trace_budget.schema.check import checked

    from . import laws

    def once(data: bytes) -> None:
        path.write_bytes(data)
        try:
            trace = api.open_trace(path)
        except refusal as error:
            if "\n" in error.line():
                raise AssertionError(error.line()) from None
            return
        laws.of_trace(checked(trace))

    return once


def _streams(path: Path, refusal: type[TraceBudgetError]) -> Callable[[bytes], None]:
    """Cuts and mends the bytes as every JSON reader does; whole documents give the same at every size of pieces."""
    from trace_budget.io.inflate import PlainStream
    from trace_budget.io.json.parts import PartStream
    from trace_budget.io.json.stream import ObjectStream
    from trace_budget.readers.kineto.kineto import events as kineto_events
    from trace_budget.readers.rocprof import rocprofv3_records

    def objects(plain: PlainStream, piece: int) -> tuple[int, bool]:
        stream: Any = ObjectStream(plain, "traceEvents", kineto_events.decode, piece)
        count = sum(map(len, stream))
        return count, stream.ended and stream.damage.first_offset is None

    def parts(plain: PlainStream, piece: int) -> tuple[int, bool]:
        stream = PartStream(plain, rocprofv3_records.decoders(), piece)
        count = sum(len(found) for _, found in stream)
        return count, stream.complete and stream.damage.first_offset is None

    def read(how: Callable[[PlainStream, int], tuple[int, bool]], piece: int) -> tuple[int, bool]:
        try:
            with PlainStream(path) as plain:
                return how(plain, piece)
        except refusal:
            return -1, False

    def once(data: bytes) -> None:
        path.write_bytes(data)
        for how in (objects, parts):
            found = [read(how, piece) for piece in _PIECES]
            assert len(set(found)) == 1 or not all(sound for _, sound in found), found

    return once


def _packets(data: bytes) -> None:
    """Follows the packets as a whole and piece by piece: the answer must be the same."""
    from trace_budget.io.perfetto.packets import PacketCheck, PacketScan, starts_with_packets

    for follow in (PacketScan, PacketCheck):
        whole, pieces = follow(), follow()
        whole.feed(data)
        for at in range(0, len(data), 7):
            pieces.feed(data[at : at + 7])
        assert whole.damage == pieces.damage
    starts_with_packets(data)


if __name__ == "__main__":
    main()
