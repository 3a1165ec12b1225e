"""Which trace_processor reads Perfetto files here: a named program, PATH, perfetto's cache, WebAssembly, a download."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from trace_budget.errors import InputError, UsageError
from trace_budget.io.perfetto import wasm as trace_processor_wasm

PROGRAM_VARIABLE = "TRACE_BUDGET_TRACE_PROCESSOR"
DOWNLOAD_VARIABLE = "TRACE_BUDGET_DOWNLOAD_TRACE_PROCESSOR"
DOWNLOAD_LIMIT_S = 120
_CACHE = Path(".local/share/perfetto/prebuilts")
_MANIFEST = "perfetto.prebuilts.manifests.trace_processor_shell"
_DOWNLOAD = "from perfetto.trace_processor.platform import PlatformDelegate as P; print(P().get_shell_path(None))"
_ADVICE = (
    "Install one with: pip install 'trace-budget[perfetto-offline]', or name a trace_processor_shell in"
    f" {PROGRAM_VARIABLE}. The same run as rocpd, CSV or JSON needs neither."
)


@dataclass(frozen=True, slots=True)
class Route:
    """The command to which `-D --http-port N` is added; `tells_port` when it takes N = 0 and says what it chose."""

    command: tuple[str, ...]
    description: str
    tells_port: bool = False


def find_route(program: str | None = None) -> Route:
    """The trace_processor to use, `program` (a path) before all others.

    Order: `program`, the environment variable TRACE_BUDGET_TRACE_PROCESSOR, `trace_processor_shell` on PATH, the binary
    that the perfetto package has cached, the WebAssembly build, and, only when TRACE_BUDGET_DOWNLOAD_TRACE_PROCESSOR is
    1, a download by the perfetto package. Raises UsageError for a named program that cannot be run, else InputError
    when there is none.
    """
    named = program or os.environ.get(PROGRAM_VARIABLE)
    if named:
        return _named(named)
    on_path = shutil.which("trace_processor_shell")
    if on_path:
        return Route((on_path,), f"{on_path} (on PATH)")
    cached = _cached()
    if cached:
        return Route((str(cached),), f"{cached} (cached by the perfetto package)")
    parts = trace_processor_wasm.installed()
    if not parts.missing:
        return Route(parts.command(), parts.describe(), tells_port=True)
    if os.environ.get(DOWNLOAD_VARIABLE) == "1":
        return _downloaded()
    raise InputError("no trace_processor to read Perfetto files with", found=f"no {parts.missing}", advice=_ADVICE)


def _named(program: str) -> Route:
    path = Path(program)
    if not (path.is_file() and os.access(path, os.X_OK)):
        found = "a file that may not be executed" if path.is_file() else "no such file"
        raise UsageError(
            "the trace_processor named cannot be run", where=program, expected="trace_processor_shell", found=found
        )
    return Route((str(path.absolute()),), f"{path} (as named)")


def _cached() -> Path | None:
    """The binary the installed perfetto package pins, when it was downloaded before and is unharmed."""
    try:
        manifest = import_module(_MANIFEST).TRACE_PROCESSOR_SHELL_MANIFEST
    except (ImportError, AttributeError):
        return None
    machine = platform.machine().lower()
    for entry in manifest:
        if entry.get("platform") == sys.platform and machine in entry.get("machine", ()):
            name, digest = entry["file_name"], entry["sha256"]
            folder = Path.home() / _CACHE
            files = (folder / f"{name}-{digest[:16]}", folder / name)  # older releases leave the digest out
            return next((file for file in files if file.is_file() and _sha256(file) == digest), None)
    return None


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _downloaded() -> Route:
    """Let the perfetto package fetch its pinned binary, in a process that is ended after DOWNLOAD_LIMIT_S."""
    command = [sys.executable, "-c", _DOWNLOAD]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"no trace_processor within {DOWNLOAD_LIMIT_S} s of download", advice=_ADVICE) from None
    lines = (done.stdout if done.returncode == 0 else done.stderr).split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
    if done.returncode:
        raise InputError("trace_processor could not be downloaded", found=last, advice=_ADVICE)
    return Route((last,), f"{last} (downloaded by the perfetto package)")
