"""Files that cannot be read but are known: each is refused by name, with the command that gives something readable."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trace_budget.contracts import Head
from trace_budget.errors import InputError
from trace_budget.io.archive import BROKEN, names_in

# what ought to be a trace by its name; .def and .evt of an OTF2 archive may well be something else
_NSYS, _OTF2, _NCU = (".nsys-rep", ".qdrep", ".qdstrm"), (".otf2",), (".ncu-rep",)
OWN_SUFFIXES = (*_NSYS, *_OTF2, *_NCU)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What the file is, and what to do; in `advice`, {name} stands for the file's name."""

    message: str
    advice: str
    matches: Callable[[Head], bool]


def _starts(magic: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.startswith(magic)


def _named(*suffixes: str) -> Callable[[Head], bool]:
    return lambda head: head.path.name.lower().endswith(suffixes)


def _is_rocprof_compute(head: Head) -> bool:
    return "compute_dispatch" in head.names or head.data.startswith(b"Dispatch_ID,Kernel_Name,GPU_ID")


_BY_CONTENT = (
    Unreadable("empty file", "Record it again, or copy it again.", lambda head: head.size_bytes == 0),
    Unreadable(
        "holds no bytes once decompressed", "Record it again, or copy it again.", lambda head: not head.data.strip()
    ),
    Unreadable(
        "a Git LFS pointer, not the trace itself",
        "Fetch the trace with: git lfs pull --include {name}",
        _starts(b"version https://git-lfs"),
    ),
    Unreadable(
        "rocprof-compute output: kernels were run again per counter group, their times are no step's times",
        "Record a timeline with: rocprofv3 --kernel-trace --output-format csv -- COMMAND",
        _is_rocprof_compute,
    ),
)
_BY_NAME = (
    Unreadable(
        "an Nsight Systems report, whose format is not public",
        "Export it with: nsys export --type sqlite {name}",
        _named(*_NSYS),
    ),
    Unreadable(
        "an OTF2 archive",
        "Record again with: rocprofv3 --kernel-trace --output-format csv -- COMMAND",
        _named(*_OTF2, ".def", ".evt"),
    ),
    Unreadable(
        "an Nsight Compute report",
        "Export it with: ncu --import {name} --csv (times of single kernels, not a timeline)",
        _named(*_NCU),
    ),
)


def refuse_known(head: Head) -> None:
    """Raise InputError for content that is known to be unreadable."""
    if head.compression == "zip":
        raise _zip_refusal(head.path)
    _refuse(head, _BY_CONTENT)


def refuse_named(head: Head) -> None:
    """Raise InputError for a file that no reader recognises but whose name says what it is."""
    _refuse(head, _BY_NAME)


def _refuse(head: Head, known: tuple[Unreadable, ...]) -> None:
    for unreadable in known:
        if unreadable.matches(head):
            advice = unreadable.advice.replace("{name}", head.path.name)
            raise InputError(unreadable.message, where=str(head.path), advice=advice)


def _zip_refusal(path: Path) -> InputError:
    try:
        with zipfile.ZipFile(path) as archive:
            members = names_in(archive)
    except BROKEN:
        return InputError("a damaged zip archive", where=str(path), advice="Copy it again.")
    found = f"{len(members)} members: {', '.join(ascii(name)[1:-1] for name in members[:4])}"
    return InputError("a zip archive", where=str(path), found=found, advice=f"Unpack it with: unzip {path.name}")
