"""One rule tells kernels, copies and fills apart, by operation type and name, for every reader."""

from __future__ import annotations

import polars as pl
import pytest

from trace_budget.readers.work_kinds import is_no_work, kind_of, with_kinds_by_name
from trace_budget.schema.kernel_names import is_dispatch_type

COPIES = (
    "[CUDA memcpy HtoD]",
    "[CUDA memcpy Host-to-Device]",
    "Memcpy HtoD (Pageable -> Device)",
    "Memcpy DtoD (Device -> Device)",
    "Memcpy",
    "CopyHostToDevice",
    "CopyDeviceToDevice2D",
    "hcMemcpyHostToDevice",
    "MEMORY_COPY_HOST_TO_DEVICE",
    "MEMORY_COPY",
    "DEVICE_TO_HOST",
    "SDMA",
    "CopyBuffer",
)
FILLS = ("[CUDA memset]", "Memset (Device)", "Memset", "FillBuffer", "MEMORY_SET_DEVICE")
KERNELS = (
    "__amd_rocclr_fillBufferAligned",
    "__amd_rocclr_copyBuffer.kd",
    "memcpy",
    "memcpy_kernel<float>(float*)",
    "fill",
    "Fill",
    "SET",
    "h2d",
    "copyDeviceToDevice_k(float*)",
    "CopyDeviceToHostKernel",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int> >(int)",
)


def kinds(names: list[str | None], operations: list[str | None] | None = None) -> list[str]:
    frame = pl.DataFrame(
        {"name": names, "type": operations or [None] * len(names)}, schema_overrides={"type": pl.String}
    )
    operation = pl.col("type") if operations else None
    return frame.select(kind_of(pl.col("name"), operation).alias("kind"))["kind"].to_list()


@pytest.mark.parametrize(("names", "kind"), [(COPIES, "memcpy"), (FILLS, "memset"), (KERNELS, "kernel")])
def test_whole_names_decide(names: tuple[str, ...], kind: str) -> None:
    assert kinds(list(names)) == [kind] * len(names)


def test_the_type_of_an_operation_goes_before_its_name() -> None:
    types = [
        "hipMemcpyHostToDevice",
        "Memcpy",
        "Memcpy",
        "Memset",
        "MEMORY_COPY_DEVICE_TO_HOST",
        "ConcurrentKernel",
        "KernelExecution",
        "Task",
    ]
    names = ["", "", "Fill", "", "", "Memcpy", "MEMORY_COPY_HOST_TO_DEVICE", None]
    assert kinds(names, types) == ["memcpy", "memcpy", "memset", "memset", "memcpy", "kernel", "kernel", "kernel"]


def test_an_unknown_type_leaves_it_to_the_name() -> None:
    assert kinds(["gemm", "CopyHostToDevice", None], ["odd", "odd", None]) == ["kernel", "memcpy", "kernel"]


def test_types_of_kernels_and_of_no_work() -> None:
    texts = pl.DataFrame({"t": ["KernelExecution", "Task", "ConcurrentKernel", "KERNEL_DISPATCH", "gemm", "TaskQueue"]})
    assert texts.select(is_dispatch_type(pl.col("t")))["t"].to_list() == [True] * 4 + [False] * 2
    texts = pl.DataFrame({"t": ["Barrier", "InternalMarker", "<barrier packet>", "SCRATCH_MEMORY_ALLOC", "Barriers"]})
    assert texts.select(is_no_work(pl.col("t")))["t"].to_list() == [True] * 4 + [False]


def test_only_kernels_are_named_anew() -> None:
    names = pl.Series(["gemm", "CopyHostToDevice", "gemm", "FillBuffer"], dtype=pl.Enum(["gemm", *COPIES, *FILLS]))
    ops = pl.DataFrame({"kind": ["memcpy", "kernel", "kernel", "kernel"], "name": names})
    assert with_kinds_by_name(ops)["kind"].to_list() == ["memcpy", "memcpy", "kernel", "memset"]
