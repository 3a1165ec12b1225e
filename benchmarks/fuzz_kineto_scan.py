"""Fuzzes the C scanner of Kineto events under ASan and UBSan, and compares it with the pure Python path.

    python benchmarks/fuzz_kineto_scan.py [--inputs 100000] [--seed 0] [--scalar]

Every input lies in memory of exactly its size, and so does every table. What the scanner accepts must be accepted by
the pure path; every 64 accepted inputs are joined, and all columns of all tables must be equal.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import msgspec
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from kineto_mutants import segment  # noqa: E402
from trace_budget.readers.kineto.collector import Collector  # noqa: E402
from trace_budget.readers.kineto.events import decode  # noqa: E402
from trace_budget.readers.kineto.scan import COLUMNS, Scanner, find_scanner  # noqa: E402

SOURCE = ROOT / "src/trace_budget/readers/kineto/scan.c"
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
WIDTHS = (8 * len(COLUMNS), 24, 16, 4)
WHOLE, CLOSED_EARLY, DECLINED = range(3)
JOINED = 64


class UnequalError(Exception):
    """Both ways of reading differ: in what, and on which text."""


class ExactMemory:
    """Calls the scanner with blocks of the C library, which ASan guards on both sides."""

    def __init__(self, library: Path) -> None:
        self.c = ctypes.CDLL(None)
        self.c.malloc.restype = ctypes.c_void_p
        self.scan = ctypes.CDLL(str(library)).trace_budget_scan_kineto

    def __call__(self, text: bytes, rooms: tuple[int, ...]) -> list[int]:
        """What the scanner tells of a text when its tables have these rooms."""
        sizes = (len(text), *(room * width for room, width in zip(rooms, WIDTHS, strict=True)), 7 * 8)
        blocks = [ctypes.c_void_p(self.c.malloc(ctypes.c_size_t(size))) for size in sizes]
        ctypes.memmove(blocks[0], text, len(text))
        tables = [
            part for block, room in zip(blocks[1:], rooms, strict=False) for part in (block, ctypes.c_size_t(room))
        ]
        self.scan(blocks[0], ctypes.c_size_t(len(text)), *tables, blocks[-1])
        told = list((ctypes.c_int64 * 7).from_address(blocks[-1].value or 0))
        for block in blocks:
            self.c.free(block)
        return told


def pure(text: bytes) -> tuple[int, int]:
    """What the pure path says: state and number of elements; a closed array is read up to its bracket."""
    try:
        return WHOLE, len(decode(memoryview(text)))
    except msgspec.DecodeError as error:
        if "trailing characters" not in str(error):
            return DECLINED, 0
        place = int(str(error).rpartition("byte ")[2].rstrip(")"))
        return CLOSED_EARLY, len(decode(memoryview(text[: text.rfind(b"]", 0, place - 1) + 1])))
    except RecursionError:
        return DECLINED, 0


def compare(texts: list[bytes], scanner: Scanner) -> int:
    """Join the elements of accepted texts and compare every column; how many events were kept."""
    whole = b"[" + b",".join(inner for text in texts if (inner := text.strip()[1:-1]).strip()) + b"]"
    expected, found = Collector(), Collector()
    expected.add(decode(memoryview(whole)))
    scanned = scanner(bytearray(whole))
    if scanned is None:
        raise UnequalError("declined", whole)
    found.add(scanned)
    frames = (expected.frames(), found.frames())
    for table in ("ops", "calls", "markers", "syncs"):
        one, other = (getattr(frame, table) for frame in frames)
        if one.schema != other.schema or not one.equals(other):
            raise UnequalError(table, whole)
    for fact in ("events", "lost_numbers", "unreadable_arguments", "dispatch_kinds", "pid_texts"):
        if getattr(expected, fact) != getattr(found, fact):
            raise UnequalError(fact, whole)
    return sum(getattr(frames[0], table).height for table in ("ops", "calls", "markers", "syncs"))


def fuzz(library: Path, inputs: int, seed: int) -> None:
    """The loop, in the process that has the sanitizers loaded."""
    random, exact, scanner = Random(seed), ExactMemory(library), find_scanner(library)
    if scanner is None:
        raise FileNotFoundError(library)
    states, rows, begun = [0, 0, 0], 0, time.monotonic()
    accepted: list[bytes] = []
    for number in range(inputs):
        text = segment(random)
        roomy = exact(text, (64, 64, 64, 128))
        exact(text, (random.randrange(4), random.randrange(3), random.randrange(6), 1 << random.randrange(4)))
        states[roomy[0]] += 1
        if roomy[0] != DECLINED and scanner(bytearray(text)) is not None:
            if pure(text) != (roomy[0], roomy[1]):
                raise UnequalError("state or number of events", text)
            accepted.append(text[: roomy[5]])
        if len(accepted) >= JOINED or number == inputs - 1:
            rows += compare(accepted, scanner)
            accepted.clear()
    whole, early, declined = states
    print(
        f"{library.stem}, seed {seed}: {inputs} inputs, {whole} whole, {early} closed early, {declined} declined;"
        f" {rows} rows equal; {time.monotonic() - begun:.0f} s; polars {pl.__version__}"
    )


def build(folder: Path, scalar: bool) -> Path:
    """The scanner with the sanitizers in it."""
    library = folder / ("scalar.so" if scalar else "simd.so")
    how = ("-DTRACE_BUDGET_SCALAR",) if scalar else ()
    subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", *SANITIZE, *how, str(SOURCE), "-o", library], check=True)
    return library


def main() -> None:
    """Build, then run the loop in a process with ASan loaded first."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--inputs", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--scalar", action="store_true")
    arguments.add_argument("--built", type=Path, help=argparse.SUPPRESS)
    told = arguments.parse_args()
    if told.built:
        fuzz(told.built, told.inputs, told.seed)
        return
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder), told.scalar)
        options = {
            "LD_PRELOAD": runtime.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        again = ["--inputs", str(told.inputs), "--seed", str(told.seed), "--built", str(library)]
        command = [sys.executable, __file__, *again]
        sys.exit(subprocess.run(command, check=False, env={**os.environ, **options}).returncode)


if __name__ == "__main__":
    main()
