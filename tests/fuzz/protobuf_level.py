"""Mutations of Perfetto traces: packets missing, doubled, swapped, cut, with wrong lengths or other fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from . import bytes_level

_PACKET = 0x0A


def packets_of(data: bytes) -> list[bytes]:
    """The packets' contents; what follows the last whole one is left out."""
    found, at = [], 0
    while at < len(data) and data[at] == _PACKET:
        length, body = _varint(data, at + 1)
        if body < 0 or body + length > len(data):
            break
        found.append(data[body : body + length])
        at = body + length
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        value |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return value, place + 1
        shift += 7
    return 0, -1


def written_varint(value: int) -> bytes:
    """A variable-length integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def trace_of(packets: Sequence[bytes]) -> bytes:
    """A trace file of packets."""
    return b"".join(bytes([_PACKET]) + written_varint(len(packet)) + packet for packet in packets)


def gone(rng: Random, packets: list[bytes]) -> None:
    """A packet is missing."""
    del packets[rng.randrange(len(packets))]


def twice(rng: Random, packets: list[bytes]) -> None:
    """A packet stands there twice."""
    at = rng.randrange(len(packets))
    packets.insert(rng.randrange(len(packets) + 1), packets[at])


def swapped(rng: Random, packets: list[bytes]) -> None:
    """Two packets change places."""
    a, b = rng.randrange(len(packets)), rng.randrange(len(packets))
    packets[a], packets[b] = packets[b], packets[a]


def inside(rng: Random, packets: list[bytes]) -> None:
    """Bytes inside one packet change; its length is right."""
    at = rng.randrange(len(packets))
    packets[at] = rng.choice(bytes_level.MUTATIONS)(rng, packets[at])


def other_field(rng: Random, packets: list[bytes]) -> None:
    """A packet holds a field nobody knows, or its timestamp again."""
    at = rng.randrange(len(packets))
    time = rng.choice((0, 1, 2**63, 2**64 - 1))
    packets[at] += rng.choice((b"\x40" + written_varint(time), b"\xfa\x7f\x02ab", b"\x0b", b"\x58\x01"))


MUTATIONS: tuple[Callable[[Random, list[bytes]], None], ...] = (gone, twice, swapped, inside, inside, other_field)


def mutated(rng: Random, data: bytes) -> tuple[bytes, list[str]]:
    """The trace after one to three changes of packets, or with one wrong length; and what they are called."""
    packets = packets_of(data)
    if not packets:
        return data, []
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        change = rng.choice(MUTATIONS)
        if packets:
            change(rng, packets)
            done.append(change.__name__)
    return trace_of(packets), done
