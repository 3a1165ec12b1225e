"""batch on the command line: options become one question, the summary goes to stdout, exit codes tell the outcome."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trace_budget.batches import run as room
from trace_budget.batches.question import Question
from trace_budget.errors import InputError
from trace_budget.projection.candidates import Candidate
from trace_budget.schema.options import Change, Policy, Scope, Selection, TokenInput

Run = Callable[..., Any]
KINETO = Path(__file__).parents[2] / "sample_traces" / "kineto"
COUNT = len([path for path in KINETO.glob("*.json*") if ".truth." not in path.name])
HERE = ("--engine", "here")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the command asks of the batch, which then finds nothing."""
    heard: list[tuple[Any, ...]] = []

    def batch(*arguments: Any) -> None:
        heard.append(arguments)
        raise InputError("no trace found")

    monkeypatch.setattr(room, "batch", batch)
    return heard


def test_every_option_arrives(run: Run, asked: list[tuple[Any, ...]]) -> None:
    text = """a b s3://c -o out --kernel gdn --position 3 --saving-us 3 --baseline-us 20 --force
    --steps 3: --phase decode --layers 48 --device 1 --token-ms 44 --target-pct 2 --from kineto
    --name-pattern (?P<model>x) --trace-processor /tp -j 3 --engine dask --scheduler tcp://h:1
    --retry-failed --by model,phase -q"""
    assert run("batch", *text.split()).code == 3
    ((folders, out, question, workers, retry),) = asked
    assert (folders, out, retry) == (["a", "b", "s3://c"], "out", True)
    candidate = Candidate("gdn", Change(saving_us=3.0, baseline_us=20.0, force=True), Selection("gdn", 3, device=1))
    scope, token, policy = Scope("3:", "decode", 48, 1), TokenInput(token_ms=44.0), Policy(target_pct=2.0)
    assert question == Question((candidate,), scope, token, policy, "kineto", "(?P<model>x)", "/tp")
    assert (workers.engine, workers.jobs, workers.scheduler, workers.progress) == ("dask", 3, "tcp://h:1", None)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--saving-us 3", "a saving needs --kernel"),
        ("--kernel k", "exactly one saving is needed"),
        ("--kernel k --free --new-us 3", "exactly one saving is needed"),
        ("--candidates c.toml --kernel k --free", "--candidates excludes --kernel"),
        ("--candidates none.toml", "the candidate file cannot be read"),
        ("--by nonsense", "no such group"),
        ("--name-pattern ( --by model", "not a regular expression"),
        ("--engine spark", "Invalid value"),
        ("-j 0", "Invalid value"),
    ],
)
def test_what_makes_no_sense_is_refused_first(run: Run, asked: list[tuple[Any, ...]], options: str, why: str) -> None:
    result = run("batch", "a", "-o", "out", *options.split())
    assert (result.code, asked) == (2, [])
    assert why in result.line


def test_the_summary_is_an_answer_like_any_other(run: Run) -> None:
    arguments = ("batch", KINETO, "-o", "out", "--kernel", "attention_kernel", "--free", "--all-matches", *HERE)
    result = run(*arguments, "--format", "json", "--by", "device,phase")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert document["schema"] == "trace-budget/batch/1"
    assert (document["traces"], document["failed"], document["done_before"]) == (COUNT, 0, 0)
    assert {row["group"] for row in document["groups"]} >= {"all traces", "NVIDIA H100 80GB HBM3 · decode"}
    again = run(*arguments, "--format", "csv")
    assert again.code == 0
    assert again.out.decode().splitlines()[0].startswith("group,candidate,traces,jobs,absent,min_pct")


def test_a_kernel_that_no_trace_has_is_exit_4(run: Run) -> None:
    result = run("batch", KINETO, "-o", "out", "--kernel", "no such kernel", "--free", *HERE)
    assert result.code == 4
    assert "no trace has any of the kernels asked for" in result.err
    rows = pl.read_parquet("out/table=projections/**/*.parquet", hive_partitioning=False)
    assert set(rows["outcome"]) == {"not_in_trace"}
    assert rows["verdict"].null_count() == rows.height == COUNT


def test_candidates_of_a_file_are_projected_each(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        'schema = "trace-budget/candidates/1"\n[defaults]\nmin_pct = 0.5\n'
        '[[candidate]]\nid = "norm"\nmatch = { kernel = "rms_norm_kernel" }\nsaving_us = 1.0\n'
        '[[candidate]]\nid = "prefill"\nmatch = { kernel = "rms_norm_kernel" }\nfree = true\n'
        'apply_to = { steps = "prefill" }\n'
    )
    result = run("batch", KINETO / "integer_us_epoch.json.gz", "-o", "out", "--candidates", "c.toml", *HERE)
    assert result.code == 0, result.err
    rows = pl.read_parquet("out/table=projections/**/*.parquet", hive_partitioning=False).sort("candidate")
    assert rows["candidate"].to_list() == ["norm", "prefill"]
    assert rows["outcome"].to_list() == ["projected", "not_in_trace"]
    assert rows["target_pct"].to_list() == [0.5, 0.5]


def test_without_a_candidate_the_dataset_describes_the_traces(run: Run) -> None:
    result = run("batch", KINETO / "integer_us_epoch.json.gz", "-o", "out", *HERE)
    assert result.code == 0, result.err
    assert not Path("out/table=projections").exists()
    assert pl.read_parquet("out/table=kernels/**/*.parquet", hive_partitioning=False).height == 5


def test_nothing_to_do_is_exit_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("batch", "empty", "-o", "out", *HERE)
    assert (result.code, "no trace found" in result.line) == (3, True)
    missing = run("batch", "nowhere", "-o", "out", *HERE)
    assert (missing.code, "no such file or folder" in missing.line) == (3, True)
