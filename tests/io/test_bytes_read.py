"""Bytes read are counted as they lie on the disk, to the end, and only while somebody watches."""

import gzip
from pathlib import Path

from trace_budget.cli._output import how_far
from trace_budget.io.bytes_read import watched
from trace_budget.io.inflate import PlainStream


def test_reading_is_watched_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 40_000, compresslevel=1))
    seen: list[tuple[int, int]] = []
    with watched(lambda done, whole: seen.append((done, whole))), PlainStream(path) as stream:
        assert len(stream.read()) == 256 * 40_000
    size = path.stat().st_size
    assert {whole for _, whole in seen} == {size}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == size
    before = len(seen)
    with PlainStream(path) as stream:
        stream.read()
    assert len(seen) == before


def test_it_is_said_in_mb_and_percent() -> None:
    assert how_far(31_400_000, 62_000_000) == "31 of 62 MB, 51 %"
