"""The pages of formats name every format, and the table of damaged inputs names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import polars as pl
from sample_traces.make import inventory, nsys_parquet

from formats.answers import ask
from trace_budget import readers

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "formats"
ROW = re.compile(r"^\| (\d+) \|.*\| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_format_has_a_row_in_the_index() -> None:
    named = re.findall(r"`(\w+)`", (PAGES / "index.md").read_text(encoding="utf-8"))
    assert set(readers.NAMES) <= set(named)
    pages = {page.name for page in PAGES.glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\((\w[\w-]*\.md)\)", (PAGES / "index.md").read_text(encoding="utf-8"))) == pages


def test_formats_tells_how_each_is_recognised_and_what_it_cannot_tell() -> None:
    rows = ask("formats").document["rows"]
    assert [row["format"] for row in rows] == list(readers.NAMES)
    assert all(row["title"] and row["recognised_by"] and row["cannot_tell"] for row in rows)
    assert [row["format"] for row in rows if not row["timeline"]] == ["kernel_stats_csv"]


def test_every_damaged_input_has_tests_that_exist() -> None:
    rows = ROW.findall((PAGES / "broken-inputs.md").read_text(encoding="utf-8"))
    assert [int(number) for number, _ in rows] == list(range(1, 37))
    for number, cell in rows:
        tests = TEST.findall(cell)
        assert tests, number
        for file, name in tests:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (number, file, name)


def test_the_list_of_samples_is_fresh_and_names_programs_that_exist() -> None:
    readme = (inventory.ROOT / "README.md").read_text(encoding="utf-8")
    assert inventory.renewed(readme) == readme
    makers = {inventory.maker(name) for name in inventory.samples()}
    assert all((inventory.ROOT / "make" / f"{maker}.py").is_file() for maker in makers)


def test_the_parquet_sample_holds_the_tables_of_the_database(tmp_path: Path) -> None:
    nsys_parquet.write_all(tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet"))
    assert len(made) == 7
    for name in made:
        assert pl.read_parquet(tmp_path / name).equals(pl.read_parquet(inventory.ROOT / name))
