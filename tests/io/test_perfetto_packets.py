"""Packets of Perfetto files: boundaries and damage are found whatever the pieces, lost wherever the file is cut."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from random import Random

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket

from fuzz.protobuf_level import packets_of
from shared_traces import SHARED, needs_shared
from trace_budget.io.perfetto import packets as perfetto_packets
from trace_budget.io.perfetto.packets import PacketCheck, PacketScan, starts_with_packets

FOLDER = Path(__file__).parents[2] / "sample_traces" / "perfetto"
SAMPLES = [path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in (".pftrace", ".proto")]
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


GOOD = TracePacket(timestamp=7, trusted_packet_sequence_id=1).SerializeToString()
BAD = field(11, b"")[:-1] + b"\x7f"  # an event that would end behind the packet


def checked(data: bytes, step: int) -> str:
    check = PacketCheck()
    for at in range(0, len(data), step):
        check.feed(data[at : at + step])
    return check.damage


def parses(data: bytes) -> bool:
    try:
        Trace.FromString(data)
    except DecodeError:
        return False
    return True


def told(bad: list[int]) -> str:
    """What must be said of damaged packets that start at these bytes of a file."""
    which = "1 packet is damaged, at" if len(bad) == 1 else f"{len(bad)} packets are damaged, the first at"
    return f"{which} byte {bad[0]}; whole packets after it were read" if bad else ""


def starts(packets: list[bytes]) -> list[int]:
    return list(accumulate((len(file_of([packet])) for packet in packets), initial=0))[:-1]


@given(st.lists(st.sampled_from([GOOD, BAD, b"", GOOD * 40, BAD * 70]), max_size=12), st.integers(1, 400))
def test_damaged_packets_are_counted_whatever_the_pieces(packets: list[bytes], step: int) -> None:
    bad = [at for at, packet in zip(starts(packets), packets, strict=True) if packet[:2] == BAD]
    assert checked(file_of(packets), step) == told(bad)


@given(PACKETS, st.integers(1, 40))
def test_whatever_the_packets_hold_protobuf_is_the_judge_of_each(packets: list[bytes], step: int) -> None:
    bad = [at for at, packet in zip(starts(packets), packets, strict=True) if not parses(file_of([packet]))]
    assert checked(file_of(packets), step) == told(bad)


def test_a_byte_changed_inside_a_packet_is_told_whenever_the_file_no_longer_parses() -> None:
    rng = Random(20)
    broken = sound = 0
    for data in SAMPLES:
        packets = packets_of(data)
        for _ in range(300):
            changed = list(packets)
            number = rng.randrange(len(packets))
            body = bytearray(packets[number])
            body[rng.randrange(len(body))] = rng.randrange(256)
            changed[number] = bytes(body)
            made = file_of(changed)
            bad = [] if parses(made) else [starts(changed)[number]]
            assert checked(made, 4096) == told(bad)
            broken, sound = broken + bool(bad), sound + (not bad)
    assert broken > 100
    assert sound > 100


@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_sound_files_are_sound_and_cut_ones_no_more_than_cut(data: bytes) -> None:
    assert checked(data, 1) == checked(data, len(data)) == ""
    for cut in range(1, len(data), 37):
        scan = PacketScan()
        scan.feed(data[:cut])
        assert checked(data[:cut], 1000) == scan.damage


@needs_shared
def test_a_file_made_from_a_real_run_is_sound() -> None:
    assert checked((SHARED / "pftrace" / "mi350_subset.pftrace").read_bytes(), 70_000) == ""


@pytest.mark.parametrize(
    "packet",
    [
        field(11, field(23, b"\xff\xfe is no UTF-8")),
        b"\xfa\x7f\x02ab",
        field(11, field(9901, b"\xff")),
        varint(3000 << 3 | 3) + b"\x08\x01" + varint(3000 << 3 | 4),
        varint(11 << 3) + b"\x05",
        varint(11 << 3 | 2) + b"\x82\x80\x80\x00\x48\x63",
        field(50, b"\x00 is not looked into"),
        field(11, field(4, GOOD)),
    ],
    ids=["text", "field", "extension", "group", "type", "long length and enum", "compressed", "field of another"],
)
def test_what_writers_may_do_is_no_damage(packet: bytes) -> None:
    assert checked(file_of([GOOD, packet, GOOD]), 10) == ""
    assert checked(file_of([GOOD, packet, BAD]), 10) == told([len(file_of([GOOD, packet]))])


def test_damage_and_a_lost_boundary_are_both_told() -> None:
    data = file_of([GOOD, BAD, GOOD])
    bad = told(starts([GOOD, BAD])[1:])
    for step in (1, 5, 100):
        assert checked(data + b"junk" + data, step) == f"{bad}; no packet starts at byte {len(data)}"
        assert checked(data[:-2], step) == f"{bad}; cut inside packet 3, 2 bytes are missing"


@pytest.mark.parametrize("step", [1, 7, 150, 10_000])
def test_a_packet_beyond_the_limit_is_not_kept(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfetto_packets, "LONGEST_BYTES", 100)
    packets = [GOOD, BAD, BAD * 300, BAD, GOOD, BAD * 300, BAD * 300, b"", BAD, BAD * 300]
    data, check = file_of(packets), PacketCheck()
    for at in range(0, len(data), step):
        check.feed(data[at : at + step])
        assert sum(map(len, check._held)) <= 100
    found = check.damage.partition(";")[0]
    if step < 600:  # a long packet that is whole in one piece need not be kept
        assert found == f"3 packets are damaged, the first at byte {len(file_of([GOOD]))}"
    else:
        assert found.startswith("7 packets are damaged")
