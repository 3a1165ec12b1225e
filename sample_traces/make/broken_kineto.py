"""Kineto files as they break in the field, each with what can still be known about it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace

from sample_traces.make.gdn_decode import gdn_decode
from sample_traces.make.kineto_text import Style, gzipped, kineto_text, three_decimals
from sample_traces.make.small import small
from sample_traces.make.timeline import Timeline
from sample_traces.make.truth import as_text, truth

T0_NS = 3_000_000_000_000_111
LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 48216042\n"
)


def broken_files() -> Iterator[tuple[str, bytes]]:
    """Path below sample_traces/ and content."""
    yield "broken/empty.json", b""
    yield "broken/lfs_pointer.json", LFS_POINTER.encode()
    yield from _truncated()
    yield from _lost_kernels()
    yield from _unescaped_quote()
    yield from _zero_timestamps()
    yield from _no_kernels()


def _native(timeline: Timeline) -> str:
    return kineto_text(timeline, Style(three_decimals))


def _case(name: str, timeline: Timeline, content: bytes, suffix: str, **facts: object) -> Iterator[tuple[str, bytes]]:
    yield f"broken/{name}.json{suffix}", content
    yield f"broken/{name}.truth.json", as_text(truth(timeline, name, **facts)).encode()


def _truncated() -> Iterator[tuple[str, bytes]]:
    """The profiler was killed: the gzip stream ends inside an event of the last step, without trailer."""
    timeline = gdn_decode(layers=8, intervals_ns=(7_000_000,) * 2, seed="truncated")
    text = _native(timeline)
    last = [op for op in timeline.ops if op.step == timeline.steps[-1].index]
    middle = last[len(last) // 2]
    cut = text.index(f'"ts": {three_decimals(middle.start_ns)}') + 9
    whole = sum(op.start_ns < middle.start_ns for op in timeline.ops)
    facts = {"complete": False, "complete_steps": len(timeline.steps) - 1, "gpu_ops_before_the_cut": whole}
    yield from _case("kineto_truncated", timeline, _cut_gzip(text[:cut].encode()), ".gz", **facts, json_bytes=cut)


def _cut_gzip(data: bytes) -> bytes:
    """A gzip stream that yields exactly `data` and then ends inside a block."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))[:-2]


def _lost_kernels() -> Iterator[tuple[str, bytes]]:
    """One replay of the graph lost kernels (ROCm/ROCm#6102): every eighth kernel of the third step is missing."""
    whole = gdn_decode(layers=8, intervals_ns=(7_000_000,) * 3, seed="lost")
    replay = [op for op in whole.ops if op.step == 2 and op.args.get("kind") == "Dispatch Task"]
    lost = {(op.start_ns, op.name) for op in replay[3::8]}
    timeline = replace(whole, ops=tuple(op for op in whole.ops if (op.start_ns, op.name) not in lost))
    facts = {"kernels_per_replay": len(replay), "lost_in_step": 2, "lost": len(lost)}
    yield from _case("kineto_lost_kernels", timeline, gzipped(_native(timeline)), ".gz", **facts)


def _unescaped_quote() -> Iterator[tuple[str, bytes]]:
    """Names with a bare quote and with a bare newline inside (pytorch/kineto#1459): two events are not JSON."""
    timeline = small(T0_NS)
    damaged = [op for op in timeline.ops if op.name == "attention_kernel"][1:3]
    text = _native(timeline)
    for op, name in zip(damaged, ('attention_kernel<"bf16">', "attention\nkernel"), strict=True):
        pattern = rf'"name": "{op.name}", "pid": 0, "tid": 7,\n    "ts": {re.escape(three_decimals(op.start_ns))}'
        at = re.search(pattern, text)
        if at is None:
            raise ValueError(f"{op.name} at {op.start_ns} ns is not in the text")
        text = text[: at.start()] + at.group().replace(op.name, name) + text[at.end() :]
    yield from _case("kineto_unescaped_quote", timeline, gzipped(text), ".gz", damaged_events=len(damaged))


def _zero_timestamps() -> Iterator[tuple[str, bytes]]:
    """Kernels with `ts: 0, dur: 0` (kineto#109): all calls of one kernel are counted but have no time."""
    timeline = small(T0_NS)
    zeroed = [op for op in timeline.ops if op.name == "qkv_gemm_kernel"]
    text = _native(timeline)
    for op in zeroed:
        times = f'"ts": {three_decimals(op.start_ns)}, "dur": {three_decimals(op.end_ns - op.start_ns)},'
        text = text.replace(times, '"ts": 0, "dur": 0,')
    facts = {"kernel_without_times": "qkv_gemm_kernel", "ops_without_times": len(zeroed)}
    yield from _case("kineto_zero_timestamps", timeline, text.encode(), "", **facts)


def _no_kernels() -> Iterator[tuple[str, bytes]]:
    """Only the host side: a CPU-only process, or the wrong rank."""
    host = replace(small(T0_NS), ops=(), calls=())
    yield "broken/kineto_no_kernels.json", _native(host).encode()
