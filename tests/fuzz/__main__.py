"""Long runs: `python -m tests.fuzz --count 100000 --seed 1` judges that many inputs and prints what it found."""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from .run import Tally, lines

_REPORT_EVERY = 1_000


def main() -> int:
    """Run, or repeat one input; 1 when there are faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", default="", metavar="FORMAT", help="mutate samples of one format alone")
    parser.add_argument("--faults", type=Path, help="append a JSON line for each fault to this file")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write input START to a folder")
    chosen = parser.parse_args()
    if chosen.write is not None:
        return _write(chosen)
    return _run(chosen)


def _write(chosen: argparse.Namespace) -> int:
    from .inputs import numbered

    given = numbered(chosen.seed, chosen.start, chosen.only)
    chosen.write.mkdir(parents=True, exist_ok=True)
    print(f"{given.write(chosen.write)}: {given.sample.name}, {given.mutated}: {', '.join(given.steps)}")
    return 0


def _run(chosen: argparse.Namespace) -> int:
    seed, start = chosen.seed, chosen.start
    tally, begun = Tally(), time.monotonic()
    for line in lines(seed, start, start + chosen.count, chosen.only):
        tally.add(line)
        if line["fault"]:
            told = json.dumps(line)
            print(told, flush=True)
            if chosen.faults is not None:
                with chosen.faults.open("a") as file:
                    file.write(told + "\n")
        if tally.inputs % _REPORT_EVERY == 0:
            print(
                f"{tally.inputs} inputs, {len(tally.faults)} faults, {time.monotonic() - begun:.0f} s", file=sys.stderr
            )
    print(summary(tally, seed, start))
    return 1 if tally.faults else 0


def summary(tally: Tally, seed: int, start: int) -> str:
    """A table by format, and what was slowest and largest."""
    rows = ["| format | inputs | answered | refused | faults |", "|---|---|---|---|---|"]
    formats = sorted({name for name, _ in tally.outcomes})
    for name in formats:
        answered, refused, failed = (tally.outcomes[name, what] for what in ("answered", "refused", "failed"))
        wrong = sum(1 for fault in tally.faults if fault["format"] == name)
        rows.append(f"| {name} | {answered + refused + failed} | {answered} | {refused} | {wrong} |")
    rows.append(f"| all | {tally.inputs} | | | {len(tally.faults)} |")
    (seconds, slow), (grown, large) = tally.slowest, tally.largest
    rows.append(
        f"\nseed {seed}, inputs {start} to {start + tally.inputs - 1}; exit codes of commands {dict(tally.codes)};"
    )
    rows.append(f"slowest {seconds:.2f} s (input {slow}), most memory {grown >> 20} MiB (input {large})")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
