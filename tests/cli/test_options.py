"""From option texts to the plain structs the core takes; what makes no sense is refused in one line with exit 2."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.fakes import FakeApi
from trace_budget.asking import one_candidate
from trace_budget.projection.candidates import Sequence
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput

Run = Callable[..., Any]
PROJECT = ("project", "t.json", "--kernel", "gdn_fused")


def asked_of_project(api: FakeApi) -> list[Any]:
    """What `project` was asked, but for the trace."""
    asked = api.asked["project"]
    return [asked[name] for name in ("selection", "change", "scope", "token", "policy")]


def test_project_with_nothing_else_given(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--saving-us", "3.228").code == 0
    assert api.asked["open_trace"] == {"path": Path("t.json"), "options": (None, None, None), "cache": True}
    assert api.asked["project"]["trace"].path == "t.json"
    plain = [Selection("gdn_fused"), Change(saving_us=3.228), Scope(), TokenInput(), Policy()]
    assert asked_of_project(api) == plain
    assert (api.asked["project"]["others"], api.asked["project"]["weights"]) == ([], None)


def test_every_option_of_project_arrives(run: Run, api: FakeApi) -> None:
    text = """--position 3 --grid 4,1,1 --stream 7 --device 1 --all-matches --new-us 9.5 --baseline-us 12.9
    --overhead-us 0.5 --per-step-us 2 --extra-bytes 2097152 --bandwidth-gbps 1200 --hit-rate 0.6:1 --calls 48 --clip
    --force --steps 3: --phase decode --layers 48 --step-pattern ^iter_ --token-ms 44 --tokens-per-step 2.5 --loop sync
    --target-pct 2 --noise-pct 0.42 --runs 3 --dilution 0.5 --rank 4 --from kineto --trace-processor /opt/tp
    --no-cache"""
    assert run(*PROJECT, *text.split()).code == 0
    assert api.asked["open_trace"] == {"path": Path("t.json"), "options": ("kineto", 4, "/opt/tp"), "cache": False}
    assert asked_of_project(api) == [
        Selection("gdn_fused", 3, "4,1,1", 7, 1, True),
        Change(
            new_us=9.5,
            baseline_us=12.9,
            overhead_us=0.5,
            per_step_us=2.0,
            extra_bytes=2097152.0,
            bandwidth_gbps=1200.0,
            hit_rate=Range(0.6, 1.0),
            calls=48.0,
            clip=True,
            force=True,
        ),
        Scope("3:", "decode", 48, 1, "^iter_"),
        TokenInput(2.5, 44.0, "sync"),
        Policy(2.0, 0.42, 3, 0.5),
    ]


def test_short_options_are_the_long_ones(run: Run, api: FakeApi) -> None:
    assert run("project", "t.json", "-k", "gdn_fused", "-s", "3").code == 0
    assert asked_of_project(api)[:2] == [Selection("gdn_fused"), Change(saving_us=3.0)]


@pytest.mark.parametrize(
    ("option", "change"),
    [
        (("--saving-us", "3"), Change(saving_us=3.0)),
        (("--new-us", "3"), Change(new_us=3.0)),
        (("--speedup", "1.3"), Change(speedup=1.3)),
        (("--free",), Change(free=True)),
        (("--proxy-us", "53.28"), Change(proxy_us=53.28)),
    ],
)
def test_each_way_to_tell_the_saving(run: Run, api: FakeApi, option: tuple[str, ...], change: Change) -> None:
    assert run(*PROJECT, *option).code == 0
    assert api.asked["project"]["change"] == change


def test_a_sequence_of_kernels_is_replaced_by_one_launch(run: Run, api: FakeApi) -> None:
    assert run("project", "t.json", "--replace", "gdn_fused, gdr_split", "--new-us", "28").code == 0
    selection, change, *_ = asked_of_project(api)
    candidate = one_candidate(selection, change).candidate
    assert candidate.sequence == Sequence(("gdn_fused", "gdr_split"), 28.0)
    assert candidate.selection is None
    for words in (
        ("--replace", "a,b", "--saving-us", "3"),
        ("--replace", "a", *PROJECT[2:], "--new-us", "3"),
        ("--new-us", "3"),
    ):
        assert run("project", "t.json", *words).code == 2


def test_phases_are_weighted(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--free", "--weights", "decode=9,mixed=1").code == 0
    assert api.asked["project"]["weights"] == {"decode": 0.9, "mixed": 0.1}
    for text in ("decode", "decode=0", "sleep=1", "decode=x"):
        assert run(*PROJECT, "--free", "--weights", text).code == 2


@pytest.mark.parametrize("options", ["", "--saving-us 3 --new-us 4", "--free --speedup 2", "--proxy-us 1 --free"])
def test_exactly_one_saving_is_needed(run: Run, api: FakeApi, options: str) -> None:
    result = run(*PROJECT, *options.split())
    assert result.code == 2
    assert "exactly one saving is needed (expected one of --saving-us, --new-us" in result.line
    assert "project" not in api.asked  # without any, the trace is looked at for the kernel, and no more


@pytest.mark.parametrize(
    "option",
    [
        *("--saving-us nan", "--saving-us inf", "--saving-us 0", "--saving-us -3", "--saving-us three"),
        *("--new-us 0", "--speedup 0", "--proxy-us -1", "--free --baseline-us 0", "--free --overhead-us -0.1"),
        *("--free --per-step-us nan", "--free --extra-bytes -1", "--free --extra-bytes 9", "--free --calls 0"),
        *("--free --hit-rate 1.1", "--free --hit-rate 0.9:0.1", "--free --hit-rate x", "--free --hit-rate -1:1"),
        *("--free --tokens-per-step 0", "--free --token-ms inf", "--free --loop both", "--free --target-pct 0"),
        *("--free --target-pct 101", "--free --noise-pct 0", "--free --runs 1", "--free --runs 2.5"),
        *("--saving-us 1e-320", "--speedup 1e308", "--free --token-ms 1e300", "--free --layers 9223372036854775808"),
        *("--free --dilution 0", "--free --dilution 1.5", "--free --layers 0", "--free --position -1"),
        *("--free --stream 1.5", "--free --device -1", "--free --rank -1", "--free --phase decoding"),
        *("--free --steps a:b", "--free --steps :", "--free --step-pattern (", "--free --fail-unless NO-GO"),
        *("--free --format xml", "--free --nonsense", "--free --token-ms"),
    ],
)
def test_senseless_values_are_refused_in_one_line(run: Run, api: FakeApi, option: str) -> None:
    result = run(*PROJECT, *option.split())
    assert result.code == 2
    assert result.line.startswith("trace-budget: ")
    assert option.split()[-2].removeprefix("--free") in result.line or option.rsplit(maxsplit=1)[-1] in result.line
    assert result.out == b""
    assert api.asked == {}


def test_a_share_of_zero_hits_is_a_valid_lower_end(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--free", "--hit-rate", "0:0.5").code == 0
    assert api.asked["project"]["change"].hit_rate == Range(0.0, 0.5)


def test_a_cost_of_zero_is_told_and_differs_from_an_unknown_one(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--free", "--overhead-us", "0", "--extra-bytes", "0").code == 0
    change = api.asked["project"]["change"]
    assert (change.overhead_us, change.extra_bytes, change.per_step_us) == (0.0, 0.0, None)


def test_streams_beyond_two_to_the_53_stay_exact(run: Run, api: FakeApi) -> None:
    assert run(*PROJECT, "--free", "--stream", 2**53 + 1).code == 0
    assert api.asked["project"]["selection"].stream == 2**53 + 1


@pytest.mark.parametrize("command", ["kernels", "steps", "overlap", "layers", "threshold"])
def test_structure_commands_pass_the_scope(run: Run, api: FakeApi, command: str) -> None:
    assert run(command, "t.json", "--steps", "2:5", "--phase", "prefill", "--device", "0").code == 0
    assert api.asked[command]["scope"] == Scope("2:5", "prefill", None, 0, None)


def test_kernels_layers_and_threshold_pass_their_own_options(run: Run, api: FakeApi) -> None:
    for command in ("kernels", "layers", "threshold"):
        assert run(command, "t.json", "--kernel", "gdn").code == 0
        assert api.asked[command]["kernel"] == "gdn"
    assert run("threshold", "t.json", "--limit", "5", "--target-pct", "2").code == 0
    assert (api.asked["threshold"]["limit"], api.asked["threshold"]["policy"]) == (5, Policy(target_pct=2.0))


def test_estimate_takes_calls_or_layers(run: Run, api: FakeApi) -> None:
    assert run("estimate", "--saving-us", "3.1084", "--calls", "48", "--token-ms", "44").code == 0
    assert list(api.asked["estimate"].values()) == [3.1084, 48.0, None, None, 44.0, None, 1.0, 1.0]
    text = """--saving-us 3 --layers 48 --calls-per-layer 2 --token-ms 44
    --hit-rate 0.25 --target-pct 2 --tokens-per-step 2.5"""
    assert run("estimate", *text.split()).code == 0
    assert list(api.asked["estimate"].values()) == [3.0, None, 48.0, 2.0, 44.0, Range(0.25, 0.25), 2.0, 2.5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--calls 48", "--token-ms"),
        ("--token-ms 44", "found neither"),
        ("--token-ms 44 --calls 48 --layers 48", "found both"),
        ("--token-ms 44 --calls 48 --calls-per-layer 1", "goes with --layers"),
    ],
)
def test_estimate_says_which_factor_is_missing(run: Run, options: str, words: str) -> None:
    result = run("estimate", "--saving-us", "3", *options.split())
    assert result.code == 2
    assert words in result.line
