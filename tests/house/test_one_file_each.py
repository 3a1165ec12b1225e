"""A format and a question, added to a copy of the project, take one source file and one word each."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from house.source_tree import ROOT

PACKAGE = Path("src/trace_budget")
READER = '''"""JSON Lines: one kernel a line, with name, start_ns and end_ns."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace


def _recognises(head: Head) -> bool:
    return head.data.startswith(b'{"jsonl_kernel"')


def _read(path: Path, options: ReadOptions) -> Trace:
    rows = pl.read_ndjson(path).rename({"jsonl_kernel": "name"})
    columns = rows.with_columns(
        build.names_from_text(rows["name"]).alias("name"), device=pl.lit(0), stream=pl.lit(0), kind=pl.lit("kernel")
    )
    return checked(Trace(str(path), "jsonl", build.gpu_ops(columns), rank=options.rank, events=rows.height))


READER = Reader(
    name="jsonl",
    title="JSON Lines, one kernel a line",
    recognised_by='a first line that begins with {"jsonl_kernel"',
    cannot_tell="all but the times of kernels",
    recognises=_recognises,
    read=_read,
    suffixes=(".jsonl",),
)
'''
QUESTION = '''"""throughput: tokens in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Traced, opened
from trace_budget.schema.option import option
from trace_budget.schema.options import Scope
from trace_budget.schema.values import positive

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = ("trace-budget throughput decode.json.gz", "trace-budget throughput decode.json.gz --sequences 8")
Sequences = Annotated[
    float, option("Token", "--sequences", parse=positive, metavar="F", text="Sequences of a batch (default: 1).")
]


def throughput(trace: Traced, scope: Scope = EVERYTHING, sequences: Sequences = 1.0) -> Report:
    """How many tokens come in a second."""
    import polars as pl

    from trace_budget.api import analyse
    from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts

    read = opened(trace)
    document = {"tokens_per_s": 1e9 * sequences / analyse(read, scope).steps.step_ns}
    table = Table("throughput", "", (TableColumn("tokens_per_s", "tokens/s", 1),), pl.DataFrame([document]))
    lines = (Line(f"{document['tokens_per_s']:.1f} tokens/s", "title"),)
    return Report("trace-budget/throughput/1", document, trace_facts(read), lines, (table,))
'''
STEP_NS, KERNELS, STEPS = 500_000, 5, 6


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with both additions, as somebody who knows only the docs would make them."""
    root = tmp_path_factory.mktemp("project")
    for name in ("src", "tests", "docs", "sample_traces", "benchmarks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"):
        shutil.copy(file, root)
    (root / PACKAGE / "readers" / "jsonl.py").write_text(READER)
    (root / PACKAGE / "questions" / "throughput.py").write_text(QUESTION)
    add(root / PACKAGE / "readers" / "__init__.py", '"ingested",', '"ingested", "jsonl",')
    add(root / PACKAGE / "questions" / "__init__.py", '"overlap",', '"overlap", "throughput",')
    add(root / "docs" / "formats" / "index.md", "| RPD | `rpd`", "| JSON Lines | `jsonl` | |\n| RPD | `rpd`")
    add(root / "README.md", "| `kernels TRACE` |", "| `throughput TRACE` | tokens/s |\n| `kernels TRACE` |")
    rows = [
        {"jsonl_kernel": f"kernel_{k}", "start_ns": 1_000_000 + s * STEP_NS + k * 90_000, "end_ns": 0}
        for s in range(STEPS)
        for k in range(KERNELS)
    ]
    sample = [{**row, "end_ns": row["start_ns"] + 80_000} for row in rows]
    (root / "kernels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sample))
    for maker in ("cli_page", "help_page"):
        python(root, f"docs/make/{maker}.py")
    return root


def add(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def python(root: Path, *arguments: str) -> str:
    """What a Python that sees the copy writes to stdout."""
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'tests'}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answer(root: Path, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(python(root, "-m", "trace_budget", *arguments, "--format", "json"))
    return document


def test_the_source_grew_by_two_files_and_two_words(copy: Path) -> None:
    sources = {path.relative_to(copy) for path in (copy / "src").rglob("*.py")}
    before = {path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py")}
    assert sources - before == {PACKAGE / "readers" / "jsonl.py", PACKAGE / "questions" / "throughput.py"}
    words = []
    for path in sorted(before):
        old, new = (re.findall(r"\S+", (root / path).read_text()) for root in (ROOT, copy))
        words += [w for w in difflib.ndiff(old, new) if w[0] in "+-"] if old != new else []
    assert words == ['+ "throughput",', '+ "jsonl",']


def test_the_format_is_read_and_listed(copy: Path) -> None:
    assert "jsonl" in [row["format"] for row in answer(copy, "formats")["rows"]]
    document = answer(copy, "kernels", "kernels.jsonl", "--steps", "0")
    assert document["trace"]["format"] == "jsonl"
    assert {row["kernel"] for row in document["rows"]} == {f"kernel_{k}" for k in range(KERNELS)}


def test_the_question_is_a_command_and_a_function(copy: Path) -> None:
    trace = "sample_traces/kineto/gdn_decode_gfx936.json.gz"
    # A step of this sample takes 44 ms.
    assert answer(copy, "throughput", trace, "--sequences", "8")["tokens_per_s"] == pytest.approx(8 / 0.044)
    program = (
        f"import trace_budget as tb; print(tb.throughput({trace!r}).document['tokens_per_s'], tb.throughput.__name__)"
    )
    value, name = python(copy, "-c", program).split()
    assert (float(value), name) == (pytest.approx(1 / 0.044), "throughput")
    assert "--sequences" in python(copy, "-m", "trace_budget", "throughput", "--help")
    assert "tokens come in a second" in python(copy, "-m", "trace_budget", "--help")


def test_the_tests_of_the_house_hold_for_both(copy: Path) -> None:
    chosen = "tests/house/test_rooms.py", "tests/house/test_docs.py", "tests/formats/test_pages.py"
    python(copy, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *chosen)
    taken = "tests/cli/test_options_taken.py", "tests/cli/test_entry_point.py", "tests/cli/test_golden.py"
    python(
        copy, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *taken, "-k", "throughput or help or formats"
    )
