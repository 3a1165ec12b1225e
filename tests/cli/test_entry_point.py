"""The entry point: exit codes, one-line errors, signals, broken pipes, and a start-up without heavy imports."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trace_budget
from cli.fakes import FakeApi
from trace_budget import cli, errors
from trace_budget.questions import formats

Run = Callable[..., Any]
PROJECT = ("project", "t.json", "--kernel", "k", "--free")
STUCK = """
import sys, time
from pathlib import Path
from trace_budget.io.atomic import new_file
from trace_budget.questions import formats
def stuck():
    with new_file(Path(sys.argv[1]) / "out.json") as file:
        file.write(b"half")
        print("ready", flush=True)
        time.sleep(60)
formats.formats = stuck
from trace_budget.__main__ import main
sys.exit(main(["formats"]))
"""


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trace_budget", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_version(run: Run) -> None:
    result = run("--version")
    assert (result.code, result.out.decode()) == (0, f"trace-budget {trace_budget.__version__}\n")


def test_without_a_command_the_help_is_shown_and_nothing_counts_as_done(run: Run) -> None:
    result = run()
    assert result.code == 2
    assert b"Structure" in result.out


def test_help_is_there_at_once_and_tells_of_every_command() -> None:
    program = "import sys; from trace_budget.__main__ import main; main(['--help']); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    *page, modules = shown.splitlines()
    assert page == (Path(cli.__file__).parent / "help.txt").read_text(encoding="utf-8").splitlines()
    assert not {"typer", "rich", "typing", "re"} & set(modules.split()) - _modules_of_a_bare_interpreter()
    words = " ".join(" ".join(page).replace("│", " ").split())
    for name in cli.NAMES:
        sentence = (cli.command(name).__doc__ or "").splitlines()[0]
        assert f"{name} {sentence}" in words, "run docs/make/help_page.py"


def _modules_of_a_bare_interpreter() -> set[str]:
    bare = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    return set(subprocess.run(bare, capture_output=True, text=True, check=True).stdout.split())


def test_a_command_builds_itself_alone() -> None:
    assert [each.name for each in cli.build(["steps"]).registered_commands] == ["steps"]
    assert [each.name for each in cli.build().registered_commands] == list(cli.NAMES)


@pytest.mark.parametrize("name", cli.NAMES)
def test_every_command_has_help_that_starts_with_its_sentence(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.code == 0
    sentence = (cli.command(name).__doc__ or "").splitlines()[0]
    assert sentence in result.out.decode()


def test_unknown_commands_get_a_hint(run: Run) -> None:
    result = run("kernls")
    assert result.code == 2
    assert "'kernls'" in result.line


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageError, 2),
        (errors.InputError, 3),
        (errors.NotInTraceError, 4),
        (errors.OutputError, 5),
        (errors.GateMissedError, 10),
    ],
)
def test_every_error_is_one_line_and_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, kind: type[errors.TraceBudgetError], code: int
) -> None:
    def fail() -> None:
        raise kind("it failed \x1b[2J", where="t.json", expected="a", found="b", advice="Do this.")

    monkeypatch.setattr(formats, "formats", fail)
    result = run("formats")
    assert result.code == code
    assert result.line == "trace-budget: t.json: it failed ?[2J (expected a, found b). Do this."


def test_a_bug_ends_with_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(formats, "formats", fail)
    with pytest.raises(ZeroDivisionError):
        run("formats")


@pytest.mark.parametrize(
    ("verdict", "gate", "code"),
    [
        *(("GO", "GO", 0), ("MARGINAL", "GO", 10), ("NO-GO", "GO", 10), ("INVALID", "GO", 10)),
        *(("GO", "MARGINAL", 0), ("MARGINAL", "MARGINAL", 0), ("NO-GO", "MARGINAL", 10), ("INVALID", "MARGINAL", 10)),
    ],
)
def test_the_gate_fails_after_the_answer(run: Run, api: FakeApi, verdict: str, gate: str, code: int) -> None:
    api.verdict = verdict
    result = run(*PROJECT, "--fail-unless", gate)
    assert result.code == code
    assert b"the answer" in result.out
    assert (f"found {verdict}" in result.err) == (code == 10)


@pytest.mark.parametrize("verdict", ["GO", "MARGINAL", "NO-GO", "INVALID"])
def test_without_a_gate_any_verdict_is_success(run: Run, api: FakeApi, verdict: str) -> None:
    api.verdict = verdict
    assert run(*PROJECT).code == 0


@pytest.mark.parametrize(
    ("trust", "gate", "code"),
    [
        *(("good", "good", 0), ("usable", "good", 10), ("broken", "good", 10)),
        *(("good", "usable", 0), ("usable", "usable", 0), ("broken", "usable", 10)),
    ],
)
def test_the_gate_of_check_fails_after_the_answer(run: Run, api: FakeApi, trust: str, gate: str, code: int) -> None:
    api.trust = trust
    result = run("check", "t.json", "--fail-unless", gate)
    assert result.code == code
    assert b"the answer" in result.out
    assert (f"found {trust}" in result.err) == (code == 10)
    assert run("check", "t.json").code == 0


def test_check_goes_on_past_a_bad_file(run: Run, api: FakeApi) -> None:
    result = run("check", "a.json", "bad.json", "b.json", "--token-ms", "44")
    assert result.code == 3
    assert [trace.path for trace in api.asked["check"]["traces"]] == ["a.json", "b.json"]
    assert api.asked["check"]["token_ms"] == 44.0
    assert b"error unreadable_input: bad.json: no GPU kernels. Re-record it." in result.out
    assert result.line == "trace-budget: 1 of 3 files could not be read: bad.json: no GPU kernels. Re-record it."


def test_check_of_only_bad_files_is_that_error(run: Run, api: FakeApi) -> None:
    result = run("check", "bad.json")
    assert (result.code, result.out) == (3, b"")
    assert result.line == "trace-budget: bad.json: no GPU kernels. Re-record it."


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_without_a_word_and_without_a_half_file(tmp_path: Path, number: int, code: int) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 1
        running.send_signal(number)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (code, "")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m trace_budget doctor --format json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() in {"0", "141"}


def test_a_full_disk_behind_stdout_is_exit_5() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "trace_budget", "doctor"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr == (
        "trace-budget: stdout: cannot write: the disk is full. Free some space, or give another path.\n"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["project", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from trace_budget.__main__ import main\n"
        f"main({arguments!r})\n"
        "print(sorted({'numpy', 'polars', 'pandas', 'pyarrow', 'perfetto'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, trace_budget; print(len({'typer', 'rich', 'numpy', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_the_process_starts_as_a_module() -> None:
    assert process("--version").stdout == f"trace-budget {trace_budget.__version__}\n"
