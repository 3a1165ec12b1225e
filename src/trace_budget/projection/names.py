"""Kernel names as people type them: recorded, demangled, without the code-object suffixes."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from trace_budget.expressions import expression
from trace_budget.kernel_names import fits_label, named
from trace_budget.text import ELLIPSIS

_WORDS = re.compile(r"[a-z0-9]+")


def matching(pattern: str, names: list[str]) -> list[str]:
    """The names a pattern means: an exact name, else all that contain it; `glob:` and `re:` say so themselves.

    Each name is tried as recorded, without `.kd` / ` [clone .kd]`, and demangled; then without namespaces and
    parameters, and as a label that tables show. UsageError for a bad `re:`.
    """
    fits = _test(pattern)
    if fits is None:
        found = _as_written(pattern, names)
        if found or ELLIPSIS not in pattern:
            return found or [name for name in names if any(pattern in spelling for spelling in spellings(name))]
        fits = _searching(".*".join(re.escape(part) for part in pattern.split(ELLIPSIS)))
    every = {spelling: None for name in names for spelling in named(name).recorded}
    fitting = fits(list(every))
    return [name for name in names if not fitting.isdisjoint(named(name).recorded)]


def _as_written(text: str, names: list[str]) -> list[str]:
    """The names of which the text is a whole spelling or a label: as recorded before what leaves parts of it out."""
    exact = [name for name in names if text in named(name).recorded]
    if exact:
        return exact
    short = [name for name in names if text in (named(name).short, named(name).base)]
    return short or (
        [name for name in names if any(fits_label(text, spelling) for spelling in spellings(name))]
        if ELLIPSIS in text
        else []
    )


_Test = Callable[[Sequence[str]], set[str]]


def _test(pattern: str) -> _Test | None:
    """Which of many texts a `glob:` or `re:` pattern means; None for plain text."""
    if pattern.startswith("glob:"):
        wanted = pattern.removeprefix("glob:")
        return lambda names: {name for name in names if fnmatch.fnmatchcase(name, wanted)}
    if pattern.startswith("re:"):
        return _searching(pattern.removeprefix("re:"))
    return None


def _searching(pattern: str) -> _Test:
    wanted = expression(pattern, "--kernel")

    def fitting(names: Sequence[str]) -> set[str]:
        found = wanted.groups_of(names)
        return {name for name, groups in zip(names, found, strict=True) if groups is not None}

    return fitting


def closest(pattern: str, names: list[str], count: int = 5) -> list[str]:
    """The names most like a pattern that matched nothing."""
    bare = pattern.removeprefix("glob:").removeprefix("re:").strip("*").lower()
    near = get_close_matches(bare, [name.lower()[:200] for name in names], n=count, cutoff=0.3)
    by_lower = {name.lower()[:200]: name for name in names}
    parts = [part for part in _WORDS.findall(bare) if len(part) > 3]
    sharing = [name for name in names if any(part in name.lower() for part in parts)]
    # a slip in one word of a long name, which as a whole is like nothing
    words = {name: [word for word in _WORDS.findall(name.lower()) if len(word) > 3] for name in names}
    slips = [name for name in names if any(get_close_matches(part, words[name], n=1, cutoff=0.75) for part in parts)]
    return list(dict.fromkeys([*sharing[:count], *(by_lower[name] for name in near), *slips]))[:count]


def spellings(name: str) -> tuple[str, ...]:
    """The recorded name and the ways a person would write it."""
    spelled = named(name)
    return tuple(dict.fromkeys((*spelled.recorded, spelled.short)))
