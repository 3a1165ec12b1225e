"""Every code block of the docs runs, or says why it does not; what a page shows as output is what is printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import ELSEWHERE, PAGES, READMES, ROOT, RUN, SHOWN, blocks, name_of
from docs.running import Runner, follows, written_as_file
from docs.stage import STAND_INS, set_up

WITH_BLOCKS = [page for page in PAGES if any(block.is_run for block in blocks(page))]


@pytest.fixture
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_signals")
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_the_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    set_up(tmp_path, "".join(block.text for block in blocks(page) if block.is_run))
    runner, printed = Runner(lambda: capfd.readouterr().out), ""
    for block in blocks(page):
        if block.is_run:
            printed = runner.run(block)
        elif block.is_file:
            written_as_file(block)
        elif "output" in block.marks:
            assert follows(block.text, printed), f"{block.place}: this is printed:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run_or_marked(page: Path) -> None:
    for block in blocks(page):
        assert block.language in {*RUN, *SHOWN, "toml"}, f"{block.place}: say what this block is"
        known = {"no-run"} if block.language in RUN else {"output"}
        assert set(block.marks) <= known or block.is_file or block.language == "sql", block.place


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_only_blocks_that_need_something_from_elsewhere_do_not_run(page: Path) -> None:
    not_run = [block for block in blocks(page) if "no-run" in block.marks]
    assert [block.place for block in not_run if not any(word in block.text for word in ELSEWHERE)] == []


def test_what_ci_runs_in_a_fresh_clone_is_the_same_in_both_languages() -> None:
    (english,), (chinese,) = ([block.text for block in blocks(page) if block.is_fresh_clone] for page in READMES)
    assert english == chinese
    assert len(english.splitlines()) == 2
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_output_is_compared_line_by_line() -> None:
    printed = "a 1\nb 2  \n\nc 3\nb 2\n"
    assert follows("a 1\nb 2\n", printed)
    assert follows("a 1\n...\nc 3\n", printed)
    assert follows("...\nb 2\n", printed)
    assert not follows("a 1\nc 3\n", printed)
    assert not follows("c 3\n...\na 1\n", printed)
    assert not follows("a\n", printed)


def test_someone_who_follows_the_pages_gets_the_same_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "docs.stage", str(tmp_path / "try")]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": "tests"})
    assert {found.name for found in (tmp_path / "try").iterdir()} == {*STAND_INS, "sample_traces"}
