"""The documents are what their structs declare: no key more, none less, and every figure of its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import trace_budget as tb
from trace_budget.schema.documents import check_of, realised_of, verdict_of

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SEED = SAMPLES / "kineto" / "gdn_decode_gfx936.json.gz"
GDN = tb.Change(saving_us=3.228)


def keys(document: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Every key with those it stands under."""
    for key, value in document.items():
        yield f"{above}{key}"
        if isinstance(value, Mapping):
            yield from keys(value, f"{above}{key}.")


def same_keys(document: Mapping[str, Any], typed: msgspec.Struct) -> None:
    assert sorted(keys(document)) == sorted(keys(msgspec.to_builtins(typed)))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"token": tb.TokenInput(token_ms=44.0, tokens_per_step=2.0)},
        {"weights": {"decode": 1.0}},
        {"scope": tb.Scope(steps="2")},
    ],
)
def test_project(more: dict[str, Any]) -> None:
    document = tb.project(SEED, "gdn_fused", GDN, **more).document
    same_keys(document, verdict_of(document))


def test_project_without_layers_or_calls() -> None:
    path = SAMPLES / "rocprof_v1_csv" / "same_run.csv"
    document = tb.project(path, "paged_attention_kernel", tb.Change(free=True), tb.Scope(steps="0")).document
    same_keys(document, verdict_of(document))


def test_check_and_compare() -> None:
    check = tb.check(SEED).document
    same_keys(check, check_of(check))
    document = tb.compare(SEED, SEED).document
    same_keys(document["realised"], realised_of(document))  # type: ignore[arg-type]


def test_a_figure_of_another_type_breaks_the_contract() -> None:
    document = tb.project(SEED, "gdn_fused", GDN).document
    with pytest.raises(msgspec.ValidationError, match="pace"):
        verdict_of({**document, "pace": 3})
