"""What paths tell: models, batch sizes, ranks, jobs, companions; and how a user's pattern comes first."""

import pytest

from trace_budget.batches.identify import Identity
from trace_budget.batches.jobs import job_labels, sort_out
from trace_budget.batches.names import facts_in_path
from trace_budget.batches.sources import Source
from trace_budget.errors import UsageError
from trace_budget.readers.rank_names import job_facts, rank_in, shared_name


def one(relative: str, digest: str = "d", rank: int | None = None, world: int | None = None) -> Identity:
    return Identity(Source(f"/in/{relative}", relative, 1), digest, rank, world)


@pytest.mark.parametrize(
    ("path", "model", "batch_size"),
    [
        ("week/Llama-3-8B_bs32/rank0.trace.json.gz", "Llama-3-8B", 32),
        ("Qwen3-8B-bs=16.json", "Qwen3-8B", 16),
        ("gpt-oss-20b/batch_8/run.db", "gpt-oss-20b", 8),
        ("deepseek-v3_tp8_batch1.json.gz", "deepseek-v3", 1),
        ("night3/run17.json", None, None),
        ("absorb12/run.json", None, None),
    ],
)
def test_usual_spellings(path: str, model: str | None, batch_size: int | None) -> None:
    facts = facts_in_path(path)
    assert (facts.model, facts.batch_size, dict(facts.tags)) == (model, batch_size, {})


def test_a_pattern_comes_first_and_may_name_tags() -> None:
    facts = facts_in_path("acme_v2/bs4/tp8.json", r"(?P<model>[^/]+)/bs(?P<batch_size>\d+)/tp(?P<tp>\d+)")
    assert (facts.model, facts.batch_size, dict(facts.tags)) == ("acme_v2", 4, {"tp": "8"})


@pytest.mark.parametrize(("text", "why"), [("(", "not a regular expression"), ("bs[0-9]+", "names no group")])
def test_patterns_that_say_nothing(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        facts_in_path("x", text)


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["rank0.1713000111.pt.trace.json.gz", "rank1.1713000115.pt.trace.json.gz"], [0, 1]),
        (["1713-TP-0.trace.json.gz", "1713-TP-3.trace.json.gz"], [0, 3]),
        (["dp0_pp0_tp0_dcp0_ep0_rank0.17130001.json.gz", "dp1_pp0_tp0_dcp0_ep1_rank2.17130002.json.gz"], [0, 2]),
        (["rank-0.json.gz", "rank-1.json.gz"], [0, 1]),
    ],
)
def test_ranks_of_one_job_share_a_name(names: list[str], ranks: list[int]) -> None:
    assert [rank_in(name) for name in names] == ranks
    assert len({shared_name(name) for name in names}) == 1


def test_jobs_are_told_apart_by_folder_and_by_repeated_ranks() -> None:
    found = [
        one("a/host_11.1713000001.json", rank=0, world=2),
        one("a/host_12.1713000002.json", rank=1, world=2),
        one("a/host_13.1713009001.json", rank=0, world=2),
        one("a/host_14.1713009002.json", rank=1, world=2),
        one("b/host_11.1713000001.json", rank=0, world=2),
        one("b/alone.json", rank=0, world=1),
        one("b/nobody_knows.json"),
    ]
    assert job_labels(found) == [
        *("a/host_#.#.json", "a/host_#.#.json", "a/host_#.#.json (2)", "a/host_#.#.json (2)"),
        *("b/host_#.#.json", "b/alone.json", "b/nobody_knows.json"),
    ]


def test_copies_companions_and_refusals_are_sorted_out() -> None:
    good, copy = one("a/x_kernel_trace.csv", "1"), one("b/x_kernel_trace.csv", "1")
    beside, refused = one("a/x_hip_api_trace.csv", "2"), Identity(Source("/in/e", "e", 0), "3", refusal="e: empty file")
    found = sort_out([refused, copy, beside, good])
    assert [planned.identity for planned in found.planned] == [good]
    assert found.copies == ((copy, good),)
    assert (found.companions, found.refused) == ((beside,), (refused,))


def test_equal_contents_under_names_of_two_ranks_are_two_traces() -> None:
    found = sort_out([one("rank-0.json", rank=0), one("rank-1.json", rank=1)])
    assert len(found.planned) == 2
    assert found.copies == ()


def test_the_job_description_is_read_from_the_first_bytes() -> None:
    head = b'{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{}]}'
    assert job_facts(head) == (3, 8)
    assert job_facts(b'{"traceEvents": []}') == (None, None)
