"""Compressed files give every byte that is there: whole, cut, damaged, in several members, within limits."""

from __future__ import annotations

import gzip
import importlib.util
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_budget.errors import InputError
from trace_budget.io import gunzip
from trace_budget.io.inflate import (
    LIMIT_VARIABLE,
    Limits,
    PlainStream,
    compression_of,
    size_of,
)

PLAIN = b"".join(b"line %d of the text\n" % number for number in range(20_000))
PACKED = gzip.compress(PLAIN, mtime=0)


def read_plain(path: Path) -> bytes:
    with PlainStream(path) as stream:
        return stream.read()


def plain_of(folder: Path, data: bytes, size: int = -1) -> tuple[bytes, str]:
    """What a file with these bytes gives, and the damage that is told."""
    path = folder / "file"
    path.write_bytes(data)
    with PlainStream(path) as stream:
        parts = [stream.read(size)]
        while size > 0 and parts[-1]:
            parts.append(stream.read(size))
        assert stream.truncated == bool(stream.damage)
        return b"".join(parts), stream.damage


@pytest.mark.parametrize("size", [-1, 1_000, 65_536, 3_000_000])
@pytest.mark.parametrize("data", [PLAIN, PACKED, PACKED + b"\0" * 512])
def test_whole_files(tmp_path: Path, data: bytes, size: int) -> None:
    assert plain_of(tmp_path, data, size) == (PLAIN, "")


@pytest.mark.parametrize("fast", [True, False])
@settings(deadline=None)
@given(cut=st.integers(1, len(PACKED) - 1))
def test_a_cut_stream_gives_what_was_written_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, fast: bool, cut: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not fast:
            patch.setattr(gunzip, "_library", lambda: zlib)
        found, damage = plain_of(tmp_path_factory.mktemp("cut"), PACKED[:cut])
    if cut < 2:
        assert (found, damage) == (PACKED[:cut], "")
        return
    assert PLAIN.startswith(found)
    assert damage in ("gzip stream ends early", "gzip header ends early", "bytes follow that are no gzip member")
    expected = zlib.decompressobj(31).decompress(PACKED[:cut])
    assert len(found) >= len(expected) - 2  # isal keeps the last two bytes back until it has seen more


def test_isal_inflates_where_it_is_installed() -> None:
    expected = "isal.isal_zlib" if importlib.util.find_spec("isal") else "zlib"
    assert gunzip._library().__name__ == expected


def test_members_follow_each_other(tmp_path: Path) -> None:
    members = [gzip.compress(part, mtime=0) for part in (b"one ", b"", b"two ", b"three")]
    assert plain_of(tmp_path, b"\0\0".join(members)) == (b"one two three", "")


def test_every_header_field_is_stepped_over(tmp_path: Path) -> None:
    body = gzip.compress(b"text", mtime=0)[10:]
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + b"\x05\0" + b"extra" + b"name\0" + b"comment\0" + b"\xab\xcd"
    assert plain_of(tmp_path, head + body) == (b"text", "")
    for cut in range(2, len(head)):
        found, damage = plain_of(tmp_path, head[:cut])
        assert found == b""
        assert damage


def test_a_wrong_checksum_is_told_and_loses_nothing(tmp_path: Path) -> None:
    broken = PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:]
    assert plain_of(tmp_path, broken + PACKED) == (PLAIN + PLAIN, "gzip checksum does not match")


@pytest.mark.parametrize("wrong", [0, 1, len(PLAIN) - 1, len(PLAIN) + 1, (1 << 32) - 1])
def test_a_wrong_length_is_told_and_loses_nothing(tmp_path: Path, wrong: int) -> None:
    broken = PACKED[:-4] + wrong.to_bytes(4, "little")
    assert plain_of(tmp_path, broken + PACKED) == (PLAIN + PLAIN, "gzip length does not match")


