"""Safe writing: whole files or none, nothing overwritten unasked, one line for every refusal."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trace_budget.errors import OutputError
from trace_budget.io.atomic import new_file, output_error, refuse_existing, write_bytes


def test_writes_the_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.json", b"one\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"one\n"}


def test_an_existing_file_stays_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"precious")
    with pytest.raises(OutputError, match=r"already exists.*--force"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"precious"
    write_bytes(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(OutputError, match="already exists"), new_file(path) as file:
        file.write(b"mine")
        path.write_bytes(b"theirs")
    assert {item.name: item.read_bytes() for item in tmp_path.iterdir()} == {"a.json": b"theirs"}


def test_an_error_in_the_middle_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), new_file(path, overwrite=True) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert {item.name: item.read_bytes() for item in tmp_path.iterdir()} == {"a.json": b"old"}


def test_the_temporary_file_is_private_and_the_final_one_obeys_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with new_file(tmp_path / "a.json"):
            (part,) = tmp_path.iterdir()
            assert stat.S_IMODE(part.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o640
    finally:
        os.umask(mask)


def test_overwriting_keeps_the_permissions_and_follows_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"old")
    target.chmod(0o604)
    link.symlink_to(target)
    write_bytes(link, b"new", overwrite=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def test_a_folder_and_a_missing_folder_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"):
        refuse_existing(tmp_path, overwrite=True)
    with pytest.raises(OutputError, match="the folder does not exist"):
        refuse_existing(tmp_path / "no" / "a.json", overwrite=True)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="not a folder"):
        refuse_existing(tmp_path / "file" / "a.json", overwrite=True)


def test_devices_are_written_to_as_they_are() -> None:
    write_bytes(Path("/dev/null"), b"gone")
    with pytest.raises(OutputError, match="disk is full"):
        write_bytes(Path("/dev/full"), b"x" * 100_000)


def test_a_file_beyond_the_allowed_size_is_told_and_removed(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path; from trace_budget.io.atomic import write_bytes\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_bytes(Path(sys.argv[1]), bytes(5000))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.bin"], capture_output=True, text=True, check=False)
    assert "OutputError" in done.stderr
    assert "larger than allowed" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.ENAMETOOLONG, "too long"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_every_reason_is_one_line_with_advice(code: int, words: str) -> None:
    error = output_error(Path("out.json"), OSError(code, os.strerror(code)))
    assert error.exit_code == 5
    assert error.line().startswith("out.json: cannot write: ")
    assert words in error.line()
    assert error.advice


def test_without_hard_links_the_file_still_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_bytes(tmp_path / "a.json", b"one")
    assert (tmp_path / "a.json").read_bytes() == b"one"
