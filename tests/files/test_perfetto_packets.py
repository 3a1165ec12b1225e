"""Packet boundaries of Perfetto files: found whatever the pieces, lost wherever the file is cut."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket

from trace_budget.files.perfetto_packets import PacketScan, starts_with_packets

PACKETS = st.lists(st.binary(max_size=300), min_size=1, max_size=12)


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def file_of(packets: list[bytes]) -> bytes:
    return b"".join(b"\x0a" + varint(len(packet)) + packet for packet in packets)


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


@given(PACKETS, st.integers(min_value=1, max_value=40))
def test_pieces_do_not_matter(packets: list[bytes], step: int) -> None:
    data, scan = file_of(packets), PacketScan()
    for at in range(0, len(data), step):
        scan.feed(data[at : at + step])
    assert (scan.packets, scan.damage) == (len(packets), "")


@given(PACKETS, st.data())
def test_every_cut_that_is_not_a_boundary_is_noticed(packets: list[bytes], draw: st.DataObject) -> None:
    data, scan = file_of(packets), PacketScan()
    boundaries = {0, *accumulate(len(file_of([packet])) for packet in packets)}
    cut = draw.draw(st.integers(min_value=0, max_value=len(data)))
    scan.feed(data[:cut])
    assert (scan.damage == "") == (cut in boundaries)


def test_the_damage_says_where() -> None:
    scan = PacketScan()
    scan.feed(file_of([b"abc", b"defg"])[:-2])
    assert scan.damage == "cut inside packet 2, 2 bytes are missing"
    scan = PacketScan()
    scan.feed(file_of([b"abc"]) + b"\x0a")
    assert scan.damage == "cut in the head of packet 2"
    scan = PacketScan()
    scan.feed(file_of([b"abc"]) + b"junk")
    scan.feed(b"more")
    assert scan.damage == "no packet starts at byte 5"


@pytest.mark.parametrize("seal", ["timestamp", "trusted_packet_sequence_id", "trusted_uid", "trusted_pid"])
def test_a_trace_is_recognised_by_any_field_that_every_writer_sets(seal: str) -> None:
    packet = TracePacket()
    packet.clock_snapshot.primary_trace_clock = 6
    setattr(packet, seal, 4242)
    data = Trace(packet=[packet, TracePacket()]).SerializeToString()
    assert starts_with_packets(data)
    assert starts_with_packets(data + b"whatever follows")
    assert not starts_with_packets(data[:-1])


def test_a_jax_xspace_is_not_a_trace() -> None:
    event = b"\x08\x01\x10\x80\x02\x18\x90\x03"
    plane = b"\x08\x01" + field(2, b"/device:GPU:0") + field(3, b"\x08\x07" + field(4, event))
    assert not starts_with_packets(field(1, plane))
    assert not starts_with_packets(field(1, field(2, b"/host:CPU") + field(3, b"\x08\x07")))


@given(st.text(max_size=400))
def test_text_that_starts_with_a_line_break_is_not_a_trace(text: str) -> None:
    assert not starts_with_packets(b"\n" + "".join(c for c in text if c >= " ").encode())


def test_nothing_and_empty_packets_are_not_a_trace() -> None:
    assert not starts_with_packets(b"")
    assert not starts_with_packets(b"\x0a\x00\x0a\x00")
    assert not starts_with_packets(b"\x0a" + b"\xff" * 12)
    assert not starts_with_packets(Trace(packet=[TracePacket(timestamp=7)]).SerializeToString())
