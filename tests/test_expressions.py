"""Regular expressions of users: what Python finds, in bounded time, whichever engine takes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget import expressions
from trace_budget.errors import UsageError
from trace_budget.expressions import expression

LINEAR = (
    r"step\[(?P<phase>\w+) bs=(?P<batch>\d+)",
    "x",
    "(a)(?P<b>b)?",
    "^$",
    r"(?i)DECODE|(?P<other>\S+)",
    "(?:a|b)*?c",
    "(?P<x>é+)",
)
BEYOND = (r"(?P<a>a)(?!b)", r"(?<=a)(?P<b>b)", r"(?P<q>[ab])(?P=q)", r"[^[]+(?P<n>\d)")
TEXTS = ("", "step[DECODE bs=32]", "ab", "aab c", "ééé", "abc[9]", "line\nbreak")


def by_python(pattern: str, texts: tuple[str, ...] | list[str]) -> list[dict[str, str | None] | None]:
    return [match.groupdict() if (match := re.search(pattern, text)) else None for text in texts]


@pytest.mark.parametrize("pattern", LINEAR + BEYOND)
def test_matches_and_named_groups_are_those_of_python(pattern: str) -> None:
    wanted = expression(pattern, "--x")
    assert wanted.groups_of(TEXTS) == by_python(pattern, TEXTS)
    assert wanted.names == tuple(re.compile(pattern).groupindex)
    assert wanted.groups_of([]) == []


def test_the_engines_are_those_that_are_meant() -> None:
    assert [expressions._is_linear(pattern) for pattern in LINEAR] == [True] * len(LINEAR)
    assert [expressions._is_linear(pattern) for pattern in BEYOND] == [False] * len(BEYOND)


@given(st.lists(st.text(alphabet="ab1[ é"), max_size=5))
def test_any_texts(texts: list[str]) -> None:
    for pattern in ("(?P<x>a+)b?", "[^1]+(?P<y>1)$"):
        assert expression(pattern, "--x").groups_of(texts) == by_python(pattern, texts)


@pytest.mark.parametrize("pattern", ["(a+)+$", r"(\w+)*!$", "(a|aa)+$"])
def test_backtracking_is_not_needed_for_these(pattern: str) -> None:
    assert expression(pattern, "--kernel").groups_of(["a" * 5_000 + "?", "b"]) == [None, None]


@pytest.mark.parametrize("pattern", ["(?=a)(a+)+$", r"(a+)+\1$", "(?:(?:a+)+)+(?<=b)$"])
def test_what_backtracks_without_end_is_ended(pattern: str) -> None:
    with pytest.raises(UsageError, match="takes too long") as caught:
        expression(pattern, "--kernel").groups_of(["a" * 5_000 + "?", "b"])
    assert caught.value.where == "--kernel"


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "(?P<1>a)", "*", "(" * 9_000])
def test_what_is_none_is_a_usage_error_that_says_so(pattern: str) -> None:
    with pytest.raises(UsageError, match="no pattern") as caught:
        expression(pattern, "--x", "no pattern")
    assert len(caught.value.line()) < 400
