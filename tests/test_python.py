"""The Python interface: what a person types works, and every command has its function."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import trace_budget as tb
from trace_budget import questions

SEED = Path(__file__).parents[1] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


def test_every_command_has_its_function_of_that_name() -> None:
    assert set(questions.NAMES) <= set(tb.__all__)
    assert [tb.__getattr__(name).__name__ for name in questions.NAMES] == list(questions.NAMES)
    assert tb.schema().schema == "trace-budget/schema/1"  # the subpackage of that name answers too


def test_every_public_name_is_there() -> None:
    assert all(getattr(tb, name) is not None for name in tb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tb.nonsense  # noqa: B018


@pytest.mark.parametrize("name", ["kernels", "steps", "layers", "overlap", "threshold", "check"])
def test_a_path_answers_as_its_trace_does(name: str) -> None:
    ask = getattr(tb, name)
    assert ask(str(SEED)).document == ask(SEED).document == ask(tb.open_trace(SEED)).document


def test_a_kernel_is_named_by_a_text() -> None:
    by_text = tb.project(SEED, "gdn_fused", tb.Change(saving_us=3.228))
    by_struct = tb.project(tb.open_trace(SEED), tb.Selection("gdn_fused"), tb.Change(saving_us=3.228))
    assert by_text.document == by_struct.document
    assert tb.compare(SEED, SEED, "gdn_fused").document["verdict"] == "not engaged"


def test_rank_takes_a_file_or_what_was_read_of_it(tmp_path: Path) -> None:
    row = '[[candidate]]\nid = "one"\nmatch = { kernel = "gdn_fused" }\nsaving_us = 3.0\n'
    (tmp_path / "c.toml").write_text(f'schema = "trace-budget/candidates/1"\n{row}')
    asked = tb.read_candidates(tmp_path / "c.toml")
    assert tb.rank(SEED, tmp_path / "c.toml").document == tb.rank(SEED, asked).document
    strict = tb.rank(SEED, asked, policy=tb.Policy(target_pct=5)).document["rows"]
    assert strict[0]["required"]["target_pct"] == 5  # type: ignore[index]


def test_pages_and_drawings_are_written_where_asked(tmp_path: Path) -> None:
    change = tb.Change(saving_us=3.228)
    page = tb.report(SEED, "gdn_fused", change, output=tmp_path / "page.html")
    assert page.answer.document == tb.project(SEED, "gdn_fused", change).document
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    drawing = tb.timeline(SEED, "gdn_fused", change=change, output=tmp_path / "step.json")
    assert drawing.processes
    assert (tmp_path / "step.json").stat().st_size > 1000
    with pytest.raises(tb.TraceBudgetError, match="already exists"):
        tb.timeline(SEED, "gdn_fused", change=change, output=tmp_path / "step.json")


def test_an_answer_shows_itself_shortly_and_as_a_terminal_does() -> None:
    answer = tb.project(SEED, "gdn_fused", tb.Change(saving_us=3.228))
    assert repr(answer).startswith("<trace-budget/verdict/1: NO-GO")
    assert "\n" not in repr(answer)
    assert answer._repr_html_().startswith("<pre>")
    assert "gdn_fused" in answer.text()
    assert answer.table is answer.tables[0].frame
    assert answer.to_pandas().shape == answer.table.shape


def test_signatures_say_what_is_taken() -> None:
    for name in questions.NAMES:
        assert inspect.getdoc(questions.function(name))


def test_answers_draw_their_pictures() -> None:
    answer = tb.project(SEED, "gdn_fused", tb.Change(saving_us=3.228))
    assert list(answer.pictures) == ["curve", "waterfall", "tornado"]
    drawn = answer.picture("waterfall", width=420)
    assert drawn.startswith("<svg")
    assert 'width="420"' in drawn
    assert drawn._repr_svg_() == drawn
    assert repr(answer.picture()) == f"<SVG of {len(answer.picture()):,} characters>"
    for ask in (tb.kernels, tb.steps, tb.layers, tb.threshold):
        assert len(ask(SEED).pictures) == 1
        assert ask(SEED).picture().startswith("<svg")
    with pytest.raises(tb.TraceBudgetError, match="no picture of that name"):
        tb.check(SEED).picture()
    with pytest.raises(tb.TraceBudgetError, match="expected curve, waterfall, tornado"):
        answer.picture("pie")


def test_what_questions_give_is_short_to_look_at() -> None:
    change = tb.Change(saving_us=3.228)
    trace, page = tb.open_trace(SEED), tb.report(SEED, "gdn_fused", change)
    answer = tb.project(SEED, "gdn_fused", change)
    shown = {repr(each) for each in (trace, page, answer, tb.timeline(SEED, "gdn_fused", change=change))}
    assert max(map(len, shown)) < 200
    assert f"<Trace {SEED}: kineto, 4,650 GPU ops, BW1000, rank 0>" in shown
    assert page._repr_html_() == answer._repr_html_()
    assert page.document == answer.document
    assert page.table.equals(answer.table)


@pytest.mark.parametrize("name", ["kernels", "steps", "layers", "threshold"])
def test_docstrings_name_columns_that_are_there(name: str) -> None:
    ask = getattr(tb, name)
    text = inspect.getdoc(ask) or ""
    words = {word.strip("`,.:;()") for word in text.partition("`.table`")[2].split()}
    named = {word for word in words if "_" in word}
    assert named
    assert named <= set(ask(SEED).table.columns)
