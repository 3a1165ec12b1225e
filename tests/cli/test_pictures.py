"""`--plot` of every command that has one: what is drawn, read back from it, is what the command answers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drawings.read_back import Scale, of_kind, texts, tree

Run = Callable[..., Any]
SEED = str(Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz")
ASKED = ("project", SEED, "-k", "gdn_fused", "-s", "3.228", "--hit-rate", "0.5:0.9", "--overhead-us", "0.4")


def answer(run: Run, *arguments: str) -> dict[str, dict[str, float]]:
    document: dict[str, dict[str, float]] = json.loads(run(*arguments, "--format", "json").out)
    return document


def test_the_waterfall_of_project_ends_at_its_figures(run: Run, tmp_path: Path) -> None:
    told = answer(run, *ASKED)
    assert run(*ASKED, "--plot", "w.svg", "--figure", "waterfall", "-q").code == 0
    root = tree((tmp_path / "w.svg").read_text())
    scale = Scale(root)
    bars = [scale.bar(each)[1] for each in of_kind(root, "rect", "marked") if "stage" in each.attrib["class"]]
    product = 48 * 3.228
    expected = told["saving_us_per_token"]["expected"]
    left = expected * told["model"]["dilution"]
    assert bars == pytest.approx([product, expected, left], abs=2 * scale.per_px)
    assert f"{expected:.3f} us = {told['pct']['expected']:.3f} %" in texts(root)


def test_the_tornado_of_project_is_what_project_says_of_each_end(run: Run, tmp_path: Path) -> None:
    assert run(*ASKED, "--plot", "t.svg", "--figure", "tornado", "-q").code == 0
    told = [
        element.text or "" for element in tree((tmp_path / "t.svg").read_text()).iter() if element.tag.endswith("title")
    ]
    asked = ASKED[:-4]
    low, high = (
        answer(run, *asked, "--overhead-us", "0.4", "--hit-rate", share)["pct"]["expected"] for share in ("0.5", "0.9")
    )
    assert any(text.startswith(f"Q4 do all requests hit: {low:.3f} % to {high:.3f} %") for text in told)
    free = answer(run, *asked, "--overhead-us", "0", "--hit-rate", "0.5:0.9")["pct"]["expected"]
    assert any(text.startswith("Q6") and f"to {free:.3f} %; none, or as stated" in text for text in told)


def test_a_picture_in_the_terminal_stands_below_the_answer(run: Run) -> None:
    result = run("threshold", SEED, "--plot", "-")
    assert result.code == 0
    table, _, picture = result.out.decode().partition("\nShare of a token, the speed-up it needs, and if it can\n")
    assert table.startswith("1.00 % of a token")
    assert "2.21 % 1.83x yes" in picture
    refused = run("threshold", SEED, "--plot", "-", "--format", "json")
    assert (refused.code, refused.out) == (2, b"")
    layer = run("layers", SEED, "-k", "gdn_fused", "--plot", "layer.txt")
    assert layer.code == 0
    assert Path("layer.txt").read_text().startswith("Layer 32 of 64, step 4: 12 ops in 664.08 us")


def test_what_is_invalid_has_no_picture_and_keeps_its_answer(run: Run, tmp_path: Path) -> None:
    for figure in ("waterfall", "tornado"):
        result = run("project", SEED, "-k", "gdn_fused", "-s", "300", "--plot", "a.svg", "--figure", figure)
        assert (result.code, result.out.startswith(b"INVALID   gdn_fused")) == (5, True)
        assert "an INVALID projection has no picture" in result.line
    row = '[[candidate]]\nid = "one"\nmatch = { kernel = "gdn_fused" }\nsaving_us = 300.0\n'
    (tmp_path / "c.toml").write_text(f'schema = "trace-budget/candidates/1"\n{row}')
    result = run("rank", SEED, "c.toml", "--plot", "a.svg")
    assert (result.code, b"INVALID" in result.out, "all are INVALID" in result.line) == (5, True, True)
    assert not (tmp_path / "a.svg").exists()


def test_the_ranges_of_rank_are_those_of_its_table(run: Run, tmp_path: Path) -> None:
    rows = [("one", "gdn_fused", 3.2), ("two", "gdr_split", 1.5)]
    text = "".join(
        f'[[candidate]]\nid = "{name}"\nmatch = {{ kernel = "{kernel}" }}\nsaving_us = {us}\n'
        "hit_rate = { low = 0.5, high = 1.0 }\n"
        for name, kernel, us in rows
    )
    (tmp_path / "c.toml").write_text(f'schema = "trace-budget/candidates/1"\n{text}')
    assert run("rank", SEED, "c.toml", "--plot", "f.svg", "-q").code == 0
    said = json.loads(run("rank", SEED, "c.toml", "--format", "json").out)
    root = tree((tmp_path / "f.svg").read_text())
    scale = Scale(root)
    dots = [scale.value(float(each.attrib["cx"])) for each in of_kind(root, "circle", "expected")]
    wanted = [row["pct"]["expected"] for row in said["rows"]] + [said["joint"]["pct"]["expected"]]
    assert dots == pytest.approx(wanted, abs=scale.per_px)


def test_the_dots_of_threshold_are_its_rows(run: Run, tmp_path: Path) -> None:
    assert run("threshold", SEED, "--plot", "n.svg", "-q").code == 0
    said = json.loads(run("threshold", SEED, "--format", "json").out)["rows"]
    root = tree((tmp_path / "n.svg").read_text())
    titles = {element[0].text for element in of_kind(root, "circle", "kernel") if len(element)}
    for row in said:
        needs = "-" if row["required_speedup"] is None else f"{row['required_speedup']:.2f}x"
        assert any(f" {needs} {row['can']}" in (title or "") for title in titles), row["kernel"]
    assert len(titles) == len(said)


def test_a_figure_without_a_plot_is_refused(run: Run) -> None:
    result = run("project", SEED, "-k", "gdn_fused", "-s", "3", "--figure", "tornado")
    assert (result.code, result.out) == (2, b"")
    assert "--figure says what --plot draws" in result.line
    fused = ("project", SEED, "--replace", "gdn_fused,gdr_split", "--new-us", "24", "--plot", "-")
    drawn = run(*fused, "--figure", "waterfall")
    assert drawn.code == 0
    assert "us x 48 calls" in drawn.out.decode().splitlines()[-8]
    assert run(*fused).code == 2
