"""The rooms: lists match files, renderers know nothing of readers and of each other, commands have one file each."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from house.source_tree import ROOT, SRC, modules, name_of, tree
from trace_budget import questions, readers, render
from trace_budget.contracts import PACKINGS

CONTRACT = (
    "estimate kernels steps layers overlap check project threshold "
    "formats schema doctor compare timeline batch ingest report rank"
)

OUTSIDE = ("tests/", "docs/", "sample_traces/", "src/")
TOP_LEVEL = {
    *("src", "tests", "sample_traces", "docs", "benchmarks", ".ci", ".github"),
    *("pyproject.toml", "README.md", "README.zh-CN.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", ".gitignore"),
    *("CONTRIBUTING.md", "SECURITY.md"),
}


def files_of(room: str) -> set[str]:
    """Public files and folders of a room."""
    folder = SRC / room
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in names if not name.startswith("_")}


def test_questions_are_at_least_those_of_the_contract_and_each_has_its_file() -> None:
    assert set(CONTRACT.split()) <= set(questions.NAMES)
    assert files_of("questions") == set(questions.NAMES)
    assert [questions.function(name).__name__ for name in questions.NAMES] == list(questions.NAMES)


def test_the_readers_of_json_are_those_whose_files_are_json() -> None:
    of_json = {reader.name for reader in readers.every() if ".json" in reader.suffixes}
    assert of_json == {file.rpartition(".")[2] for file in readers.OF_JSON}


def test_suffixes_of_readers_are_plain_and_those_of_their_own_among_them() -> None:
    for reader in readers.every():
        assert not any(suffix.endswith(PACKINGS) for suffix in reader.suffixes)
        assert set(reader.own_suffixes) <= set(reader.suffixes)


def test_every_listed_reader_has_a_file_that_holds_it() -> None:
    assert all((SRC / "readers" / f"{file.replace('.', '/')}.py").is_file() for file in readers.FILES)
    holders = {path.stem if path.name != "__init__.py" else path.parent.name for path in reader_files()}
    assert holders == set(readers.NAMES)
    assert [readers.load(name).name for name in readers.NAMES] == list(readers.NAMES)


def reader_files() -> list[Path]:
    """The files of the readers' room that define a READER."""
    return [path for path in modules() if "readers" in path.parts and "READER" in assigned(path)]


def assigned(path: Path) -> set[str]:
    targets = [target for node in tree(path).body if isinstance(node, ast.Assign) for target in node.targets]
    annotated = [node.target for node in tree(path).body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in (*targets, *annotated) if isinstance(target, ast.Name)}


def test_every_renderer_has_a_file_and_every_file_a_renderer() -> None:
    assert files_of("render") == {*render.MODULES.values(), *render.DRAWN}


def test_renderers_know_only_the_report() -> None:
    known = {"contracts", "schema", "drawings", "labels", "text", "units", "errors", "_version", "render"}
    found = {
        f"{name_of(path)}:{node.lineno}: {node.module}"
        for path in (SRC / "render").rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("trace_budget.")
        if node.module.split(".")[1] not in known
    }
    assert found == set()


def test_the_top_level_holds_what_is_agreed_and_nothing_that_a_run_left() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git, or no checkout")
    assert {name.partition("/")[0] for name in listed.stdout.splitlines()} <= TOP_LEVEL


def test_the_tour_of_the_tree_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [f"{path.parent.name}/" for path in SRC.glob("*/__init__.py")]
    files = [path.name for path in SRC.glob("*.py") if path.name not in ("__init__.py", "_version.py")]
    assert [name for name in (*rooms, *files) if f"`{name}`" not in page] == []
    named = {name for name in re.findall(r"`(\w+/(?:[\w/]+\.(?:py|c|toml))?)`", page) if not name.startswith(OUTSIDE)}
    assert [name for name in named if not any(SRC.rglob(name.rstrip("/")))] == []
