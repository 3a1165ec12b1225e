"""The candidate file: what it means, and the line of each fault."""

from pathlib import Path

import pytest

from trace_budget.errors import UsageError
from trace_budget.projection.candidates import parse_candidates, read_candidates
from trace_budget.schema.options import Policy, Range, TokenInput

HEAD = 'schema = "trace-budget/candidates/1"\n'
FULL = (
    HEAD
    + """
[defaults]
min_pct = 0.5
noise_pct = 0.42
rho = 0.6
runs = 7
loop = "sync"
tokens_per_step = 2.5

[[candidate]]
id = "gdr"
match = { kernel = "fused_recurrent*", mode = "glob", grid = "4,1,1", stream = 7, position = 3 }
saving_us = 3.1084
baseline_us = 12.93559
saving_ci_us = [2.9, 3.3]
bench = { method = "graph-replay", cold_l2 = false, n = 7 }
hit_rate = { low = 0.6, high = 1.0 }
calls = { expect_per_step = 48 }
overhead_us = 0.0
per_step_us = 1.5
extra_bytes = 2097152
bandwidth_gbps = 1200
apply_to = { steps = "decode", layers = [0, 1], ranks = "all", m_bucket = [1, 16] }
evidence = "bench.json"

[[candidate]]
id = "fuse"
replace = { sequence = ["rmsnorm", "quant*"], max_gap_us = 10 }
new_us = 5.5
group = "norm"
"""
)


