"""Nothing is asked of a network unless a URL was given: every command on every format runs where there is none."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from formats.answers import ONE_EACH, QUESTIONS, SAMPLES, said

ALONE = ["unshare", "-rn"]
CAN = shutil.which("unshare") is not None and subprocess.run([*ALONE, "true"], check=False).returncode == 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Addresses that were asked for; every one is refused."""
    seen: list[object] = []

    def refuse(*arguments: object, **_: object) -> object:
        seen.append(arguments)
        raise OSError("no network here")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return seen


@pytest.mark.parametrize("name", [name for name in ONE_EACH if not name.startswith("perfetto")])
def test_no_question_about_a_file_opens_a_socket(name: str, asked: list[object]) -> None:
    for command, options in QUESTIONS.items():
        assert said(command, str(SAMPLES / name), *options).code in (0, 4)
    assert asked == []


def test_nor_do_outputs_folders_and_tables(tmp_path: Path, asked: list[object]) -> None:
    trace = str(SAMPLES / "kineto/same_run.json")
    saving = ("--kernel", "paged_attention", "--saving-us", "3", "-q")
    assert said("report", trace, *saving, "-o", str(tmp_path / "page.html")).code == 0
    assert said("timeline", trace, *saving, "-o", str(tmp_path / "steps.json")).code == 0
    assert said("ingest", trace, "-o", str(tmp_path / "tables"), "-q").code == 0
    assert said("batch", str(SAMPLES / "kineto"), "-o", str(tmp_path / "out"), *saving, "-j", "1").code == 0
    assert said("doctor").code == 0
    assert asked == []


@pytest.mark.skipif(not CAN, reason="this system lets nobody leave the network")
@pytest.mark.parametrize("name", ["kineto/same_run.json", "rpd/same_run.rpd", "nsys_parquetdir/same_run"])
def test_the_answer_is_the_same_in_a_process_without_any_network(name: str) -> None:
    command = [sys.executable, "-m", "trace_budget", "kernels", str(SAMPLES / name), "--format", "json"]
    here = subprocess.run(command, capture_output=True, check=True).stdout
    alone = subprocess.run([*ALONE, *command], capture_output=True, check=True).stdout
    assert alone == here
