"""`report` and `--plot`: what goes together, what is refused before anything is read, what is written."""

import json
import re
import struct
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.fakes import FakeApi
from shared_traces import SHARED, needs_shared

Run = Callable[..., Any]
SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
ASKED = ("--kernel", "gdn_fused", "--saving-us", "3.228")
CANDIDATES = """schema = "trace-budget/candidates/1"
[defaults]
min_pct = 0.1
[[candidate]]
id = "fused"
match = {kernel = "gdn_fused"}
saving_us = 3.228
"""


def held(path: Path) -> dict[str, Any]:
    """The JSON document inside a page."""
    found = re.search(r'id="answer">(.*?)</script>', path.read_text())
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


def test_the_page_holds_the_answer_of_project(run: Run, tmp_path: Path) -> None:
    result = run("report", SEED, *ASKED, "--target-pct", "0.3", "--token-ms", "44", "-o", "page.html")
    assert (result.code, result.out, result.line) == (0, b"", "Wrote page.html")
    run("project", SEED, *ASKED, "--target-pct", "0.3", "--token-ms", "44", "-o", "answer.json")
    answer = json.loads((tmp_path / "answer.json").read_text())
    page = held(tmp_path / "page.html")
    assert page["pct"] == pytest.approx(answer["pct"], rel=1e-5)
    assert (page["verdict"], page["why"]) == (answer["verdict"], answer["why"])
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_without_a_kernel_it_holds_the_answer_of_threshold(run: Run, tmp_path: Path) -> None:
    assert run("report", SEED, "-o", "page.html", "-q").err == ""
    assert held(tmp_path / "page.html")["schema"] == "trace-budget/threshold/1"


def test_with_a_candidate_file_it_holds_the_answer_of_rank(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CANDIDATES)
    assert run("report", SEED, "c.toml", "-o", "page.html").code == 0
    page = held(tmp_path / "page.html")
    assert page["schema"] == "trace-budget/rank/1"
    assert page["rows"][0]["required"]["target_pct"] == 0.1
    assert run("report", SEED, "c.toml", "--target-pct", "2", "-o", "page.html", "--force").code == 0
    assert held(tmp_path / "page.html")["rows"][0]["required"]["target_pct"] == 2


def test_times_of_a_benchmark_file_are_taken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bench.csv").write_text("name,us\nold,20.3\nnew,17.1\n")
    options = ("--bench", "bench.csv", "--bench-old", "old", "--bench-new", "new")
    assert run("report", SEED, "--kernel", "gdn_fused", *options, "-o", "page.html").code == 0
    assert held(tmp_path / "page.html")["saving_us_per_call"]["kappa"] == pytest.approx(20.272 / 20.3, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kernel", "gdn_fused"), "a replacement needs both"),
        (("--saving-us", "3"), "a replacement needs both"),
        (("--kernel", "gdn_fused", "--saving-us", "3", "--free"), "exactly one saving"),
        (("--kernel", "gdn_fused", "--replace", "a,b", "--new-us", "3"), "--kernel or --replace"),
        (("c.toml", "--kernel", "gdn_fused", "--saving-us", "3"), "one candidate or a file of them"),
        (("--plot", "a.svg"), "--plot draws the curve of one kernel"),
        (("--replace", "a,b", "--new-us", "3", "--plot", "a.svg"), "--plot draws the curve of one kernel"),
        ((*ASKED, "--plot", "a.pdf"), "ends in none of .svg, .png"),
    ],
)
def test_what_does_not_go_together_is_refused_first(
    run: Run, api: FakeApi, options: tuple[str, ...], words: str
) -> None:
    result = run("report", "t.json", *options, "-o", "page.html")
    assert result.code == 2
    assert words in result.line
    assert api.asked == {}


