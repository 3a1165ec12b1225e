"""What the commands really print for the sample of the founding cases, compared with tests/golden/."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from trace_budget import readers

ROOT = Path(__file__).parents[2]
TRACE = "sample_traces/kineto/gdn_decode_gfx936.json.gz"
COMMANDS = {
    "kernels": f"kernels {TRACE}",
    "steps": f"steps {TRACE}",
    "layers": f"layers {TRACE} --kernel gdn_fused",
    "overlap": f"overlap {TRACE}",
    "check": f"check {TRACE}",
    "threshold": f"threshold {TRACE}",
    "project": f"project {TRACE} --kernel gdn_fused --saving-us 3.228",
    "project_case_1": f"project {TRACE} --kernel gdr_split --new-us 9.82719 --baseline-us 12.93559 --token-ms 44",
    "project_case_3": f"project {TRACE} --kernel gdn_out_proj --proxy-us 53.28 --token-ms 44",
    "estimate": "estimate --saving-us 3.1084 --calls 48 --token-ms 44",
    "schema": "schema",
}
SUFFIXES = {"table": "txt", "json": "json", "markdown": "md", "csv": "csv"}
EXTRA = [(name, kind) for name in ("kernels", "project") for kind in ("markdown", "csv")]
SCREEN = 40

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _at_the_root(_empty_working_directory: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(("name", "kind"), [*((n, k) for n in COMMANDS for k in ("table", "json")), *EXTRA])
def test_output_is_the_golden_one(run: Run, golden: Callable[[str, str], None], name: str, kind: str) -> None:
    result = run(*COMMANDS[name].split(), "--format", kind)
    assert result.code == 0, result.err
    # The accelerator gives the same figures; only its name is another.
    golden(f"cli/{name}.{SUFFIXES[kind]}", result.out.decode().replace('"engine": "c"', '"engine": "msgspec"'))


def test_formats_lists_every_reader_in_its_order(run: Run) -> None:
    rows = json.loads(run("formats", "--format", "json").out)["rows"]
    assert [row["format"] for row in rows] == list(readers.NAMES)
    lines = run("formats").out.decode().splitlines()
    assert max(cell_len(line) for line in lines) <= 80
    assert {name for name in readers.NAMES if any(line.startswith(f"{name} ") for line in lines)} == set(readers.NAMES)


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_fit_80_columns(run: Run, name: str) -> None:
    lines = run(*COMMANDS[name].split()).out.decode().splitlines()
    assert max(cell_len(line) for line in lines) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.startswith("project")])
def test_the_answer_of_project_fits_one_screen(run: Run, name: str) -> None:
    assert len(run(*COMMANDS[name].split()).out.decode().splitlines()) <= SCREEN


@pytest.mark.parametrize("name", COMMANDS)
def test_every_json_document_says_what_it_is(run: Run, name: str) -> None:
    document = json.loads(run(*COMMANDS[name].split(), "--format", "json").out)
    room, version = document["schema"].removeprefix("trace-budget/").split("/")
    assert room == ("verdict" if name.startswith("project") else name)
    assert version == "1"
    assert {"trace", "caveats"} <= set(document)
