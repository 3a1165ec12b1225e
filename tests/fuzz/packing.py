"""Mutated content packed as the field packs it: gzip in one or several members, zip; and damage to the packed bytes."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from random import Random

from . import bytes_level


def plain(data: bytes) -> bytes:
    """The content of a gzip file; anything else as it is."""
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def one_member(_: Random, data: bytes) -> bytes:
    """An ordinary gzip file."""
    return gzip.compress(data, 1, mtime=0)


def several_members(rng: Random, data: bytes) -> bytes:
    """The content cut into members, zero padding between some."""
    parts, at = [], 0
    while at < len(data):
        end = at + rng.randrange(1, len(data) + 1)
        parts.append(gzip.compress(data[at:end], 1, mtime=0) + rng.choice((b"", b"", b"\0" * 32)))
        at = end
    return b"".join(parts)


def wrong_checksum(_: Random, data: bytes) -> bytes:
    """A gzip file whose checksum is another's."""
    packed = gzip.compress(data, 1, mtime=0)
    return packed[:-8] + bytes(byte ^ 0x5A for byte in packed[-8:-4]) + packed[-4:]


def damaged(rng: Random, data: bytes) -> bytes:
    """A gzip file with a mutation of its own."""
    return rng.choice(bytes_level.MUTATIONS)(rng, gzip.compress(data, 1, mtime=0))


def two_documents(rng: Random, data: bytes) -> bytes:
    """The content, and then another file in a member of its own."""
    return gzip.compress(data, 1, mtime=0) + gzip.compress(
        rng.choice((data, data[: len(data) // 3], b"garbage")), 1, mtime=0
    )


def with_header_fields(rng: Random, data: bytes) -> bytes:
    """A member with a name, a comment, extra bytes and a header checksum, or flags that promise them and lie."""
    body = zlib.compressobj(1, zlib.DEFLATED, -15)
    packed = body.compress(data) + body.flush()
    flags = rng.randrange(32)
    fields = (
        (b"\x04\0abcd" if flags & 4 else b"") + (b"name\0" if flags & 8 else b"") + (b"note\0" if flags & 16 else b"")
    )
    fields += b"\0\0" if flags & 2 else b""
    told = flags if rng.random() < 0.7 else rng.randrange(256)
    end = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08" + bytes([told]) + b"\0" * 6 + fields + packed + end


def zipped(rng: Random, data: bytes) -> bytes:
    """A zip archive, whole or damaged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(rng.choice(("trace", "../../trace", "/etc/trace", "a\x1b[2Jb")))
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
    packed = buffer.getvalue()
    return packed if rng.random() < 0.5 else rng.choice(bytes_level.MUTATIONS)(rng, packed)


PACKINGS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(one_member, several_members, wrong_checksum, damaged, damaged, two_documents, with_header_fields, zipped),
)
