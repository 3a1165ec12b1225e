"""Step annotations of the inference engines: one table of (regex, engine, phase, example)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trace_budget.expressions import Expression, expression
from trace_budget.schema.quantities import PHASES

Groups = dict[str, str | None]
WINDOW, WORD, ENGINE, USER = range(4)  # how much a text says: a profiler's window, a mere word, an engine's step


@dataclass(frozen=True, slots=True)
class Grammar:
    """One way to annotate a step. `phase` maps the named groups to a phase; `rank` says how specific the text is."""

    engine: str
    pattern: re.Pattern[str] | Expression
    phase: Callable[[Groups], str]
    example: str
    rank: int = ENGINE

    def groups_of(self, texts: list[str]) -> list[Groups | None]:
        """The named groups of each text, None where it is none of this kind."""
        if isinstance(self.pattern, Expression):
            return self.pattern.groups_of(texts)
        return [match.groupdict() if (match := self.pattern.search(text)) else None for text in texts]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one annotation says: engine, phase and, where it says, the number of sequences in the step."""

    engine: str
    phase: str
    batch_size: int | None
    rank: int = ENGINE


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


def _by_name(groups: Groups) -> str:
    """A phase in any engine's words; a word that is none is `other`."""
    word = groups.get("phase") or ""
    return word.lower() if word.lower() in PHASES else _SGLANG_PHASES.get(word.upper(), "other")


def _other(_groups: Groups) -> str:
    return "other"


GRAMMARS: tuple[Grammar, ...] = (
    Grammar(
        "vllm",
        re.compile(
            r"^execute_(?:\d+_)?context_(?P<context>\d{1,9})\([^)]*\)_generation_(?P<generation>\d{1,9})\([^)]*\)"
        ),
        _by_requests,
        "execute_context_0(0)_generation_32(32)",
    ),
    # New requests are being prefilled; cached ones may still be in a chunked prefill, so "mixed" is all it proves.
    Grammar(
        "vllm",
        re.compile(r"^execute_new_(?P<context>\d{1,9})_cached_(?P<generation>\d{1,9})"),
        _by_requests,
        "execute_new_0_cached_32",
    ),
    Grammar(
        "sglang",
        re.compile(r"^step\[(?P<mode>[A-Za-z_]+)\s+bs=(?P<batch>\d{1,9})[^\]]*\]"),
        _sglang,
        "step[DECODE bs=32]",
    ),
    Grammar(
        "generic",
        re.compile(r"^(?P<word>decode|prefill)(?:\[|_step|\b)", re.IGNORECASE),
        _by_word,
        "decode[17]",
        WORD,
    ),
    Grammar("table", re.compile(r"^step\[#[^\]]*\]$"), _other, "step[#17]"),
    Grammar("torch", re.compile(r"^ProfilerStep#\d+"), _other, "ProfilerStep#6", WINDOW),
)


def user_grammar(pattern: str) -> Grammar:
    """A grammar from a user's regex, with optional groups `phase` and `batch`; UsageError when it does not compile."""
    wanted = expression(pattern, "--step-pattern", "the step pattern is not a regular expression")
    return Grammar("user", wanted, _by_name, pattern, USER)


def parse(name: str, grammars: tuple[Grammar, ...] = GRAMMARS) -> Parsed | None:
    """What an annotation says about its step; None when it is not a step annotation."""
    return parse_all([name], grammars).get(name)


def parse_all(names: Iterable[str], grammars: tuple[Grammar, ...] = GRAMMARS) -> dict[str, Parsed]:
    """What each of many annotations says about its step, by the first grammar that knows it; others are left out."""
    found: dict[str, Parsed] = {}
    left = list(names)
    for grammar in grammars:
        for name, groups in zip(left, grammar.groups_of(left), strict=True):
            if groups is not None:
                found[name] = Parsed(grammar.engine, grammar.phase(groups), _batch_size(groups), grammar.rank)
        left = [name for name in left if name not in found]
    return found


def _batch_size(groups: Groups) -> int | None:
    known = [int(text) for key in ("batch", "context", "generation") if _is_count(text := groups.get(key) or "")]
    return sum(known) if known else None


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= 9
