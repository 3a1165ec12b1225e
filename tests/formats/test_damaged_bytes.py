"""A byte that is no text, in a key or in one name of many: the calls it costs are not lost without a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from formats.answers import ONE_EACH, SAMPLES, said
from trace_budget import api

NAME = b"rms_norm_kernel"
NORMS, STEPS = 12, 3
TEXTS = [name for name in ONE_EACH if Path(name).suffix in (".json", ".csv", ".html")]
NAMED_PER_CALL = [name for name in TEXTS if (SAMPLES / name).read_bytes().count(NAME) >= NORMS]
KEYED = [name for name in TEXTS if Path(name).suffix != ".csv"]
DAMAGED = {
    "changed": b"rms_n\xffrm_kernel",
    "added": b"rms_n\xfform_kernel",
    "half a character": b"rms_n\xe4\xb8rm_kernel",
}


def one_replaced(name: str, old: bytes, new: bytes, folder: Path) -> Path:
    """A sample whose third record with `old` has `new` in its place; in JSON it must be a name, or `old` a key."""
    data = (SAMPLES / name).read_bytes()
    named = rb'"name"\s*:\s*"' if old == NAME and name in KEYED else b""
    place = list(re.finditer(named + b"(" + re.escape(old) + b")", data))[2]
    path = folder / Path(name).name
    path.write_bytes(data[: place.start(1)] + new + data[place.end(1) :])
    return path


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("name", NAMED_PER_CALL)
def test_a_call_under_a_damaged_name_is_missed_with_a_warning(tmp_path: Path, name: str, damage: str) -> None:
    path = one_replaced(name, NAME, DAMAGED[damage], tmp_path)
    (told,) = (caveat for caveat in api.open_trace(path).caveats if caveat.code == "replacement_characters")
    assert (told.severity, told.count) == ("warning", 1)


@pytest.mark.parametrize("name", NAMED_PER_CALL)
def test_a_projection_says_how_many_calls_are_in_doubt_and_grades_the_count_lower(tmp_path: Path, name: str) -> None:
    asked = ("--kernel", "rms_norm_kernel", "--free", "--format", "json")
    path = one_replaced(name, NAME, DAMAGED["changed"], tmp_path)
    sound, damaged = (said("project", str(place), *asked).document for place in (SAMPLES / name, path))
    calls = [document["matched"]["calls_per_step"] for document in (sound, damaged)]
    codes = {caveat["code"]: caveat for caveat in damaged["caveats"]}
    assert damaged["evidence"]["Q2"]["grade"] == max(sound["evidence"]["Q2"]["grade"], "C")
    assert codes["damaged_name"]["count"] == 1
    assert STEPS * (calls[0] - calls[1]) == pytest.approx(1)


@pytest.mark.parametrize("name", KEYED)
def test_a_damaged_key_is_a_warning(tmp_path: Path, name: str) -> None:
    key = b'"name"' if b'"name"' in (SAMPLES / name).read_bytes() else b'"kernel_id"'
    path = one_replaced(name, key, key[:3] + b"\xff" + key[4:], tmp_path)
    (told,) = (caveat for caveat in api.open_trace(path).caveats if caveat.code == "damaged_bytes")
    assert (told.severity, told.count) == ("warning", 1)
