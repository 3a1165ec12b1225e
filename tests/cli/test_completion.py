"""Shell completion: the scripts for each shell, and what they are answered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def asked(*arguments: str, **variables: str) -> str:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **variables}
    command = [sys.executable, "-W", "error", "-m", "trace_budget", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_the_program_itself(shell: str) -> None:
    script = asked(_TRACE_BUDGET_COMPLETE=f"source_{shell}")
    assert f"_TRACE_BUDGET_COMPLETE=complete_{shell}" in script
    assert asked("--show-completion", shell).strip() == script.strip()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("trace-budget pro", {"project"}),
        ("trace-budget kernels t.json --ph", {"--phase"}),
        ("trace-budget batch --ret", {"--retry-failed"}),
    ],
)
def test_bash_is_offered_commands_and_options(words: str, offered: set[str]) -> None:
    place = str(len(words.split()) - 1)
    answer = asked(_TRACE_BUDGET_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    assert set(answer.split()) == offered


def test_a_real_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "trace-budget"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trace_budget "$@"\n')
    program.chmod(0o755)
    lines = (
        'eval "$(_TRACE_BUDGET_COMPLETE=source_bash trace-budget)"',
        "COMP_WORDS=(trace-budget ov) COMP_CWORD=1",
        "_trace_budget_completion trace-budget ov trace-budget",
        'echo "${COMPREPLY[@]}"',
    )
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == ("overlap\n", "")
