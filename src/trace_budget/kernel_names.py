"""Kernel names as people write them: demangled, without return type, namespaces and parameters."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from trace_budget.text import ELLIPSIS, safe

SUFFIXES = (" [clone .kd]", ".kd")
MOST_REFERENCES = 48
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
_SOURCE_NAME = re.compile(r"[1-9][0-9]{0,3}")
_OPEN, _CLOSE = "<({[", ">)}]"
_NAMESPACE = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\b[A-Za-z_]\w*)::")
_ENDS_A_FUNCTION = re.compile(r"(?: (?:const|\[clone [^\]]*\]|&{1,2}))*")
_TEXT_BEFORE = re.compile(r"[\w>~\])]")


class Named(NamedTuple):
    """A name as recorded, as a person would write it, without namespaces and parameters, and its bare function."""

    recorded: tuple[str, ...]
    short: str
    base: str


@cache
def demangled(name: str) -> str | None:
    """The C++ name behind an Itanium-mangled one (LLVM's demangler); None when it cannot be demangled.

    Each reference back may double the text, so a name of 300 bytes can stand for more than any memory holds: names with
    more than MOST_REFERENCES are left as they are.
    """
    from pycxxfilt import itanium_demangle

    if len(_REFERENCE.findall(name)) > MOST_REFERENCES:
        return None
    try:
        return str(itanium_demangle(name) or "") or None
    except ValueError:
        return None


@cache
def named(name: str) -> Named:
    """How a name may be written. Names that are no C++ functions stay whole."""
    bare = name
    for suffix in SUFFIXES:
        bare = bare.removesuffix(suffix)
    plain = (demangled(bare) if bare.startswith("_Z") else None) or bare
    recorded = tuple(dict.fromkeys(text for text in (name, bare, plain, safe(plain)) if text))
    if plain.startswith("_Z"):
        return _mangled(recorded, plain)
    function = _function(plain)
    if function is None:
        return Named(recorded, plain, plain)
    short = _NAMESPACE.sub("", function) or plain
    base = short[: _base_end(short)]
    return Named(recorded, short, base or short)


def _mangled(recorded: tuple[str, ...], name: str) -> Named:
    """What a name that is not demangled says all the same: its function, with the rest as if it were arguments."""
    at, base = 3 if name.startswith("_ZN") else 2, ""
    while size := _SOURCE_NAME.match(name, at):
        at = size.end() + int(size.group())
        base = name[size.end() : at]
    return Named(recorded, f"{base}<{name[at:]}>", base) if base else Named(recorded, name, name)


def _function(text: str) -> str | None:
    """The qualified function of a C++ signature, with template arguments; None for other texts.

    `void ns::f<int>(float*)` gives `ns::f<int>`. Text and a space before a bracket is prose (`Memcpy DtoH (Device)`).
    """
    places = _top_level(text)
    if places is None:
        return None
    spaces, opened = places
    call = next((at for at in reversed(opened) if text[at] == "(" and at), None)
    if call is not None and _is_signature(text, call):
        head = text[:call]
    elif (len(spaces) < 2 and text.endswith(">")) or (not spaces and "::" in text):
        head = text
    else:
        return None
    first = max((at for at in spaces if at < len(head)), default=-1) + 1
    return head[first:] or None


def _is_signature(text: str, call: int) -> bool:
    """Whether the bracket at `call` begins the parameters: it follows a name, and nothing but qualifiers follow it."""
    end = _matching(text, call)
    return end is not None and bool(_TEXT_BEFORE.match(text[call - 1])) and bool(_ENDS_A_FUNCTION.fullmatch(text[end:]))


def _matching(text: str, start: int) -> int | None:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at + 1
    return None


def _top_level(text: str) -> tuple[list[int], list[int]] | None:
    """Where spaces and opening brackets stand outside all brackets; None when the brackets do not pair."""
    spaces, opened, stack = [], [], ""
    for at, char in enumerate(text):
        if char in _OPEN:
            if not stack:
                opened.append(at)
            stack += char
        elif char in _CLOSE and text[at - 1 : at + 1] != "->":
            pairs = stack.endswith(_OPEN[_CLOSE.index(char)])
            if not pairs and char != ">":  # where it pairs with nothing it is an operator: `enable_if<(8 > 0)>`
                return None
            stack = stack[:-1] if pairs else stack
        elif char == " " and not stack:
            spaces.append(at)
    return None if stack else (spaces, opened)


def _base_end(short: str) -> int:
    """Where the template arguments of the function begin: of `Foo<int>::run<4>` the last ones, `Foo<int>::run`."""
    if not short.endswith(">"):
        return len(short)
    depth = 0
    for at in range(len(short) - 1, -1, -1):
        depth += (short[at] == ">" and short[at - 1 : at + 1] != "->") - (short[at] == "<")
        if not depth:
            return at
    return len(short)


def fits_label(label: str, text: str) -> bool:
    """Whether a label whose `…` stand for anything is the text cut."""
    if ELLIPSIS not in label:
        return label == text
    first, *middle, last = label.split(ELLIPSIS)
    if not text.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(last) and len(text) - len(last) >= at
