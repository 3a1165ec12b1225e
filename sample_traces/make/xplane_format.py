"""Write the XPlane sample, the described run as JAX records it: `python -m sample_traces.make.xplane_format`.

The wire format is written by hand, field by field, so that the reader's own description of the messages is checked.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sample_traces.make import run_description as described

ROOT = Path(__file__).resolve().parents[1]
CORRELATION, PS = 9, 1_000


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def entry(field: int, key: int, name: str) -> bytes:
    """One entry of a map from an id to metadata with a name."""
    return data(field, number(1, key) + data(2, number(1, key) + data(2, name)))


def event(metadata: int, start_ns: int, end_ns: int, base_ns: int, correlation: int | None = None) -> bytes:
    stat = data(4, number(1, CORRELATION) + number(3, correlation)) if correlation is not None else b""
    times = number(2, (start_ns - base_ns) * PS) + number(3, (end_ns - start_ns) * PS)
    return data(4, number(1, metadata) + times + stat)


def line(name: str, number_: int, base_ns: int, events: list[bytes]) -> bytes:
    return data(3, number(1, number_) + data(2, name) + number(3, base_ns) + b"".join(events))


def space(run: described.Run, device: str = "/device:GPU:0") -> bytes:
    """A host plane with the calls, a device plane with one stream, its steps, and a derived line that repeats it."""
    base = described.T0_NS
    names = {name: index for index, name in enumerate(sorted({_name(op) for op in run.ops}), 1)}
    work = [event(names[_name(op)], op.start_ns, op.end_ns, base, op.correlation) for op in run.ops]
    steps = [
        event(100 + step, min(op.start_ns for op in ops), max(op.end_ns for op in ops), base)
        for step in range(described.STEPS)
        if (ops := [op for op in run.ops if op.step == step])
    ]
    metadata = [entry(4, index, name) for name, index in names.items()]
    metadata += [entry(4, 100 + step, str(step)) for step in range(described.STEPS)]
    lines = [
        line(f"Stream #{described.STREAM}(Compute)", described.STREAM, base, work),
        line("Steps", 101, base, steps),
        line("XLA Ops", 102, base, work),
    ]
    gpu = number(1, 2) + data(2, device) + b"".join((*lines, *metadata, entry(5, CORRELATION, "correlation_id")))
    return data(1, _host(run, base)) + data(1, gpu) + data(4, "host")


def _name(op: described.Op) -> str:
    return "MemcpyH2D" if op.kernel is None else op.name


def _host(run: described.Run, base: int) -> bytes:
    calls = {name: index for index, name in enumerate(sorted({call.kind for call in run.calls}), 1)}
    api = described.API_NAMES["cuda"]
    events = [event(calls[call.kind], call.start_ns, call.end_ns, base, call.correlation) for call in run.calls]
    metadata = [entry(4, index, api[kind]) for kind, index in calls.items()]
    thread = line("python3", described.TID, base, events)
    return number(1, 1) + data(2, "/host:CPU") + thread + b"".join((*metadata, entry(5, CORRELATION, "correlation_id")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    folder = parser.parse_args().out / "xplane"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "same_run.xplane.pb").write_bytes(space(described.described_run()))
    described.write_truth(folder / "same_run.truth.json", described.truth())
