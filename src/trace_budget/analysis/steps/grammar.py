"""Step annotations of the inference engines: one table of (regex, engine, phase, example)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from trace_budget.errors import UsageError

Groups = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Grammar:
    """One way to annotate a step. `phase` maps the named groups to a phase; `generic` grammars say nothing of it."""

    engine: str
    pattern: re.Pattern[str]
    phase: Callable[[Groups], str]
    example: str
    generic: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one annotation says: engine, phase and, where it tells, the number of sequences in the step."""

    engine: str
    phase: str
    batch_size: int | None
    generic: bool


_SGLANG_PHASES = {
    "DECODE": "decode",
    "EXTEND": "prefill",
    "PREFILL": "prefill",
    "MIXED": "mixed",
    "TARGET_VERIFY": "verify",
    "DRAFT_EXTEND": "draft",
    "DRAFT": "draft",
}


def _by_requests(groups: Groups) -> str:
    """Context (prefill) and generation (decode) requests in one vLLM step."""
    context, generation = int(groups["context"] or 0), int(groups["generation"] or 0)
    if context and generation:
        return "mixed"
    return "prefill" if context else "decode" if generation else "other"


def _sglang(groups: Groups) -> str:
    return _SGLANG_PHASES.get((groups["mode"] or "").upper(), "other")


def _by_word(groups: Groups) -> str:
    return (groups["word"] or "other").lower()


def _other(_groups: Groups) -> str:
    return "other"


GRAMMARS: tuple[Grammar, ...] = (
    Grammar(
        "vllm",
        re.compile(r"^execute_(?:\d+_)?context_(?P<context>\d+)\([^)]*\)_generation_(?P<generation>\d+)\([^)]*\)"),
        _by_requests,
        "execute_context_0(0)_generation_32(32)",
    ),
    # New requests are being prefilled; cached ones may still be in a chunked prefill, so "mixed" is all it proves.
    Grammar(
        "vllm",
        re.compile(r"^execute_new_(?P<context>\d+)_cached_(?P<generation>\d+)"),
        _by_requests,
        "execute_new_0_cached_32",
    ),
    Grammar(
        "sglang",
        re.compile(r"^step\[(?P<mode>[A-Za-z_]+)\s+bs=(?P<batch>\d+)[^\]]*\]"),
        _sglang,
        "step[DECODE bs=32]",
    ),
    Grammar(
        "generic",
        re.compile(r"^(?P<word>decode|prefill)(?:\[|_step|\b)", re.IGNORECASE),
        _by_word,
        "decode[17]",
    ),
    Grammar("torch", re.compile(r"^ProfilerStep#\d+"), _other, "ProfilerStep#6", generic=True),
)


def user_grammar(pattern: str) -> Grammar:
    """A grammar from a user's regex; a named group `phase` sets the phase. UsageError when it does not compile."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(
            "the step pattern is not a regular expression", where="--step-pattern", found=f"{pattern!r}: {error}"
        ) from error
    return Grammar("user", compiled, lambda groups: (groups.get("phase") or "other").lower(), pattern)


def parse(name: str, grammars: tuple[Grammar, ...] = GRAMMARS) -> Parsed | None:
    """What an annotation says about its step; None when it is not a step annotation."""
    for grammar in grammars:
        match = grammar.pattern.search(name)
        if match:
            groups: Groups = match.groupdict()
            return Parsed(grammar.engine, grammar.phase(groups), _batch_size(groups), grammar.generic)
    return None


def _batch_size(groups: Groups) -> int | None:
    known = [int(groups[key] or 0) for key in ("batch", "context", "generation") if groups.get(key)]
    return sum(known) if known else None
