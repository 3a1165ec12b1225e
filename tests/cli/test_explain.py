"""`explain`: a word, all words, and words that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import trace_budget as tb
from trace_budget.schema.glossary import entries

Run = Callable[..., Any]


def test_a_word_is_explained_in_two_sentences(run: Run) -> None:
    done = run("explain", "ceiling")
    assert done.code == 0
    assert done.out.decode().startswith("ceiling: What would be saved if the kernel took no time at all.")
    assert json.loads(run("explain", "one_rank", "--format", "json").out)["rows"][0]["kind"] == "caveat"


def test_without_a_word_all_are_listed(run: Run) -> None:
    rows = json.loads(run("explain", "--format", "json").out)["rows"]
    assert [row["word"] for row in rows] == [entry.word for entry in entries()]
    assert b"dilution" in run("explain").out


def test_an_unknown_word_gets_the_closest(run: Run) -> None:
    done = run("explain", "dilutoin")
    assert (done.code, done.out) == (2, b"")
    assert "Did you mean dilution?" in done.line


def test_python_has_it_too() -> None:
    assert tb.explain("verdict").document["rows"][0]["word"] == "verdict"
