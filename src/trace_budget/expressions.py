"""Regular expressions that users give: matched in linear time, or within half a second, or refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from trace_budget.errors import UsageError

SECONDS = 0.5
_LONGEST_SHOWN = 80
# Python's own engine has no bound: it works in a process of its own, which its allowance of processor time ends.
_SEARCH = """
import json, re, signal, sys
seconds, pattern, texts = json.load(sys.stdin)
signal.setitimer(signal.ITIMER_PROF, seconds)
found = [match.groupdict() if (match := re.search(pattern, text)) else None for text in texts]
json.dump(found, sys.stdout)
"""

Groups = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression in Python's syntax; `where` is the option it comes from, for messages.

    All that needs neither lookaround nor backreferences takes time linear in the texts (Rust's engine). For the rest
    there is SECONDS of processor time.
    """

    text: str
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        """The named groups."""
        return tuple(re.compile(self.text).groupindex)

    def groups_of(self, texts: Sequence[str]) -> list[Groups | None]:
        """The named groups of the first match in each text, None without one. UsageError when that takes too long."""
        if not texts:
            return []
        return _in_linear_time(self.text, texts) if _is_linear(self.text) else self._within_limits(texts)

    def _within_limits(self, texts: Sequence[str]) -> list[Groups | None]:
        command = [sys.executable, "-I", "-S", "-c", _SEARCH]
        asked = json.dumps([SECONDS, self.text, list(texts)])
        done = subprocess.run(command, input=asked, capture_output=True, text=True, encoding="ascii", check=False)
        if done.returncode:
            raise UsageError(
                "the regular expression takes too long",
                where=self.where,
                expected=f"an answer for {len(texts)} texts within {SECONDS:g} s",
                found=repr(self.text[:_LONGEST_SHOWN]),
                advice="Without lookaround and backreferences it takes no time to speak of.",
            )
        found: list[Groups | None] = json.loads(done.stdout)
        return found


def expression(text: str, where: str, what: str = "not a regular expression") -> Expression:
    """The expression; UsageError, which begins with `what`, for a text that is none."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(what, where=where, found=f"{text[:_LONGEST_SHOWN]!r}: {error}") from error
    return Expression(text, where)


@cache
def _is_linear(pattern: str) -> bool:
    import polars as pl

    try:
        pl.Series([""]).str.extract_groups(pattern)
    except pl.exceptions.PolarsError:  # it uses what no engine does in linear time
        return False
    return True


def _in_linear_time(pattern: str, texts: Sequence[str]) -> list[Groups | None]:
    import polars as pl

    series = pl.Series(texts, dtype=pl.String)
    groups = series.str.extract_groups(pattern).struct.unnest()
    columns = {name: groups[name].to_list() for name in groups.columns if not name.isdecimal()}
    fits = series.str.contains(pattern).to_list()
    return [{name: values[at] for name, values in columns.items()} if fit else None for at, fit in enumerate(fits)]
