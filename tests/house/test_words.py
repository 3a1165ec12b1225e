"""Names of files say what is in them."""

from house.source_tree import ROOMS, modules, name_of

POOR_NAMES = {f"{stem}.py" for stem in ("utils", "helpers", "common", "misc")}


def test_no_file_that_everything_is_added_to() -> None:
    assert [name_of(path) for path in modules(*ROOMS) if path.name in POOR_NAMES] == []
