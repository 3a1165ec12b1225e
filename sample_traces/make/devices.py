"""The GPUs of the samples, and the arguments their profilers attach to a kernel."""

from __future__ import annotations

from sample_traces.make.timeline import Device

_SINGLE_RANK = {"backend": "nccl", "rank": 0, "world_size": 1, "pg_count": 1, "nccl_version": "2.26.6"}
_BASE = {"displayTimeUnit": "ms", "baseTimeNanoseconds": 1767189312000000000}

BW1000 = Device(
    name="BW1000",
    pid=8,
    count=8,
    properties={
        "totalGlobalMem": 68702699520,
        "computeMajor": 9,
        "computeMinor": 3,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2560,
        "regsPerBlock": 65536,
        "warpSize": 64,
        "sharedMemPerBlock": 65536,
        "numSms": 80,
        "maxSharedMemoryPerMultiProcessor": 65536,
    },
    metadata={
        "roctracer_version": 4.1,
        "hip_runtime_version": 60325010,
        "hip_driver_version": 60325010,
        "distributedInfo": _SINGLE_RANK,
        "trace_id": "5D0C6E0B5E5F4A3FA1B2C3D4E5F60936",
        **_BASE,
    },
)

H100 = Device(
    name="NVIDIA H100 80GB HBM3",
    pid=0,
    count=1,
    properties={
        "totalGlobalMem": 85029158912,
        "computeMajor": 9,
        "computeMinor": 0,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": 49152,
        "numSms": 132,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472,
    },
    metadata={
        "cupti_version": 28,
        "cuda_runtime_version": 12090,
        "cuda_driver_version": 12090,
        "distributedInfo": _SINGLE_RANK,
        "trace_id": "0A1B2C3D4E5F40719283746556473829",
        **_BASE,
    },
)


def rocm_task(stream: int, correlation: int) -> dict[str, object]:
    """A kernel of a graph replay: roctracer tells neither grid nor node."""
    return {"device": BW1000.pid, "stream": stream, "correlation": correlation, "kind": "Dispatch Task"}


def rocm_kernel(stream: int, correlation: int, grid: int, block: int) -> dict[str, object]:
    """A kernel launched on its own; the grid counts work-groups."""
    head = {"device": BW1000.pid, "stream": stream, "correlation": correlation, "kind": "Dispatch Kernel"}
    return {**head, "grid": [grid, 1, 1], "block": [block, 1, 1]}


def rocm_copy(stream: int, correlation: int, direction: str, size_bytes: int, dur_ns: int) -> dict[str, object]:
    """A copy; `direction` is HtoD, DtoH or DtoD."""
    head = {"device": BW1000.pid, "stream": stream, "correlation": correlation, "kind": direction}
    return {**head, "bytes": size_bytes, "memory bandwidth (GB/s)": round(size_bytes / dur_ns, 6)}


def cuda_kernel(stream: int, correlation: int, grid: int, block: int) -> dict[str, object]:
    """A kernel as CUPTI reports it."""
    return {
        "queued": 0,
        "device": H100.pid,
        "context": 1,
        "stream": stream,
        "correlation": correlation,
        "registers per thread": 64,
        "shared memory": 49152,
        "blocks per SM": round(grid / 132, 6),
        "warps per SM": round(grid * block / 32 / 132, 6),
        "grid": [grid, 1, 1],
        "block": [block, 1, 1],
        "est. achieved occupancy %": 0,
    }


def cuda_node(stream: int, correlation: int, grid: int, block: int, *, graph: int, node: int) -> dict[str, object]:
    """A kernel of a CUDA graph replay, with the node ids that recent profilers add."""
    return {**cuda_kernel(stream, correlation, grid, block), "graph id": graph, "graph node id": node}


def cuda_copy(stream: int, correlation: int, size_bytes: int, dur_ns: int) -> dict[str, object]:
    """A copy as CUPTI reports it."""
    head = {"device": H100.pid, "context": 1, "stream": stream, "correlation": correlation}
    return {**head, "bytes": size_bytes, "memory bandwidth (GB/s)": round(size_bytes / dur_ns, 6)}
