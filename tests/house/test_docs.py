"""Docs follow from the program: generated pages are fresh, commands in the README parse, links lead somewhere."""

import importlib.util
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from house.source_tree import ROOT
from trace_budget import cli, errors, questions

DOCS = sorted(path for path in (ROOT / "docs").rglob("*.md"))
PAGES = [*DOCS, *ROOT.glob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```sh(?: [\w-]+)*\n(.*?)^```", re.DOTALL | re.MULTILINE)
GENERATED = {
    "cli_page": "cli.md",
    "schema_page": "schema.md",
    "dataset_page": "dataset.md",
    "glossary_page": "glossary.md",
}


def generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "make" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("maker", "page"), GENERATED.items())
def test_generated_pages_are_fresh(maker: str, page: str) -> None:
    expected: Callable[[], str] = generator(maker).page
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == expected(), f"run docs/make/{maker}.py"


def cells_of(book: str) -> list[tuple[str, list[object]]]:
    """The source of each cell, and what it printed or drew; frames are printed as Polars of the day does it."""
    cells = []
    for cell in json.loads(book)["cells"]:
        kept = [each.get("text") or each["data"].get("image/svg+xml") for each in cell.get("outputs", [])]
        cells.append(("".join(cell["source"]), kept))
    return cells


def test_the_notebook_runs_and_is_fresh() -> None:
    found = cells_of((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    ran = cells_of(generator("notebook_page").page())
    assert found == ran, "run docs/make/notebook_page.py"
    assert sum(bool(outputs) for _, outputs in ran) >= 9
    assert any("NO-GO   0.307 % of a token expected" in str(outputs) for _, outputs in ran)


def test_pictures_of_the_docs_are_fresh_and_small() -> None:
    maker = generator("pictures_page")
    drawn = dict(maker.pictures())
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    assert files == drawn, "run docs/make/pictures_page.py"
    assert max(map(len, files.values())) < 20_000
    shown = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    assert all(f"(pictures/{name}.svg)" in shown for name in files)


def test_every_command_has_a_row_in_the_docs_and_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in cli.NAMES:
        assert f"`{name}" in readme
        assert f"\n## {name}\n" in page


def test_every_exit_code_of_an_error_is_explained() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    kinds = errors.TraceBudgetError.__subclasses__()
    assert {kind.exit_code for kind in kinds} == {2, 3, 4, 5, 10}
    assert all(f"| {kind.exit_code} |" in page for kind in kinds)


def commands_of(page: Path) -> list[list[str]]:
    """Every `trace-budget …` command of the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    found = [re.search(r"(?:^|[/ ])trace-budget (?P<rest>[^|>&]*)", line) for line in lines]
    return [shlex.split(match["rest"], comments=True) for match in found if match]


def test_every_command_has_two_examples() -> None:
    assert [name for name in cli.NAMES if len(questions.examples(name)) < 2] == []


def test_commands_in_the_docs_and_in_the_help_parse() -> None:
    import typer

    group = typer.main.get_command(cli.build())
    shown = [shlex.split(line)[1:] for name in cli.NAMES for line in questions.examples(name)]
    for words in (*shown, *(words for page in PAGES for words in commands_of(page))):
        context = group.make_context("trace-budget", list(words))
        name, *arguments = words
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        command.make_context(name, list(arguments), parent=context)


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in LINK.findall(page.read_text(encoding="utf-8"))]
    dead = [f"{page.name}: {link}" for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert dead == []


def test_the_readme_shows_commands_at_all() -> None:
    assert len(commands_of(ROOT / "README.md")) >= 3


def test_the_changelog_has_room_for_the_next_change() -> None:
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
