"""Which constants and comparisons of the analyses no test would miss: each is changed, and its tests run.

    python benchmarks/mutation_check.py [--rooms analysis projection] [--only steps/select.py] [--kinds constant]
                                        [--limit 50] [--seed 0] [--jobs 2]

A mutant is a copy of the package in which one number of a named constant is halved or doubled, or one comparison takes
or leaves out equality, or turns round. The tests of the same room run on it and stop at the first failure; a mutant
that passes them all has survived. Survivors that change no figure (bounds of time and memory, ties) are no fault.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "trace_budget"
TURNED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
TESTS = {"analysis": ("tests/analysis", "tests/test_real_traces.py"), "projection": ("tests/projection",)}
LONGEST_S = 900


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the file (below the package), its line, the kind of change, what it was and what it is."""

    file: str
    line: int
    kind: str
    was: str
    now: str
    text: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of one file, in the order of its lines."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    name = str(path.relative_to(PACKAGE))
    for node in ast.walk(ast.parse(source)):
        for kind, part, now in (*_constants(node), *_comparisons(node, source)):
            start, stop = (
                _offset(lines, part.lineno, part.col_offset),
                _offset(lines, part.end_lineno, part.end_col_offset),
            )
            yield Mutant(name, part.lineno, kind, source[start:stop], now, source[:start] + now + source[stop:])


def _constants(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    """The numbers of `NAME = …` at module level, halved and doubled."""
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets):
        for part in ast.walk(node.value):
            if isinstance(part, ast.Constant) and type(part.value) in (int, float) and part.value:
                for times in (2, 0.5):
                    value = part.value * times
                    yield "constant", part, repr(int(value) if isinstance(part.value, int) and times == 2 else value)


def _comparisons(node: ast.AST, source: str) -> Iterator[tuple[str, ast.expr, str]]:
    """Simple comparisons with another operator."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
        left, right = ast.get_source_segment(source, node.left), ast.get_source_segment(source, node.comparators[0])
        for operator in TURNED[type(node.ops[0])]:
            word = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}[operator]
            yield "comparison", node, f"{left} {word} {right}"


def _offset(lines: list[str], line: int | None, column: int | None) -> int:
    """Where a place of the syntax tree lies in the text; columns of the tree count bytes."""
    number, width = line or 1, column or 0
    before = sum(len(text) for text in lines[: number - 1])
    return before + len(lines[number - 1].encode()[:width].decode())


def survives(mutant: Mutant) -> bool:
    """Whether all tests of the room pass on the mutant."""
    room = mutant.file.partition("/")[0]
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "trace_budget"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / mutant.file).write_text(mutant.text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS[room]]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="+", default=list(TESTS), choices=list(TESTS))
    parser.add_argument("--only", default="", help="a part of the file's path")
    parser.add_argument("--names", default="", help="constants of these names alone, separated by commas")
    parser.add_argument("--kinds", nargs="+", default=["constant", "comparison"])
    parser.add_argument("--limit", type=int, default=0, help="as many mutants, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    files = [path for room in asked.rooms for path in sorted((PACKAGE / room).rglob("*.py")) if asked.only in str(path)]
    mutants = [m for path in files for m in mutants_of(path) if m.kind in asked.kinds]
    if asked.names:
        names = asked.names.split(",")
        mutants = [m for m in mutants if any(name in m.text.splitlines()[m.line - 1] for name in names)]
    if asked.limit:
        mutants = random.Random(asked.seed).sample(mutants, min(asked.limit, len(mutants)))
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(asked.jobs) as pool:
        for mutant, alive in zip(mutants, pool.map(survives, mutants), strict=True):
            counts["survived" if alive else "killed"] += 1
            if alive:
                print(f"survived {mutant.file}:{mutant.line} {mutant.was} -> {mutant.now}", flush=True)
    print(f"{len(mutants)} mutants: {counts['killed']} killed, {counts['survived']} survived")


if __name__ == "__main__":
    main()
