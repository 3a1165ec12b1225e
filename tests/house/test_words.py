"""Words and names that do not belong; each is put together here, so that this file does not hold it."""

import re
from pathlib import Path

import pytest

from house.source_tree import ROOMS, modules, name_of, texts

UNFINISHED = (
    "TO" + "DO",
    "FIX" + "ME",
    "XX" + "X",
    "raise NotImpl" + "ementedError",
    "pragma: no " + "cover",
    "assert Tr" + "ue",
)
FOREIGN = ("/wo" + "rk/", "shared/" + "design", "work" + "place", "sub" + "agent", "Cla" + "ude", "Anth" + "ropic")
WORDS = ("xf" + "ail", "hel" + "pers?", "package regis" + "tr(y|ies)", "founding ses" + "sion")
UNWANTED = re.compile("|".join([*map(re.escape, (*UNFINISHED, *FOREIGN)), rf"\b({'|'.join(WORDS)})\b"]))
POOR_NAMES = {f"{stem}.py" for stem in ("utils", "hel" + "pers", "common", "misc")}


@pytest.mark.parametrize("path", sorted(set(texts())), ids=name_of)
def test_no_unwanted_word(path: Path) -> None:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [f"{number}: {line.strip()[:80]}" for number, line in enumerate(lines, 1) if UNWANTED.search(line)]
    assert found == []


def test_no_file_that_everything_is_added_to() -> None:
    assert [name_of(path) for path in modules(*ROOMS) if path.name in POOR_NAMES] == []
