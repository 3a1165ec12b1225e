"""Labels for a set of kernels: the function first, then only what distinguishes those of the set, whatever the width.

A label is unique within its set, and `--kernel` takes it: as a spelling of the name, or with `…` for what is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from os.path import commonprefix

from trace_budget.kernel_names import fits_label, named
from trace_budget.text import ELLIPSIS, cells, cut_middle, safe

LEAST_HEAD = 10
TRIED = (
    1,
    0.75,
    0.5,
    1.25,
    1.5,
    1.75,
    2,
    3,
    4,
)  # widths, where the one asked for gives no label: narrower cuts may differ
SHORT_ENOUGH = 40  # arguments are shown whole up to this length
MOST_MIDDLE = 4  # a name this many times too long says more by its pieces than by its two ends
MOST_PIECES = 200
MOST_AFTER = 14
# functions whose arguments say what they do
_WRAPPER = re.compile(r"(?i:device_)?[Kk]ernel2?|kentry|.*elementwise_kernel.*|reduce_kernel|trampoline_kernel")
_WORD = re.compile(r"[A-Za-z]{4}")
_TILE = re.compile(r"[0-9]x[0-9]")
_USUAL = re.compile(
    "(?i:float|double|half|long|short|bool|char|void|unsigned|const|array|tensoriteratorbase|lambda|operator|impl"
    "|kernel|cuda|native|nocast|userargs|bias|tensor)"
)
Span = tuple[int, int]
Choose = Callable[[str, int, set[str], Sequence[Span]], Span | None]
_PIECE = re.compile(r"[A-Za-z0-9]+")


def labels(names: Sequence[str], width: int, among: Iterable[str] = ()) -> list[str]:
    """A label of at most `width` columns for each name; longer only where nothing shorter is unique.

    `among` are further names of the same trace that a label must not stand for.
    """
    room = _Room.of(dict.fromkeys([*names, *among]))
    made = {name: _label(name, width, room) for name in dict.fromkeys(names)}
    return [made[name] for name in names]


@dataclass(frozen=True, slots=True)
class _Room:
    """The set, by what its names may be written as."""

    names: tuple[str, ...]
    recorded: dict[str, set[str]] = field(default_factory=dict)
    short: dict[str, set[str]] = field(default_factory=dict)
    base: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str]) -> _Room:
        room = cls(tuple(names))
        for name in room.names:
            spelled = named(name)
            for text in spelled.recorded:
                room.recorded.setdefault(text, set()).add(name)
            room.short.setdefault(spelled.short, set()).add(name)
            room.base.setdefault(spelled.base, set()).add(name)
        return room

    def means(self, text: str) -> set[str]:
        """The names that a whole spelling stands for."""
        return self.recorded.get(text) or (self.short.get(text, set()) | self.base.get(text, set()))

    def fitting(self, label: str) -> set[str]:
        """The names that a cut label stands for."""
        first = label.split(ELLIPSIS, maxsplit=1)[0]
        return {
            name
            for name in self.names
            if any(text.startswith(first) and fits_label(label, text) for text in _texts(name))
        }


def _texts(name: str) -> tuple[str, ...]:
    spelled = named(name)
    return (*spelled.recorded, spelled.short)


def _label(name: str, width: int, room: _Room) -> str:
    spelled = named(name)
    plain = safe(spelled.recorded[-1])
    wraps = _WRAPPER.fullmatch(spelled.base) is not None
    whole = [spelled.short, plain] if wraps else [spelled.base, spelled.short, plain]
    unique = [text for text in whole if room.means(text) == {name}]
    fitting = next((text for text in unique if cells(text) <= width), None)
    if fitting is not None and (wraps or fitting in (spelled.base, plain) or cells(fitting) <= SHORT_ENOUGH):
        return fitting
    texts = dict.fromkeys((spelled.short, plain, safe(name)))
    cuts = (_cut(name, text, spelled.base, int(size * width), room) for size in TRIED for text in texts)
    return next((cut for cut in cuts if cut is not None), None) or fitting or (unique or [safe(name)])[0]


def _cut(name: str, text: str, base: str, width: int, room: _Room) -> str | None:
    """The text cut to what distinguishes it from the others of the set; None where no such cut fits."""
    heads = [width // 2, width // 3, LEAST_HEAD]
    if text.startswith(f"{base}<"):
        heads = [len(base) + 1, *heads]
    elif len(text) <= MOST_MIDDLE * width:
        middle = cut_middle(text, width)
        if ELLIPSIS in middle and room.fitting(middle) == {name}:
            return middle
    for head in heads:
        others = room.fitting(text[:head] + ELLIPSIS) - {name}
        for choose in (_piece, _place, partial(_place, before=20), partial(_place, before=40)):
            label = _told_apart(text, min(head, len(text)), width, others, choose)
            if label is not None:
                return label
    return None


def _told_apart(text: str, head: int, width: int, others: set[str], choose: Choose) -> str | None:
    """The beginning of the text and pieces that the others lack, as few as do; None where none do or fit."""
    chosen: list[Span] = []
    while cells(label := _joined(text, head, chosen)) <= width:
        others = {other for other in others if any(fits_label(label, written) for written in _texts(other))}
        if not others:
            return _filled(text, head, chosen, width)
        span = choose(text, head, others, chosen)
        if span is None or span in chosen:
            return None
        chosen = sorted([*chosen, span])
    return None


def _piece(text: str, head: int, others: set[str], chosen: Sequence[Span]) -> Span | None:
    """The word or number that fewest of the others hold as well; of equals the first that says much."""
    spans = [found.span() for found in islice(_PIECE.finditer(text, head), MOST_PIECES)]
    written = [named(other).short for other in others]

    def held(span: Span) -> tuple[int, bool, int]:
        piece = text[max(span[0] - 1, 0) : span[1] + 1]
        return sum(piece in other for other in written), not _says_much(text[slice(*span)]), span[0]

    left = [span for span in spans if span not in chosen]
    return min(left, key=held) if left else None


def _place(text: str, head: int, others: set[str], chosen: Sequence[Span], before: int = 8) -> Span | None:
    """Where the text parts from those of the others that are like it for longest, with what is up to `before` it."""
    shared = {len(commonprefix((text, named(other).short))) for other in others}  # noqa: RUF071  (names, not paths)
    spans = (_around(text, head, at, before) for at in sorted(shared, reverse=True) if head <= at < len(text))
    return next((span for span in spans if span not in chosen), None)


def _around(text: str, head: int, at: int, before: int) -> Span:
    begin = min((found.start() for found in _PIECE.finditer(text, max(at - before, head), at)), default=at)
    after = _PIECE.search(text, at)
    return max(begin, head), max(min(after.end() if after else len(text), at + MOST_AFTER), at + 1)


def _says_much(piece: str) -> bool:
    """Whether a piece helps a reader: a tile size, or a word that is not in every second name."""
    return _TILE.search(piece) is not None or (_WORD.search(piece) is not None and _USUAL.fullmatch(piece) is None)


def _filled(text: str, head: int, chosen: list[Span], width: int) -> str:
    """The label, and what else says much while there is room: what all share still says what the kernel is."""
    spans = [found.span() for found in islice(_PIECE.finditer(text, head), MOST_PIECES) if _says_much(found.group())]
    for span in spans:
        inside = any(first <= span[0] < last for first, last in chosen)
        longer = sorted([*chosen, span])
        if not inside and cells(_joined(text, head, longer)) <= width:
            chosen = longer
    return _joined(text, head, chosen)


def _joined(text: str, head: int, chosen: Sequence[Span]) -> str:
    """The spans in their order, each with the mark before it, `…` where something is left out."""
    label, end = text[:head], head
    for first, last in chosen:
        begin = max(first - 1, end)
        label += ("" if begin == end else ELLIPSIS) + text[begin:last]
        end = max(last, end)
    left = len(text) - end
    return label + (text[end:] if left <= 1 else ELLIPSIS)
