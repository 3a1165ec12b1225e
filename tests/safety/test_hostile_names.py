"""Names from a trace that try to steer a terminal, a page, a spreadsheet or a reader: harmless in every output."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kineto_texts import annotation, call, kernel

STEPS, KERNELS = 4, 12
HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07title",
    "\x9b2Jclear",
    "bidi\u202egnp.exe",
    "zero\u200bwidth\ufeff",
    "two\nlines\rover",
    "a|b|c",
    "```fence",
    "<script>document.title='owned'</script>",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "@somebody",
    "[click](javascript:alert(1))",
    "{{7*7}} ${7*7} %s %(x)s",
    "'; DROP TABLE gpu_ops; --",
    '"quoted","cells"',
    "../../etc/passwd",
    "gemm_" + "k" * 5_000,
)
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
COMMANDS = {
    "kernels": (),
    "steps": (),
    "layers": (),
    "overlap": (),
    "check": (),
    "threshold": (),
    "project": ("--kernel", "glob:gemm_k*", "--saving-us", "3"),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps, each with every hostile name; the annotations are hostile as well."""
    events = []
    for step in range(STEPS):
        base = 10_000 * (step + 1)
        events.append(annotation(f"execute_context_0(0)_generation_4(4)\x1b[2J{HOSTILE[8]}", base, 5_000))
        for index, name in enumerate(HOSTILE):
            launched = 100 * step + index + 1
            events.append(call("cudaLaunchKernel", base + 3 * index, 2, correlation=launched))
            events.append(kernel(name, base + 100 + 50 * index, 40, correlation=launched))
    path = tmp_path_factory.mktemp("hostile") / "decode.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def output(command: str, trace: Path, *options: str) -> str:
    arguments = [sys.executable, "-m", "trace_budget", command, str(trace), *COMMANDS.get(command, ()), *options]
    done = subprocess.run(arguments, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not FORBIDDEN.search(done.stderr.decode())
    return done.stdout.decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_holds_a_character_that_steers(trace: Path, command: str) -> None:
    for name in ("table", "json", "markdown", "csv"):
        text = output(command, trace, "--format", name)
        assert not FORBIDDEN.search(text), name


def test_every_name_is_one_cell_of_the_csv(trace: Path) -> None:
    rows = list(csv.reader(io.StringIO(output("kernels", trace, "--format", "csv"))))
    assert {len(row) for row in rows} == {len(rows[0])}
    names = {row[0] for row in rows[1:]}
    assert len(names) == len(HOSTILE)
    assert not any(name.startswith(("=", "+", "-", "@")) for name in names)
    assert {"'=cmd|' /C calc'!A0", '"quoted","cells"', "?[31mred?[0m", "two?lines?over"} <= names


def test_every_name_is_one_cell_of_the_markdown_and_no_markup(trace: Path) -> None:
    text = output("kernels", trace, "--format", "markdown")
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
    kinds = {child.type for token in tokens for child in token.children or ()} | {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows >= len(HOSTILE) + 1


def test_json_gives_each_name_back(trace: Path) -> None:
    document = json.loads(output("kernels", trace, "--format", "json"))
    names = {row["kernel"] for row in document["rows"]}
    assert set(HOSTILE[6:]) <= names


def test_a_page_and_timelines_hold_no_character_that_steers(trace: Path, tmp_path: Path) -> None:
    options = ("--kernel", "glob:gemm_k*", "--saving-us", "3", "-q")
    output("report", trace, *options, "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    own = page[: page.index("<script")] + page[page.rindex("</script>") :]
    assert not FORBIDDEN.search(own)
    assert "<img" not in page
    assert "<script>document" not in page
    for name in ("chrome.json", "perfetto.pftrace"):
        output("timeline", trace, *options, "-o", str(tmp_path / name))
    chrome = json.loads((tmp_path / "chrome.json").read_text())
    assert not any(FORBIDDEN.search(str(event["name"])) for event in chrome["traceEvents"])
    assert b"\x1b[" not in (tmp_path / "perfetto.pftrace").read_bytes()


def test_a_name_of_a_file_is_told_without_its_escapes(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\nb.json"
    path.write_bytes(b"hello")
    done = subprocess.run(
        [sys.executable, "-m", "trace_budget", "kernels", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1
