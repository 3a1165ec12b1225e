"""Where XLA's profiler puts device work, steps and host calls: names of planes and lines, alike in both outputs."""

from __future__ import annotations

DEVICE = r"^/device:(?:GPU|TPU):(\d{1,9})(?:\D|$)"
STREAM = r"^Stream #(\d{1,18})(?:\D|$)"
OPS, STEPS, HOST = "XLA Ops", "Steps", "/host:"
# driver and runtime calls of CUDA and HIP
CALL = r"^(?:cu|hip|roc)[A-Za-z_]*[a-z]"
COPY, FILL = r"^Memcpy[HDPO]2[HDPO]", "^Memset"


def is_copy(space: str, other: str) -> bool:
    """Whether names of outputs in one folder are of one run; JAX gives one of them the same name in every run."""
    return other in (space, "perfetto")
