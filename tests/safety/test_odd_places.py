"""Paths that are no ordinary files: pipes, devices, sockets, loops, growing files; refused, or read to an end."""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from formats.answers import SAMPLES, said
from trace_budget.io.inflate import PlainStream

TRACE = SAMPLES / "kineto/same_run.json"
SAVING = ("--kernel", "paged_attention", "--saving-us", "3", "-q")
COMMANDS = ("kernels", "check", "steps", "overlap")


def places(folder: Path) -> dict[str, Path]:
    pipe, loop, ring, plug = (folder / name for name in ("pipe.json", "loop.json", "ring", "socket.json"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    ring.mkdir()
    (ring / "again").symlink_to(ring)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(plug))
    listening.close()
    (folder / "gone.json").symlink_to(folder / "nowhere.json")
    return {
        "pipe": pipe,
        "loop": loop,
        "folder that holds itself": ring,
        "socket": plug,
        "dangling link": folder / "gone.json",
        "zeros": Path("/dev/zero"),
        "random": Path("/dev/urandom"),
        "nothing": Path("/dev/null"),
        "terminal": Path("/dev/tty"),
        "memory": Path("/proc/self/mem"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_each_is_refused_in_one_line(tmp_path: Path, command: str) -> None:
    for name, path in places(tmp_path).items():
        answer = said(command, str(path))
        assert answer.code == 3, name
        assert str(path) in answer.line, name


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = places(tmp_path)["pipe"]
    command = [sys.executable, "-m", "trace_budget", "kernels", str(pipe)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert "a pipe, socket or device, not a file" in done.stderr


def test_a_folder_with_all_of_them_and_one_trace(tmp_path: Path) -> None:
    places(tmp_path)
    shutil.copyfile(TRACE, tmp_path / "ring" / "decode.json")
    (tmp_path / "zeros.json").symlink_to("/dev/zero")
    assert said("kernels", str(tmp_path), "--format", "json").document["trace"]["path"].endswith("ring/decode.json")
    assert said("batch", str(tmp_path), "-o", str(tmp_path.parent / "out"), *SAVING, "-j", "1").code == 0


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_grows_while_it_is_read_comes_to_an_end(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("t.json.gz" if packed else "t.json")
    piece = os.urandom(1 << 16)
    path.write_bytes(gzip.compress(piece, 1) if packed else piece)
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not stop.is_set():
                file.write(gzip.compress(piece, 1) if packed else piece)
                file.flush()
                time.sleep(0.0005)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        with PlainStream(path) as stream:
            size = stream.size_bytes
            time.sleep(0.05)
            assert len(stream.read()) <= size
    finally:
        stop.set()
        writer.join()
    assert path.stat().st_size > size
