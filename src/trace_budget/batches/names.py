"""What paths say about a trace: model, device, batch size and other tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from trace_budget.errors import UsageError
from trace_budget.expressions import Expression, expression
from trace_budget.text import safe

_MODELS = (
    "baichuan|bert|chatglm|deepseek|falcon|gemma|glm|gpt|granite|grok|hunyuan|internlm|jamba|kimi|llama|mamba|minimax|"
    "mistral|mixtral|nemotron|olmo|phi|qwen|yi"
)
_USUAL = (
    re.compile(
        rf"(?:^|[/_.-])(?P<model>(?:{_MODELS})[0-9a-z.]*(?:-[0-9a-z.]+)*?)(?=_|/|-(?:bs|batch|tp|rank)|\.[a-z]|$)", re.I
    ),
    re.compile(r"(?:^|[/_.-])(?:bs|batch|batch_size)[=_-]?(?P<batch_size>\d+)(?!\d)", re.IGNORECASE),
    re.compile(r"(?:^|[/_.-])(?P<device>(?:MI|[ABHL]|BW|K|Z|V|RTX)\d{2,4}[A-Z]{0,3})(?=[/_.-]|$)"),
)
_MOST = 2**63 - 1  # what a column of whole numbers holds: a longer one in a name is no batch size
COLUMNS = ("model", "device", "batch_size")


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What a path says; None where it is silent. `tags` holds what else a pattern names."""

    model: str | None = None
    device: str | None = None
    batch_size: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


def checked_pattern(text: str) -> Expression:
    """The pattern; UsageError unless it is a regular expression and names a group."""
    pattern = expression(text, "--name-pattern", "the name pattern is not a regular expression")
    if not pattern.names:
        advice = r"Such as: '(?P<model>[^/]+)/bs(?P<batch_size>\d+)'"
        raise UsageError("the name pattern names no group", found=repr(text), advice=advice)
    return pattern


def facts_in_path(relative: str, name_pattern: str | None = None) -> PathFacts:
    """What the path below the folder given says; a pattern of the user comes before the usual spellings."""
    found: dict[str, str] = {}
    shown = safe(relative)
    given = checked_pattern(name_pattern).groups_of([shown]) if name_pattern else []
    for groups in (*given, *(match.groupdict() for pattern in _USUAL if (match := pattern.search(shown)))):
        for name, value in (groups or {}).items():
            if value is not None:
                found.setdefault(name, value)
    batch = found.get("batch_size", "")
    tags = {name: value for name, value in sorted(found.items()) if name not in COLUMNS}
    number = int(batch) if batch.isdecimal() else None
    fits = number is not None and number <= _MOST
    return PathFacts(found.get("model"), found.get("device"), number if fits else None, tags)
