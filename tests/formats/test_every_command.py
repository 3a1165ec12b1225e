"""Every command on every sample: an answer in JSON, or one line that says why not; never a traceback."""

from __future__ import annotations

import pytest

from formats.answers import OTHERS, QUESTIONS, SAME_RUN, SAMPLES, SUMS, about

TIMELINES = (*SAME_RUN, *OTHERS)
FACTS = ("path", "format", "device", "rank", "world_size", "complete", "resolution_ns", "engine")
CAVEAT = ("code", "severity", "count", "text", "example")


def test_the_lists_hold_every_sample() -> None:
    listed = {SAMPLES / name for name in (*TIMELINES, *SUMS)}
    read_with_another = ("_api_trace", "_agent_info", "_memory_copy_trace", "_pushpop_trace", "_regions_trace")
    left = [
        path
        for path in SAMPLES.glob("[!bm]*/*")
        if path not in listed
        and not path.name.endswith(".truth.json")
        and not any(part in path.name for part in (*read_with_another, "hip_api_trace"))
    ]
    # seven questions of a whole run of 64 layers are asked in tests/cli
    assert sorted(path.name for path in left) == ["gdn_decode_gfx936.json.gz"]


@pytest.mark.parametrize("name", TIMELINES)
def test_every_question_is_answered(name: str) -> None:
    for command in QUESTIONS:
        answer = about(name, command)
        no_such_kernel = command == "project" and name in OTHERS
        assert answer.code == (4 if no_such_kernel and answer.document is None else 0), (command, answer.err)
        if answer.document is None:
            assert "no kernel" in answer.line
            continue
        assert answer.err == ""
        assert answer.document["schema"].startswith("trace-budget/")
        assert set(FACTS) <= set(answer.document["trace"])
        assert all(
            set(caveat) == {"code", "severity", "count", "text", "example"} for caveat in caveats(answer.document)
        )


def caveats(document: dict[str, list[dict[str, object]]]) -> list[dict[str, object]]:
    return document["caveats"]


@pytest.mark.parametrize("name", TIMELINES)
def test_how_the_steps_were_found_is_in_every_answer(name: str) -> None:
    by = about(name, "steps").document["steps_by"]
    assert by["confidence"] in ("low", "medium", "high")
    assert 1 <= by["counted"] <= by["found"]
    for command in ("kernels", "layers", "overlap", "threshold"):
        assert about(name, command).document["steps_by"] == by


@pytest.mark.parametrize("name", SUMS)
def test_sums_answer_kernels_and_refuse_the_rest(name: str) -> None:
    kernels = about(name, "kernels").document
    assert (kernels["phase"], kernels["step_us"]) == (None, None)
    assert [caveat["code"] for caveat in kernels["caveats"]] == ["aggregates_only"]
    rows = {row["kernel"]: row for row in kernels["rows"]}
    assert {row["calls"] for row in rows.values()} == {3, 12}
    # 12 calls of 15,107 ns, later by 7 and 14 ns in the second and third step
    assert rows["paged_attention_kernel"]["total_us"] == pytest.approx(181.368)
    assert rows["paged_attention_kernel"]["mean_us"] == pytest.approx(15.114)
    assert sum(row["pct_of_total"] for row in rows.values()) == pytest.approx(100)
    for command in ("steps", "layers", "overlap", "threshold", "project"):
        answer = about(name, command)
        assert (answer.code, answer.document) == (4, None)
        assert "steps, layers, overlap and what a token gains cannot be told" in answer.line
        assert "`trace-budget kernels`" in answer.line
    assert about(name, "check").document["trust"] == "broken"
