"""A cut file of any format: refused in one line, or PARTIAL in every output; a whole one never is."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from formats.answers import ONE_EACH, QUESTIONS, SAMPLES, said
from trace_budget import api
from trace_budget.errors import InputError

FILES = [name for name in ONE_EACH if not name.startswith(("perfetto", "nsys_parquetdir"))]
CUT = SAMPLES / "broken/kineto_truncated.json.gz"
SAVING = ("--kernel", "gdn_fused", "--saving-us", "3")
# a line that was cut can look whole but for one cell
DAMAGE = {"damaged_lines_dropped", "damaged_lines_repaired", "damaged_metadata"}
OUTPUTS = ("table", "markdown", "csv", "json")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_cut_anywhere_is_told_or_refused(tmp_path: Path, name: str, packed: bool) -> None:
    whole = (SAMPLES / name).read_bytes()
    data = gzip.compress(whole) if packed else whole
    path = tmp_path / (Path(name).name + (".gz" if packed else ""))
    refused: list[InputError] = []
    for share in (0.15, 0.4, 0.65, 0.9, 0.99):
        path.write_bytes(data[: int(len(data) * share)])
        try:
            trace = api.open_trace(path)
        except InputError as error:
            refused.append(error)
            continue
        told = {caveat.code for caveat in trace.caveats}
        assert not trace.complete or told & DAMAGE, (name, share)
    assert not any("\n" in error.line() for error in refused)


@pytest.mark.parametrize("command", [name for name in QUESTIONS if name != "project"])
@pytest.mark.parametrize("form", OUTPUTS)
def test_every_answer_tells_it(command: str, form: str) -> None:
    assert_told(command, form)


@pytest.mark.parametrize("form", OUTPUTS)
def test_a_projection_tells_it(form: str) -> None:
    assert_told("project", form, *SAVING)


def assert_told(command: str, form: str, *options: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trace_budget", command, str(CUT), *options, "--format", form],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    if form == "json":
        document = json.loads(done.stdout)
        (about,) = document.get("traces", [document.get("trace")])
        assert about["complete"] is False
    shown = done.stdout + (done.stderr if form == "csv" else "")
    assert "partial_file" in shown or "the file is incomplete" in shown


def test_pages_pictures_timelines_and_tables_tell_it(tmp_path: Path) -> None:
    for command, options, name, word in (
        ("report", SAVING, "page.html", b"PARTIAL"),
        ("timeline", SAVING, "steps.json", b"PARTIAL"),
        ("timeline", SAVING, "steps.pftrace", b"PARTIAL"),
    ):
        assert said(command, str(CUT), *options, "-o", str(tmp_path / name)).code == 0
        assert word in (tmp_path / name).read_bytes(), name
    assert said("project", str(CUT), *SAVING, "--plot", str(tmp_path / "curve.svg")).code == 0
    assert "the file is PARTIAL" in (tmp_path / "curve.svg").read_text()
    assert said("ingest", str(CUT), "-o", str(tmp_path / "tables"), "-q").code == 0
    assert said("check", str(tmp_path / "tables"), "--format", "json").document["traces"][0]["complete"] is False


def test_a_timeline_says_on_stderr_what_is_wrong_with_its_file(tmp_path: Path) -> None:
    answer = said("timeline", str(CUT), *SAVING, "-o", str(tmp_path / "steps.json"))
    assert "warning: the file is incomplete" in answer.err


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_whole_file_is_never_partial(name: str) -> None:
    assert api.open_trace(SAMPLES / name).complete
