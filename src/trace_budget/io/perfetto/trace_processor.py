"""Perfetto's own trace_processor as a process of ours: load one trace, ask SQL, get Polars frames.

The process serves HTTP on the loopback interface on a free port; the perfetto Python package is the client. It ends
with the session, when this process dies, and after a time limit, whatever it is doing then.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

import polars as pl

from trace_budget.errors import InputError, TraceBudgetError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.perfetto import columns as trace_processor_columns
from trace_budget.io.perfetto import guard as trace_processor_guard
from trace_budget.io.perfetto.packets import PacketCheck
from trace_budget.io.perfetto.routes import Route, find_route

TIME_LIMIT_S = 900.0
START_LIMIT_S = 60.0
_HOST = "127.0.0.1"
_CHUNK_BYTES = 1 << 22
_POLL_S = 0.01
_TOLD_PORT = re.compile(rb"listening on 127\.0\.0\.1:(\d+)\n")
_OUT_OF_MEMORY = re.compile(r"enlarge memory|grow the heap|out of memory|bad_alloc", re.IGNORECASE)
_LOG_TAIL_BYTES = 16_384


def route(program: str | None = None) -> str:
    """In words: the trace_processor that would read a Perfetto file now, or why there is none. Never raises."""
    try:
        return find_route(program).description
    except TraceBudgetError as error:
        return error.line()


@contextmanager
def session(path: Path, program: str | None = None, time_limit_s: float = TIME_LIMIT_S) -> Iterator[Session]:
    """A trace_processor that has loaded `path` (plain, gzip or zstd); gone when the block is left.

    Raises InputError when the file cannot be parsed, or takes more time or memory than allowed; see find_route for
    `program` and for what is raised when there is no trace_processor.
    """
    with tempfile.TemporaryFile(prefix="trace-budget-") as log:
        server = _Server(find_route(program), log, time_limit_s, str(path))
        try:
            opened = Session(path, server)
            try:
                opened.load()
                yield opened
            finally:
                opened.close()
        finally:
            server.stop()


class Session:
    """One loaded trace. `engine` names what parsed it; `damage` says why the file is not whole, empty when it is."""

    def __init__(self, path: Path, server: _Server) -> None:
        from perfetto.trace_processor import TraceProcessor

        self.path = path
        self.damage = ""
        self._server = server
        self._client = TraceProcessor(addr=f"{_HOST}:{server.port}")
        version = self._ask(self._client.http.status).human_readable_version
        self.engine = f"trace_processor {version.removeprefix('Perfetto ').partition(' ')[0]}"

    def load(self) -> None:
        """Feed the file piece by piece, checking the packets on the way."""
        check = PacketCheck()
        with PlainStream(self.path) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                check.feed(chunk)
                error = self._ask(self._client.http.parse, chunk).error
                if error:
                    found = error.split("\n")[0]
                    raise InputError("trace_processor cannot parse it", where=str(self.path), found=found)
            self.damage = stream.damage or check.damage
        self._ask(self._client.http.notify_eof)
        self._server.check()

    def query(self, sql: str, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
        """The rows of a query as the declared Int64 and String columns; without columns, an empty frame.

        Raises ValueError with trace_processor's words when it rejects the query.
        """
        result = self._ask(self._client.http.execute_query, sql)
        if result.error:
            raise ValueError(f"{result.error}\nin: {sql}")
        return trace_processor_columns.frame(result, columns) if columns else pl.DataFrame()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _ask(self, call: Callable[..., Any], *arguments: object) -> Any:
        try:
            return call(*arguments)
        except (OSError, HTTPException):
            raise self._server.lost() from None


class _Server:
    """The process, and what became of it; `port` is where it listens."""

    def __init__(self, route: Route, log: IO[bytes], time_limit_s: float, where: str) -> None:
        self._log = log
        self._where = where
        self._limit_s = time_limit_s
        self._deadline = time.monotonic() + time_limit_s
        chosen = 0 if route.tells_port else _free_port()
        guard = [sys.executable, "-I", "-S", trace_processor_guard.__file__, str(time_limit_s)]
        self._process = subprocess.Popen(
            [*guard, *route.command, "-D", "--http-port", str(chosen)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            self.port = self._await_port(chosen)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process, its guard and whatever they started; at once, and harmless when they are gone."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def check(self) -> None:
        """Raise InputError when the process has ended, since then it was another one that answered on its port."""
        if self._process.poll() is not None:
            raise self.lost()

    def lost(self) -> InputError:
        """Why the process stopped answering."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2.0)
        log = self._tail()
        if time.monotonic() >= self._deadline:
            message = f"trace_processor took longer than {self._limit_s:g} s and was ended"
            return InputError(message, where=self._where, advice="Record a shorter run, or read it as rocpd or CSV.")
        if _OUT_OF_MEMORY.search(log):
            advice = "Use a native trace_processor_shell, record a shorter run, or read it as rocpd or CSV."
            return InputError("needs more memory than trace_processor has", where=self._where, advice=advice)
        last = next((line.strip() for line in reversed(log.split("\n")) if line.strip()), "no message")
        return InputError("trace_processor ended unexpectedly", where=self._where, found=last)

    def _await_port(self, chosen: int) -> int:
        end = min(self._deadline, time.monotonic() + START_LIMIT_S)
        while self._process.poll() is None and time.monotonic() < end:
            port = (chosen if _listens(chosen) else 0) if chosen else self._told_port()
            if port:
                return port
            time.sleep(_POLL_S)
        if self._process.poll() is None and time.monotonic() < self._deadline:
            raise InputError(f"trace_processor did not start within {START_LIMIT_S:g} s", found=self._tail()[-200:])
        raise self.lost()

    def _told_port(self) -> int:
        match = _TOLD_PORT.search(os.pread(self._log.fileno(), _LOG_TAIL_BYTES, 0))
        return int(match[1]) if match else 0

    def _tail(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES)).decode("utf-8", "replace")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((_HOST, port)) == 0
