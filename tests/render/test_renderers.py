"""What every renderer keeps to: one list, distinct suffixes, same bytes twice, control characters neutralised."""

from pathlib import Path

import pytest

from render.sample_reports import kernels_report
from trace_budget import render


@pytest.mark.parametrize("name", render.NAMES)
def test_rendering_twice_gives_the_same_bytes(name: str) -> None:
    renderer = render.load(name)
    assert renderer.name == name
    assert renderer.render(kernels_report()) == renderer.render(kernels_report())


@pytest.mark.parametrize("name", render.NAMES)
def test_terminal_escapes_in_names_are_gone(name: str) -> None:
    data = render.load(name).render(kernels_report())
    assert b"\x1b[31m" not in data
    assert "\x9b2J".encode() not in data


def test_suffixes_choose_the_format_and_none_is_claimed_twice() -> None:
    suffixes = [suffix for name in render.NAMES for suffix in render.load(name).suffixes]
    assert len(set(suffixes)) == len(suffixes)
    asked = (".txt", ".json", ".CSV", ".md", ".parquet", ".doc", "")
    assert [render.name_for_suffix(suffix) for suffix in asked] == [*render.NAMES, None, None]


def test_the_list_names_every_file_of_the_room() -> None:
    files = {path.stem for path in Path(render.__file__).parent.glob("as_*")}
    assert files == {*render.MODULES.values(), *render.DRAWN}
