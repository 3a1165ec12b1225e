"""Kernel names as people type them: recorded, demangled, without the code-object suffixes."""

from __future__ import annotations

import ctypes
import fnmatch
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from trace_budget.expressions import expression

SUFFIXES = (" [clone .kd]", ".kd")
_WORDS = re.compile(r"[a-z0-9]+")
_RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")


def matching(pattern: str, names: list[str]) -> list[str]:
    """The names a pattern means: an exact name, else all that contain it; `glob:` and `re:` say so themselves.

    Each name is tried as recorded, without `.kd` / ` [clone .kd]`, and demangled. UsageError for a bad `re:`.
    """
    fits = _test(pattern)
    if "…" in pattern and fits is None:  # as tables cut names
        fits = _searching(".*".join(re.escape(part) for part in pattern.split("…")))
    if fits is not None:
        every = {spelling: None for name in names for spelling in spellings(name)}
        fitting = fits(list(every))
        return [name for name in names if not fitting.isdisjoint(spellings(name))]
    exact = [name for name in names if pattern in spellings(name)]
    return exact or [name for name in names if any(pattern in spelling for spelling in spellings(name))]


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
    bare = name
    for suffix in SUFFIXES:
        bare = bare.removesuffix(suffix)
    plain = demangled(bare) if bare.startswith("_Z") else None
    return tuple(dict.fromkeys(text for text in (name, bare, plain) if text))


def _demangle_of(library: str) -> Any:
    # Named outright: looking for libraries starts other programs.
    try:
        return ctypes.CDLL(library).__cxa_demangle
    except (OSError, AttributeError):
        return None


@cache
def _demangler() -> Callable[[bytes], bytes | None] | None:
    """`__cxa_demangle` of the C++ runtime, where the machine has one."""
    demangle = next(filter(None, map(_demangle_of, _RUNTIMES)), None)
    if demangle is None:
        return None
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    demangle.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]

    def call(mangled: bytes) -> bytes | None:
        status = ctypes.c_int()
        pointer = demangle(mangled, None, None, ctypes.byref(status))
        if not pointer:
            return None
        text = ctypes.string_at(pointer)
        free(pointer)
        return text

    return call


@cache
def demangled(name: str) -> str | None:
    """The C++ name behind an Itanium-mangled one; None when it cannot be demangled."""
    call = _demangler()
    text = call(name.encode()) if call else None
    return text.decode(errors="replace") if text else None