def test_garbage_after_the_last_member_is_told(tmp_path: Path) -> None:
    assert plain_of(tmp_path, PACKED + b"garbage") == (PLAIN, "bytes follow that are no gzip member")


def test_a_flipped_bit_keeps_what_came_before(tmp_path: Path) -> None:
    broken = bytearray(PACKED)
    broken[len(PACKED) // 2] ^= 0xFF
    found, damage = plain_of(tmp_path, bytes(broken))
    same = next(at for at, (left, right) in enumerate(zip(found, PLAIN, strict=False)) if left != right)
    assert same > len(PLAIN) // 4
    assert damage.startswith("gzip")


def test_what_inflates_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * 3_000_000))
    with PlainStream(path, Limits(free_bytes=1_000_000, ratio=100)) as stream, pytest.raises(InputError) as caught:
        stream.read()
    assert "inflates too far" in caught.value.line()
    assert LIMIT_VARIABLE in caught.value.line()
    with PlainStream(path, Limits(free_bytes=1_000_000, ratio=2_000)) as stream:
        assert len(stream.read()) == 3_000_000
    monkeypatch.setenv(LIMIT_VARIABLE, "2000000")
    with pytest.raises(InputError, match="at most 2000000 bytes"):
        read_plain(path)
    monkeypatch.setenv(LIMIT_VARIABLE, "3000000")
    assert len(read_plain(path)) == 3_000_000
    monkeypatch.setenv(LIMIT_VARIABLE, "lots")
    with pytest.raises(InputError, match="not a size"):
        read_plain(path)


def test_the_limit_grows_with_the_file_up_to_a_total() -> None:
    allowed = Limits(free_bytes=100, ratio=10, total_bytes=500)
    assert [allowed.bound(size) for size in (1, 20, 1_000)] == [100, 200, 500]


def test_a_plain_file_that_grows_is_read_up_to_its_size(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(PLAIN)
    with PlainStream(path) as stream:
        with path.open("ab") as file:
            file.write(b"more")
        assert stream.read() == PLAIN


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in (
        (tmp_path, "a folder"),
        (pipe, "a pipe"),
        (Path("/dev/null"), "device"),
        (tmp_path / "no", "No such"),
    ):
        with pytest.raises(InputError, match=words):
            size_of(path)
    with pytest.raises(InputError, match="cannot be opened"):
        size_of(Path("a\0b"))


ZSTD_LIBRARIES = ("compression", "zstandard", "backports")
ZSTD_HELLO = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"  # one frame with one raw block
HAS_ZSTD = any(importlib.util.find_spec(name) for name in ZSTD_LIBRARIES)


@pytest.mark.skipif(HAS_ZSTD, reason="a zstd library is installed")
def test_zstd_without_a_library_is_refused_with_the_command(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.zst"
    path.write_bytes(ZSTD_HELLO)
    with pytest.raises(InputError, match=r"zstd -d trace\.json\.zst"):
        read_plain(path)


@pytest.mark.skipif(not HAS_ZSTD, reason="no zstd library is installed")
def test_zstd_frames_follow_each_other_and_a_cut_is_told(tmp_path: Path) -> None:
    assert plain_of(tmp_path, ZSTD_HELLO) == (b"hello", "")
    assert plain_of(tmp_path, ZSTD_HELLO * 500) == (b"hello" * 500, "")
    found, damage = plain_of(tmp_path, ZSTD_HELLO + ZSTD_HELLO[:-3])
    assert damage == "zstd stream ends early"
    assert b"hello" in found
    assert b"hellohello".startswith(found)
    found, damage = plain_of(tmp_path, ZSTD_HELLO + b"garbage")
    assert found == b"hello"
    assert damage.startswith("zstd stream damaged")


def test_compressions_are_told_by_their_first_bytes() -> None:
    assert compression_of(PACKED) == "gzip"
    assert [compression_of(data) for data in (b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"{", b"")] == [
        "zstd",
        "zip",
        "none",
        "none",
    ]
