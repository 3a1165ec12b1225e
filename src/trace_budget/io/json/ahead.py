"""Streams a large JSON array through a faster scanner on threads, and leaves whatever it declines to the usual path."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from trace_budget.io.json.segment import Piece
from trace_budget.io.json.stream import ObjectStream, Section

T = TypeVar("T")
THREADS = min(2, os.cpu_count() or 1)


class Scanned(Protocol):
    """What a scanner made of a segment; `stop` is the index behind the array's closing bracket."""

    @property
    def stop(self) -> int: ...  # noqa: D102  (told above)


S = TypeVar("S", bound=Scanned)


@dataclass(frozen=True, slots=True)
class _Ahead(Generic[S]):
    cut: Section
    found: Future[S | None]


class AheadStream(ObjectStream[T], Generic[T, S]):
    """An ObjectStream whose segments are first given to `scan`, while the next ones are being read.

    `scan` runs on threads, must not change the buffer, and gives None for a segment it declines: that one is decoded as
    if there were no scanner. So is all damage, and the same segments are cut: results are the same either way.
    """

    def batches(self, scan: Callable[[bytearray], S | None]) -> Iterator[list[T] | S]:
        """The objects segment by segment, in the order of the file: as `scan` gives them, else as a list."""
        return self._told(self._scanned(scan))

    def _scanned(self, scan: Callable[[bytearray], S | None]) -> Generator[list[T] | S, None, bytes]:
        rest, final = self._open(), False
        ahead: deque[_Ahead[S]] = deque()
        with ThreadPoolExecutor(THREADS) as threads:
            while not self.ended and (ahead or not final):
                if not final:
                    rest, final = self._filled(ahead, rest, lambda buffer: threads.submit(scan, buffer))
                first = ahead.popleft()
                objects, piece = self._taken(first.cut, first.found.result())
                if piece.ended or piece.stop < len(first.cut.buffer):
                    self._give_back(first.cut, ahead, rest)
                    rest, final = first.cut.rest(piece.stop), first.cut.final
                yield objects
                if not (self.ended or ahead):
                    self._kept(rest)
        return rest

    def _filled(
        self, ahead: deque[_Ahead[S]], rest: bytes, begin: Callable[[bytearray], Future[S | None]]
    ) -> tuple[bytes, bool]:
        """Read on and cut until enough is ahead; the text that remains, and whether it was the last.

        Never ahead of an unusually long segment: what is read ahead stays less than what is read behind the array.
        """
        final = False
        while not final and (not ahead or (len(ahead) <= THREADS and len(rest) <= self._segment_bytes)):
            cut = self._cut(rest)
            rest, final = cut.after[1:], cut.final
            if cut.buffer:
                ahead.append(_Ahead(cut, begin(cut.buffer)))
            else:
                self._kept(rest)
        return rest, final

    def _taken(self, cut: Section, found: S | None) -> tuple[list[T] | S, Piece[T]]:
        """One segment's objects, and where in it reading stopped."""
        if found is not None and found.stop == len(cut.buffer):
            piece: Piece[T] = Piece([], found.stop)
        elif found is not None and self._reader.closes(cut.buffer, found.stop - 1):
            piece = Piece([], found.stop, ended=True)
        else:
            found, piece = None, self._reader.read(cut.buffer, self._offset - 1, cut.final)
        self._note_keys(cut.buffer, piece.stop)
        self._offset += piece.stop - 1
        self.ended = piece.ended
        return (piece.objects if found is None else found), piece

    def _give_back(self, cut: Section, ahead: deque[_Ahead[S]], rest: bytes) -> None:
        """Undo the reading ahead after a segment that did not end where it was cut: it would be cut in other places.

        `rest` is what was read and not cut yet.
        """
        text = rest
        for later in reversed(ahead):
            later.found.cancel()
            text = bytes(later.cut.buffer[1:-1]) + (later.cut.after if later.cut.final else b"," + text)
        ahead.clear()
        self._plain.give_back(text[max(len(cut.after) - 1, 0) :])
