"""The outer layer of a Perfetto trace file, a sequence of length-delimited TracePackets; which of them are damaged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

LONGEST_BYTES = 64 << 20
_PACKET = 0x0A  # Trace.packet: field 1, length-delimited
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT = 10
_LAST_FIELD = 2000
_LOOKED_AT = 2
# Fields that every writer sets: timestamp, trusted_uid, trusted_packet_sequence_id, timestamp_clock_id, trusted_pid.
_SEALS = frozenset({8, 3, 10, 58, 79})
# TracePacket fields that are messages or byte strings in every version; other formats use these numbers otherwise.
_ALWAYS_BYTES = frozenset({1, 2, 5, 6, 11, 12, 33, 35, 36, 43, 44, 59, 60, 89})


class PacketScan:
    """Follows the packet boundaries of a trace that is fed piece by piece, without looking into the packets.

    `damage` is empty when everything fed so far ends with a whole packet; else it says what is wrong. `whole` is the
    byte where the last whole packet ends, `lost` whether no packet starts there.
    """

    def __init__(self) -> None:
        self.packets = 0
        self.whole = 0
        self._rest = b""
        self._skip = 0
        self._at = 0
        self._lost = ""

    @property
    def damage(self) -> str:
        """Why the bytes fed so far are not a whole trace; empty when they are."""
        if self._lost:
            return self._lost
        if self._skip:
            return f"cut inside packet {self.packets}, {self._skip} bytes are missing"
        return f"cut in the head of packet {self.packets + 1}" if self._rest else ""

    @property
    def lost(self) -> bool:
        """Whether the boundaries were lost: no packet starts where one should, nothing behind it is followed."""
        return bool(self._lost)

    @property
    def until(self) -> int:
        """The byte where the packet that is not whole yet will end, as far as its head says."""
        return self._at + self._skip

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        if self._lost:
            return
        data, start = self._rest + data, self._at - len(self._rest)
        self._at = start + len(data)
        at, size = self._skip, len(data)
        while at < size:
            self.whole = start + at
            body = self._body(data, at, start)
            if body < 0:
                break
            at = body
        if at == size:
            self.whole = start + at
        self._rest = data[at:] if at < size else b""
        self._skip = max(at - size, 0)

    def _body(self, data: bytes, at: int, start: int) -> int:
        """Where the packet that starts at `at` ends; -1 when its head is not all there, or no packet starts there."""
        if data[at] != _PACKET:
            self._lost = f"no packet starts at byte {start + at}"
            return -1
        length, after = varint(data, at + 1)
        if after < 0:
            if len(data) - at > _MAX_VARINT:
                self._lost = f"no packet starts at byte {start + at}"
            return -1
        self.packets += 1
        return after + length


class PacketCheck:
    """Parses every whole packet of a trace that is fed piece by piece: trace_processor drops what it cannot, silently.

    A packet that lies across pieces is kept until it is whole; one longer than LONGEST_BYTES is not looked into.
    """

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

        self._parse: Callable[[bytes], object] = Trace.FromString
        self._scan = PacketScan()
        self._fed = 0
        self._checked = 0
        self._held: list[bytes] = []
        self._bad, self._first = 0, 0

    @property
    def damage(self) -> str:
        """Which packets are damaged, and why the bytes fed so far are not a whole trace; empty when all is well."""
        return "; ".join(filter(None, (self._damaged(), self._scan.damage)))

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        start, scan = self._fed, self._scan
        self._fed += len(data)
        scan.feed(data)
        fresh = max(self._checked - start, 0)
        if scan.whole > self._checked:
            self._check(b"".join((*self._held, data[fresh : scan.whole - start])))
            self._held = []
            self._checked, fresh = scan.whole, scan.whole - start
        if scan.lost or scan.until - self._checked > LONGEST_BYTES:
            self._held = []
            self._checked = max(scan.until, self._fed)
        elif fresh < len(data):
            self._held.append(data[fresh:])

    def _damaged(self) -> str:
        """The damaged packets in words."""
        if not self._bad:
            return ""
        which = "1 packet is damaged, at" if self._bad == 1 else f"{self._bad} packets are damaged, the first at"
        return f"{which} byte {self._first}; whole packets after it were read"

    def _check(self, packets: bytes) -> None:
        """Parse whole packets, all at once; one by one only where that fails."""
        from google.protobuf.message import DecodeError

        with suppress(DecodeError, UnicodeDecodeError):
            self._parse(packets)
            return
        at = 0
        while at < len(packets):
            length, body = varint(packets, at + 1)
            try:
                self._parse(packets[at : body + length])
            except DecodeError:
                self._first = self._first if self._bad else self._checked + at
                self._bad += 1
            except UnicodeDecodeError:  # only protobuf without its C part minds, and trace_processor does not
                pass
            at = body + length


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The variable-length integer at `at` and the place after it; (0, -1) when it does not end in time."""
    value = shift = 0
    for place in range(at, min(at + _MAX_VARINT, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    return 0, -1


def starts_with_packets(data: bytes) -> bool:
    """Whether `data` (the first bytes of a file) starts with TracePackets rather than another protobuf or text.

    The first two must be whole, hold no field a TracePacket cannot have, and one of them a field every writer sets.
    """
    at, sealed = 0, False
    for _ in range(_LOOKED_AT):
        if data[at : at + 1] != bytes([_PACKET]):
            return False
        length, body = varint(data, at + 1)
        at = body + length
        if body < 0 or at > len(data):
            return False
        fields = _fields(data[body:at])
        if fields is None:
            return False
        sealed = sealed or not _SEALS.isdisjoint(fields)
    return sealed


def _fields(packet: bytes) -> list[int] | None:
    """The numbers of the fields of a packet; None when it cannot be a TracePacket."""
    found: list[int] = []
    at = 0
    while 0 <= at < len(packet):
        tag, after = varint(packet, at)
        number, wire = tag >> 3, tag & 7
        if after < 0 or not _fits(number, wire):
            return None
        found.append(number)
        at = _after_field(packet, after, wire)
    return found if at == len(packet) else None


def _fits(number: int, wire: int) -> bool:
    if not 0 < number <= _LAST_FIELD or wire not in (_VARINT, _FIXED64, _BYTES, _FIXED32):
        return False
    return wire == (_BYTES if number in _ALWAYS_BYTES else _VARINT if number in _SEALS else wire)


def _after_field(packet: bytes, at: int, wire: int) -> int:
    """The place after a field's value, which may lie beyond the packet; -1 when its length cannot be read."""
    if wire in _WIDTH:
        return at + _WIDTH[wire]
    value, after = varint(packet, at)
    return after if after < 0 or wire == _VARINT else after + value
