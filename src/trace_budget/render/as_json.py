"""The versioned JSON document: `schema`, `trace`, the report's own keys in their order, `caveats`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from trace_budget.contracts import Renderer
from trace_budget.schema.report import Report, caveat_facts
from trace_budget.text import safe


def document(report: Report) -> dict[str, object]:
    """The whole document as plain JSON values: finite numbers only (others are null), control characters as `?`."""
    whole = {
        "schema": report.schema,
        "trace": report.trace,
        **report.document,
        "caveats": caveat_facts(report.caveats),
    }
    return {key: _plain(value) for key, value in whole.items()}


def render(report: Report) -> bytes:
    """The document as indented UTF-8 text; the same report always gives the same bytes."""
    text = json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise TypeError(f"a report's document holds a {type(value).__name__}, which JSON cannot carry")


def _finite(value: float) -> float | None:
    """Six decimals, or six significant digits below 1: far below any clock, and free of binary noise."""
    if not math.isfinite(value):
        return None
    return round(value, 6) if abs(value) >= 1 else float(f"{value:.6g}")


RENDERER = Renderer("json", (".json",), render)
