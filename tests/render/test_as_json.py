"""The JSON document: versioned, in a stable order, finite, exact to a nanosecond."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.sample_reports import kernels_report
from trace_budget.render import as_json
from trace_budget.schema.report import Report


def parsed(document: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(as_json.render(Report("x/1", document)))
    return loaded


def test_keys_come_in_the_order_readers_rely_on() -> None:
    text = as_json.render(kernels_report()).decode()
    assert list(json.loads(text)) == ["schema", "trace", "rows", "caveats"]
    assert json.loads(text)["caveats"][1] == {
        "code": "lost_kernels",
        "severity": "error",
        "count": 64,
        "text": "64 of 512 kernels are missing ?[2J",
        "example": None,
    }


def test_what_is_not_finite_is_null() -> None:
    values = {"a": math.inf, "b": -math.inf, "c": math.nan, "d": [math.nan, 1.5], "e": {"f": math.inf}}
    assert parsed(values) == {
        **{"schema": "x/1", "trace": None, "caveats": []},
        **{"a": None, "b": None, "c": None, "d": [None, 1.5], "e": {"f": None}},
    }


def test_binary_noise_is_rounded_away() -> None:
    assert parsed({"sum": 0.1 + 0.2})["sum"] == 0.3
    assert parsed({"us": 10743.181000000001})["us"] == 10743.181


@given(st.floats(-1e9, 1e9))
def test_rounding_loses_less_than_a_picosecond_or_a_millionth(value: float) -> None:
    got = parsed({"us": value})["us"]
    assert abs(got - value) <= max(5.1e-7, 1e-6 * min(abs(value), 1.0))


@given(st.integers(-(2**63), 2**63))
def test_integers_are_exact(value: int) -> None:
    assert parsed({"ns": value})["ns"] == value


def test_text_is_readable_and_steers_nothing() -> None:
    text = as_json.render(Report("x/1", {"名": "融合\x1b[2J\u202e"})).decode()
    assert '"名": "融合?[2J?"' in text


def test_what_json_cannot_carry_is_a_bug_not_a_guess() -> None:
    with pytest.raises(TypeError, match="complex"):
        as_json.render(Report("x/1", {"z": 1j}))