def test_the_output_is_needed_and_never_overwritten(run: Run, api: FakeApi, tmp_path: Path) -> None:
    assert run("report", "t.json").code == 2
    (tmp_path / "page.html").write_text("precious")
    (tmp_path / "plot.svg").write_text("precious")
    assert run("report", "t.json", *ASKED, "-o", "page.html").code == 5
    result = run("report", "t.json", *ASKED, "-o", "new.html", "--plot", "plot.svg")
    assert (result.code, "plot.svg: already exists" in result.line) == (5, True)
    assert run("project", "t.json", *ASKED, "--plot", "plot.svg").code == 5
    assert run("report", "t.json", *ASKED, "-o", "no/page.html").code == 5
    assert api.asked == {}
    assert (tmp_path / "page.html").read_text() == (tmp_path / "plot.svg").read_text() == "precious"


@pytest.mark.parametrize("there", [True, False, None])
def test_open_shows_the_page_and_its_failure_costs_no_answer(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool | None
) -> None:
    shown: list[str] = []

    def browse(address: str) -> bool:
        shown.append(address)
        if there is None:
            raise webbrowser.Error("could not locate runnable browser")
        return there

    monkeypatch.setattr(webbrowser, "open", browse)
    result = run("report", SEED, *ASKED, "-o", "page.html", "--open")
    assert (result.code, shown) == (0, [(tmp_path / "page.html").resolve().as_uri()])
    assert ("open page.html yourself" in result.err) is (not there)
    assert held(tmp_path / "page.html")["pct"]
    assert run("report", SEED, *ASKED, "-o", "other.html").code == 0
    assert len(shown) == 1


def test_a_plot_that_fails_costs_no_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    result = run("project", SEED, *ASKED, "--plot", "p.png")
    assert (result.code, b"0.352 %" in result.out) == (5, True)
    assert "pip install resvg_py" in result.line


def test_plots_are_drawn_beside_the_answer(run: Run, tmp_path: Path) -> None:
    result = run("project", SEED, *ASKED, "--plot", "plot.svg")
    assert result.code == 0
    assert result.out.startswith(b"NO-GO   0.352 % of a token expected, 1.00 % wanted   gdn_fused\n")
    assert result.line == "Wrote plot.svg"
    assert run("report", SEED, *ASKED, "-o", "page.html", "--plot", "again.svg", "-q").err == ""
    text = (tmp_path / "plot.svg").read_text()
    assert text == (tmp_path / "again.svg").read_text()
    assert "3.228 us saved a call: 0.352 %" in text


def test_a_png_is_drawn_where_resvg_is_there(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    assert run("project", SEED, *ASKED, "--plot", "plot.png", "-q").code == 0
    assert struct.unpack(">II", (tmp_path / "plot.png").read_bytes()[16:24])[0] == 1280


@pytest.mark.parametrize("options", [("--with-rank", "b.json"), ("--weights", "decode=0.9,prefill=0.1")])
def test_a_plot_is_of_one_rank_and_one_phase(run: Run, api: FakeApi, options: tuple[str, ...]) -> None:
    result = run("project", "t.json", *ASKED, "--plot", "plot.svg", *options)
    assert (result.code, "--plot draws the curve of one" in result.line) == (2, True)
    assert api.asked == {}
    fused = run("project", "t.json", "--replace", "a,b", "--new-us", "3", "--plot", "plot.svg")
    assert (fused.code, "of one kernel, not of a sequence" in fused.line) == (2, True)


def test_a_kernel_that_is_not_there_leaves_no_file(run: Run, tmp_path: Path) -> None:
    result = run("report", SEED, "--kernel", "no_such_kernel", "--saving-us", "3", "-o", "page.html")
    assert result.code == 4
    assert list(tmp_path.iterdir()) == []


@needs_shared
def test_a_folder_of_ranks_is_not_one_page(run: Run, tmp_path: Path) -> None:
    result = run("report", SHARED / "kineto" / "two_ranks", *ASKED, "-o", "page.html")
    assert result.code == 2
    assert "a page shows one rank" in result.line
    assert list(tmp_path.iterdir()) == []
