"""PyTorch Kineto: Chrome trace JSON written by torch.profiler (CUDA, ROCm and other vendors; all eras)."""

from __future__ import annotations

import re
from pathlib import Path

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.schema.trace import Trace, empty_trace

_TOP_KEYS = re.compile(rb'"(schemaVersion|deviceProperties|baseTimeNanoseconds|distributedInfo|traceName)"\s*:')
_CATEGORY = re.compile(
    rb'"cat"\s*:\s*"(kernel|cuda_runtime|cuda_driver|gpu_memcpy|gpu_memset|cpu_op|python_function|user_annotation|'
    rb'gpu_user_annotation|operator|runtime|memcpy|ac2g)"',
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    rb'"rocprofiler-sdk-tool"|"cat"\s*:\s*"HIP(OPS|COPY)?"|\A\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*\{\s*\}'
)


def _recognises(head: Head) -> bool:
    data = head.data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if data[:1] not in (b"{", b"[") or _FOREIGN.search(data):
        return False
    return bool(_CATEGORY.search(data) or (data[:1] == b"{" and _TOP_KEYS.search(data)))


def _read(path: Path, options: ReadOptions) -> Trace:
    return empty_trace(str(path), "kineto")


READER = Reader(
    name="kineto",
    title="PyTorch profiler (Kineto) Chrome trace JSON",
    recognised_by='Kineto\'s top-level keys ("schemaVersion", "deviceProperties", …) or event categories',
    cannot_tell="layers inside graph replays; hardware queues",
    recognises=_recognises,
    read=_read,
    suffixes=(".json", ".json.gz"),
)
