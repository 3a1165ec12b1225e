"""The outer layer of a Perfetto trace file: a sequence of length-delimited TracePackets, and nothing else."""

from __future__ import annotations

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

    `damage` is empty when everything fed so far ends with a whole packet; else it says what is wrong.
    """

    def __init__(self) -> None:
        self.packets = 0
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

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        if self._lost:
            return
        data, start = self._rest + data, self._at - len(self._rest)
        self._at = start + len(data)
        at, size = self._skip, len(data)
        while at < size:
            body = self._body(data, at, start)
            if body < 0:
                break
            at = body
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
