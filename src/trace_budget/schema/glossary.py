"""The terms of the answers and the caveat codes in plain words, from glossary.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TERM, CAVEAT = "term", "caveat"


@dataclass(frozen=True, slots=True)
class Entry:
    """A word, whether it is a term or a caveat code, and two sentences about it."""

    word: str
    kind: str
    text: str


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry, terms first, each by its letters."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    found = [Entry(word, kind, text) for kind in (TERM, CAVEAT) for word, text in tables[f"{kind}s"].items()]
    return tuple(sorted(found, key=lambda entry: (entry.kind == CAVEAT, entry.word.lower())))


def looked_up(word: str) -> tuple[Entry, ...]:
    """The entries of a word, whatever its case and however its parts are joined."""
    wanted = _plain(word)
    return tuple(entry for entry in entries() if _plain(entry.word) == wanted)


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")
