"""Where a Kineto trace comes from: device, vendor, rank, epoch, by its metadata, its file name and its calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from trace_budget.readers.kineto.numbers import LONGEST_NS, whole_number
from trace_budget.readers.rank_names import rank_in

_ROCM_KEYS = re.compile(r"roctracer|rocprofiler|^hip_")
_CUDA_KEYS = re.compile(r"^cu(da|pti)_")
_HYGON_ARCH = "ISA9(28|36|38)|gfx9(28|36|38)"
_VENDOR_OF_DEVICE = (
    ("nvidia", re.compile(r"nvidia|geforce|tesla|quadro", re.IGNORECASE)),
    ("amd", re.compile(r"amd|radeon|instinct", re.IGNORECASE)),
    ("hygon", re.compile(r"hygon|\bDCU|^BW\d|^K100|^Z100|gfx9(28|36|38)", re.IGNORECASE)),
)
_VENDOR_OF_CALL = (
    ("nvidia", r"^cu(da)?[A-Z]"),
    ("amd", r"^hip[A-Z]"),
    ("metax", r"^mc[A-Z]"),
    ("mthreads", r"^mu(sa)?[A-Z]"),
)


@dataclass(frozen=True, slots=True)
class Origin:
    """What the metadata says; None where it does not. `rocm` and `cuda` say which runtime wrote version keys."""

    base_ns: int | None
    device_name: str | None
    rank: int | None
    world_size: int | None
    rocm: bool
    cuda: bool


def origin(fields: dict[str, msgspec.Raw], device: int | None) -> Origin:
    """Read the metadata; `device` is the device whose work was recorded, when it is one."""
    keys = list(fields)
    base = _number(fields.get("baseTimeNanoseconds"))
    job = _plain(fields.get("distributedInfo"))
    job = job if isinstance(job, dict) else {}
    return Origin(
        base_ns=base if base is not None and abs(base) <= LONGEST_NS else None,
        device_name=_device_name(_plain(fields.get("deviceProperties")), device),
        rank=_whole(job.get("rank")),
        world_size=_whole(job.get("world_size")),
        rocm=any(_ROCM_KEYS.search(key) for key in keys),
        cuda=any(_CUDA_KEYS.search(key) for key in keys),
    )


def rank_in_name(path: Path) -> int | None:
    """The rank a file name gives: `rank0.….pt.trace.json.gz`, `…-TP-3.trace.json.gz`."""
    return rank_in(path.name)


def vendor(known: Origin, calls: pl.DataFrame, kernels: pl.Series) -> str | None:
    """nvidia, amd, hygon, metax or mthreads, by device name, metadata keys, API names; None when nothing shows.

    Hygon's runtime is spelt like AMD's: its device names or its architectures inside kernel names distinguish it.
    """
    if kernels.cast(pl.String).str.contains(_HYGON_ARCH).any():
        return "hygon"
    by_device = (name for name, pattern in _VENDOR_OF_DEVICE if known.device_name and pattern.search(known.device_name))
    by_keys = "amd" if known.rocm else "nvidia" if known.cuda else None
    names = calls["name"].cast(pl.String)
    by_calls = (name for name, pattern in _VENDOR_OF_CALL if names.str.contains(pattern).any())
    return next(by_device, None) or by_keys or next(by_calls, None)


def _device_name(properties: Any, device: int | None) -> str | None:
    """The name all devices share, else that of the recorded one; on ROCm device ids are nodes and may match none."""
    devices = [item for item in properties if isinstance(item, dict)] if isinstance(properties, list) else []
    names = {str(item.get("name")) for item in devices if item.get("name")}
    if len(names) == 1:
        return names.pop()
    return next((str(item["name"]) for item in devices if item.get("id") == device and item.get("name")), None)


def _plain(raw: msgspec.Raw | None) -> Any:
    try:
        return None if raw is None else msgspec.json.decode(bytes(raw).decode("utf-8", "replace").encode())
    except msgspec.DecodeError:
        return None


def _number(raw: msgspec.Raw | None) -> int | None:
    return None if raw is None else whole_number(bytes(raw))


def _whole(value: object) -> int | None:
    number = whole_number(str(value).encode()) if isinstance(value, int | str) and not isinstance(value, bool) else None
    return number if number is not None and number >= 0 else None
