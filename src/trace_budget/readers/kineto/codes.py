"""Numbers for texts that come again and again."""

from __future__ import annotations

import numpy as np

from trace_budget.readers.kineto.scan import Numbers


class Codes(dict[bytes, int]):
    """A number for each different text, in order of appearance."""

    def __missing__(self, text: bytes) -> int:
        self[text] = code = len(self)
        return code

    def of_places(self, places: Numbers, texts: list[bytes]) -> Numbers:
        """The code of `texts[place]` for each place; new texts get theirs in the order of `places`."""
        absent = len(places)
        first = np.full(len(texts), absent)
        first[places[::-1]] = np.arange(absent)[::-1]  # of several writes to one place the last one stays
        used = np.flatnonzero(first < absent)
        used = used[np.argsort(first[used])]
        codes = np.zeros(len(texts), np.int64)
        codes[used] = [self[texts[place]] for place in used.tolist()]
        return codes[places]