def test_every_key_arrives() -> None:
    asked = parse_candidates(FULL)
    assert asked.policy == Policy(0.5, 0.42, 7, 0.6)
    assert asked.token == TokenInput(2.5, None, "sync")
    first, second = asked.candidates
    assert first.selection is not None
    assert (first.selection.kernel, first.selection.grid, first.selection.stream) == (
        "glob:fused_recurrent*",
        "4,1,1",
        7,
    )
    assert (first.selection.position, first.selection.layers, first.selection.batch_sizes) == (3, (0, 1), (1, 16))
    change = first.change
    assert (change.saving_us, change.baseline_us, change.saving_ci_us) == (3.1084, 12.93559, Range(2.9, 3.3))
    assert (change.hit_rate, change.calls, change.overhead_us, change.per_step_us) == (Range(0.6, 1.0), 48, 0.0, 1.5)
    assert (first.cold_l2, first.phase) == (False, "decode")
    assert second.sequence is not None
    assert second.sequence.patterns == ("rmsnorm", "glob:quant*")
    assert (second.sequence.new_us, second.sequence.max_gap_ns, second.group) == (5.5, 10_000, "norm")


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nsavin_us = 3', 5, "unknown field `savin_us`"),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nsaving_us = "3"', 5, "Expected `float | null`"),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x", modus = "y" }\nsaving_us = 3', 4, "unknown field `modus`"),
        ('[[candidate]]\nid = "a"\nsaving_us = 3', 3, "match or replace, one of them"),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x" }', 3, "states its saving once"),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nsaving_us = 3\nfree = true', 3, "states its saving once"),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nspeedup = 0', 5, "speedup: Expected `float` above 0"),
        (
            '[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nsaving_us = 3\nhit_rate = 1.5',
            6,
            "Expected `float` <= 1.0",
        ),
        ('[[candidate]]\nid = "a"\nmatch = { kernel = "x", mode = "fuzzy" }\nfree = true', 4, "unknown match mode"),
        (
            '[[candidate]]\nid = "a"\nreplace = { sequence = ["x"] }\nsaving_us = 3',
            4,
            "needs the time of the new launch",
        ),
        ('[[candidate]]\nid = "a"\nreplace = { sequence = [] }\nnew_us = 3', 4, "an empty sequence"),
        (
            '[[candidate]]\nid = "a"\nnew_us = 3\nreplace = { sequence = ["x", "y"], same_stream = false }',
            5,
            "one launch replaces kernels of one stream",
        ),
        (
            '[[candidate]]\nid = "b"\nmatch = { kernel = "x" }\nfree = true\n'
            '[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\n'
            'new_us = "x"',
            9,
            "Expected `float | null`",
        ),
    ],
)
def test_faults_name_their_line(body: str, line: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_candidates(HEAD + body, "c.toml")
    assert f"c.toml:{line}: " in caught.value.line()
    assert words in caught.value.line()
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize(
    "keys",
    [
        *("saving_us = nan", "saving_us = -1", "saving_us = 0", "saving_us = inf", "saving_us = 1e308"),
        *("new_us = nan", "speedup = 1e-320", "zero_cost = { proxy_us = nan }", "free = true\nbaseline_us = 0"),
        *(
            "free = true\nsaving_ci_us = [nan, nan]",
            "free = true\nsaving_ci_us = [5, 1]",
            "free = true\noverhead_us = -1",
        ),
        *(
            "free = true\ncalls = { expect_per_step = nan }",
            "free = true\nextra_bytes = 5",
            "free = true\nhit_rate = nan",
        ),
        *("free = true\napply_to = { m_bucket = [5, 1] }", "free = true\napply_to = { m_bucket = [0, 99999999999] }"),
        *("free = true\napply_to = { layers = [] }", "free = true\napply_to = { steps = 'nope' }"),
        "free = true\nevidence = " + "[" * 3_000,
    ],
)
def test_numbers_that_cannot_be_are_refused_with_their_line(keys: str) -> None:
    text = HEAD + f'[[candidate]]\nid = "a"\nmatch = {{ kernel = "x" }}\n{keys}\n'
    with pytest.raises(UsageError, match=r"^c\.toml"):
        parse_candidates(text, "c.toml")


@pytest.mark.parametrize(
    "default",
    [
        *("token_ms = -44", "token_ms = 0", "token_ms = 1e-320", "tokens_per_step = -2", "runs = 1", "rho = nan"),
        *("rho = 5", "min_pct = -5", "min_pct = 1e308", "noise_pct = 0", 'loop = "both"'),
    ],
)
def test_defaults_that_cannot_be_are_refused(default: str) -> None:
    text = HEAD + f'[defaults]\n{default}\n[[candidate]]\nid = "a"\nmatch = {{ kernel = "x" }}\nfree = true\n'
    with pytest.raises(UsageError, match=r"^c\.toml:\d+: defaults\."):
        parse_candidates(text, "c.toml")


def test_a_mark_of_byte_order_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(HEAD + '[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nfree = true\n', encoding="utf-8-sig")
    assert [one.id for one in read_candidates(path).candidates] == ["a"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (HEAD + '[[candidate]]\nid = "a"\nkernel = "x"', "keys: id, match, replace, saving_us, new_us"),
        (HEAD + '[[candidate]]\nid = "a"\nmatch = { name = "x" }', "keys: kernel, mode, grid, stream, position"),
        (HEAD + '[[candidate]]\nid = "a"\nhit_rate = { lo = 1 }', "keys: low, high)"),
        (HEAD + "[defaults]\ntarget = 1\n[[candidate]]", "keys: min_pct, noise_pct, rho, runs, loop"),
        (HEAD + "[[kandidate]]", "keys: schema, candidate, defaults)"),
    ],
)
def test_an_unknown_key_is_answered_with_those_that_stand_there(text: str, keys: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_candidates(text, "c.toml")
    assert keys in caught.value.line()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('schema = "trace-budget/candidates/9"\n[[candidate]]\nid = "a"', "unknown schema"),
        (HEAD + '[[candidate]]\nid = "a"\nmatch = { kernel = "x" }\nfree = true\n' * 2, "an id of its own"),
        (HEAD + "candidate = []", "an id of its own"),
        ("x = [", "not TOML"),
    ],
)
def test_files_that_are_no_candidate_file(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_candidates(text)


def test_a_file_that_cannot_be_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match="cannot be read"):
        read_candidates(tmp_path / "none.toml")
