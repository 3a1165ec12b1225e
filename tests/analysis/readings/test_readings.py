"""Every reading that a trace cannot exclude is kept, the likeliest first; what speaks for and against each is told."""

from __future__ import annotations

import pytest

from builders import DECODE, MS, US, Tape, decode_steps
from trace_budget import api
from trace_budget.analysis.steps import find_steps
from trace_budget.errors import NoSuchKernelError, NotInTraceError
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.over_readings import over_readings
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace

LAYER = "norm qkv attn out norm up down "
PASS = "embed " + LAYER * 6 + "head sample "
PASS_NS = len(PASS.split()) * 10 * US
DRAFT = "d_embed d_qkv d_attn d_up d_head "
PREFILL = "execute_context_1(512)_generation_0(0)"
MIXED = "execute_context_2(512)_generation_6(6)"
KNOWN = Change(saving_us=3.0, overhead_us=0.0, hit_rate=Range(1, 1))


def kernels(steps: Steps) -> list[int]:
    return steps.frame["kernels"].to_list()


def asked(trace: Trace, kernel: str, target: float, token: TokenInput | None = None, scope: Scope | None = None):  # type: ignore[no-untyped-def]
    policy = Policy(target_pct=target, noise_pct=0.01, runs=50, dilution=1.0)
    found = api.analyse(trace, scope or Scope())
    return over_readings(found, Candidate("", KNOWN, Selection(kernel)), token or TokenInput(), policy)


def of_several_passes(marks: int = 4, passes: int = 3, copies: bool = False) -> Trace:
    tape = Tape()
    for _ in range(marks):
        with tape.range(DECODE):
            for _ in range(passes):
                tape.graph(PASS)
                if copies:
                    tape.run(["Memcpy DtoH (Device -> Pinned)"], tape.call("cudaMemcpyAsync"), kind="memcpy")
        tape.idle(20 * US)
    return tape.trace()


def test_a_mark_over_several_passes_is_split_and_one_token_a_mark_is_the_other_reading() -> None:
    steps = find_steps(of_several_passes())
    assert kernels(steps) == [45] * 12
    assert steps.level == "pass"
    (together,) = steps.others
    assert kernels(together) == [135] * 4
    assert (steps.settle, together.settle) == ("--passes-per-step 1", "--passes-per-step 3")


def test_layers_are_those_of_a_pass_under_both_readings() -> None:
    found = api.analyse(of_several_passes())
    assert found.layers.layers == 6
    assert [other.layers.layers for other in found.others] == [6]


def test_a_copy_to_the_host_after_each_pass_leaves_one_reading() -> None:
    steps = find_steps(of_several_passes(copies=True))
    assert (kernels(steps), steps.others) == ([45] * 12, ())


@pytest.mark.parametrize(("said", "expected"), [(1, [45] * 12), (3, [135] * 4), (6, [270] * 2)])
def test_the_user_says_how_many_passes_make_a_step(said: int, expected: list[int]) -> None:
    steps = find_steps(of_several_passes(), Scope(passes_per_step=said))
    assert (kernels(steps), steps.others) == (expected, ())


def test_passes_of_a_step_that_marks_contradict_are_refused() -> None:
    with pytest.raises(NotInTraceError, match="runs the model once"):
        find_steps(decode_steps(4, PASS).trace(), Scope(passes_per_step=2))


def test_tokens_per_step_are_of_the_mark_not_of_each_pass_in_it() -> None:
    answer = asked(of_several_passes(), "attn", 1.0, TokenInput(tokens_per_step=3.0))
    assert answer.match.calls_per_step == 18
    assert answer.token.token_ns == pytest.approx((3 * PASS_NS + 20 * US) / 3)


def test_blocks_of_unlike_layers_in_one_mark_are_no_passes() -> None:
    block = ("norm lin gate norm up down " * 3) + "norm q rope attn norm up down "
    steps = find_steps(decode_steps(4, "embed " + block * 5 + "head sample").trace())
    assert kernels(steps) == [5 * 25 + 3] * 4
    assert steps.others == ()


def speculative(marked_draft: bool) -> Trace:
    tape = Tape()
    for _ in range(6):
        for _ in range(3):
            if marked_draft:
                with tape.range("step[DECODE bs=8]"):
                    tape.launch(DRAFT)
            else:
                tape.launch(DRAFT)
        with tape.range("step[TARGET_VERIFY bs=8]"):
            tape.graph(PASS)
        tape.idle(20 * US)
    return tape.trace()


@pytest.mark.parametrize("marked", [True, False])
def test_draft_and_verify_are_one_cycle_whatever_the_drafts_are_called(marked: bool) -> None:
    found = api.analyse(speculative(marked))
    assert kernels(found.steps) == [15 + 45] * 6
    assert (found.steps.level, found.steps.phase) == ("cycle", "decode")
    assert found.steps.step_ns == 600 * US + 20 * US
    assert found.layers.layers == 6


def test_a_phase_asked_for_is_no_cycle() -> None:
    steps = find_steps(speculative(marked_draft=True), Scope(phase="verify"))
    assert kernels(steps) == [5, 5, 5, 45] * 6
    assert len(steps.used) == 6


def test_two_marks_of_one_text_in_turns_are_one_step() -> None:
    tape = Tape()
    for _ in range(5):
        with tape.range(DECODE):
            tape.graph(PASS)
        with tape.range(DECODE):
            tape.launch("topk sort pick " * 4)
        tape.idle(20 * US)
    steps = find_steps(tape.trace())
    assert kernels(steps) == [57] * 5
    assert steps.step_ns == 57 * 10 * US + 20 * US


def test_an_odd_first_step_makes_no_turns() -> None:
    tape = Tape()
    for number in range(14):
        with tape.range(DECODE):
            tape.graph("warm up tune " * 6 if number == 0 else PASS)
        tape.idle(20 * US)
    steps = find_steps(tape.trace())
    assert kernels(steps) == [18, *[45] * 13]
    assert steps.step_ns == PASS_NS + 20 * US


def test_unmarked_work_that_equals_marked_steps_is_steps() -> None:
    tape = Tape()
    for number in range(12):
        if number % 2:
            tape.graph(PASS)
        else:
            with tape.range(DECODE):
                tape.graph(PASS)
        tape.idle(20 * US)
    steps = find_steps(tape.trace())
    assert len(steps.used) == 12
    assert steps.step_ns == PASS_NS + 20 * US


def test_where_only_prefills_are_marked_the_replays_between_them_are_decode() -> None:
    tape = Tape()
    for number in range(15):
        if number % 5 == 0:
            with tape.range("step[EXTEND bs=1 toks=512]"):
                tape.launch(PASS, dur=100 * US)
        else:
            tape.graph(PASS)
        tape.idle(20 * US)
    steps = find_steps(tape.trace())
    assert (steps.phase, len(steps.used), steps.step_ns) == ("decode", 12, PASS_NS + 20 * US)
    assert [one.frame.filter("used").height for one in steps.others] == [15]


def test_a_drafter_outside_of_the_marks_is_part_of_the_step() -> None:
    tape = Tape()
    for _ in range(6):
        tape.launch(LAYER * 3)
        with tape.range(DECODE):
            tape.graph(PASS)
        tape.idle(20 * US)
    answer = asked(tape.trace(), "attn", 1.0)
    assert answer.match.calls_per_step == 9


def test_mixed_steps_give_tokens_too_so_the_mean_step_comes_first() -> None:
    tape = Tape()
    for number in range(12):
        with tape.range(MIXED if number % 2 else DECODE):
            tape.graph(PASS.replace("attn", "attn_mixed") if number % 2 else PASS, dur=(40 if number % 2 else 10) * US)
        tape.idle(20 * US)
    trace = tape.trace()
    answer = asked(trace, "attn", 2.0)
    assert answer.token.token_ns == pytest.approx((5 * PASS_NS + 40 * US) / 2)
    assert answer.match.calls_per_step == 3
    assert (answer.verdict.verdict, answer.verdict.reason) == ("MARGINAL", "readings_differ")
    assert [one.verdict for one in answer.readings] == ["NO-GO", "GO"]
    assert answer.verdict.blockers[0].option == "--weights PHASE=SHARE,… or --phase decode"
    alone = asked(trace, "attn", 2.0, scope=Scope(phase="decode"))
    assert (alone.verdict.verdict, len(alone.readings)) == ("GO", 1)
    second = asked(trace, "attn", 2.0, scope=Scope(reading=2))
    assert second.token.token_ns == alone.token.token_ns


def paused() -> Trace:
    tape = Tape()
    for number in range(4):
        with tape.range(DECODE):
            tape.graph(PASS)
        tape.idle((50 * MS) if number else 20 * US)
    return tape.trace()


def test_a_server_that_waits_for_work_has_two_paces() -> None:
    answer = asked(paused(), "attn", 2.0)
    assert answer.token.token_ns == PASS_NS
    assert [one.verdict for one in answer.readings] == ["MARGINAL", "NO-GO"]  # nothing shows what the host waits for
    assert answer.verdict.reason == "readings_differ"


@pytest.mark.parametrize(("pace", "verdict"), [("device", "MARGINAL"), ("served", "NO-GO")])
def test_the_user_says_which_pace_a_token_has(pace: str, verdict: str) -> None:
    answer = asked(paused(), "attn", 2.0, TokenInput(pace=pace))
    assert (answer.verdict.verdict, len(answer.readings)) == (verdict, 1)


def test_a_stated_token_leaves_no_question_of_the_pace() -> None:
    assert len(asked(paused(), "attn", 2.0, TokenInput(token_ms=0.5)).readings) == 1


def test_a_regular_loop_has_one_pace() -> None:
    assert find_steps(decode_steps(6, PASS, idle_ns=300 * US).trace()).others == ()


def test_variants_of_a_step_all_count_by_their_share() -> None:
    tape = Tape()
    for number in range(9):
        with tape.range(DECODE):
            tape.graph(PASS.replace("attn", f"attn<{number % 3}>"))
        tape.idle(20 * US)
    answer = asked(tape.trace(), "attn<1>", 1.0)
    assert (answer.match.steps_hit, answer.match.calls_per_step) == (3, 2)
    assert answer.pct.expected == pytest.approx(100 * 2 * 3 * US / (PASS_NS + 20 * US))


@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.parametrize("idle", [0, 300 * US])
def test_layers_of_few_passes_of_a_hybrid_are_no_steps(passes: int, idle: int) -> None:
    block = ("norm delta a norm b mlp " * 3) + "norm rope attn a norm b mlp "
    tape = Tape()
    for _ in range(passes):
        tape.run("embed " + block * 8 + "head argmax").idle(idle)
    answer = asked(tape.trace(), "delta", 1.0)
    assert answer.match.calls_per_step == 24
    assert answer.token.token_ns == pytest.approx(203 * 10 * US + (idle if passes > 1 else 0))


def test_a_process_can_be_picked() -> None:
    tape = Tape()
    for _ in range(3):
        with tape.range(DECODE):
            tape.launch("a b c", pid=11).launch("p q r s t", pid=12, stream=8)
    trace = tape.trace()
    assert kernels(find_steps(trace, Scope(process=11))) == [3] * 3
    with pytest.raises(NotInTraceError, match=r"no such process .*one of \[11, 12\], found 13"):
        find_steps(trace, Scope(process=13))


def test_a_reading_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotInTraceError, match=r"no such reading .*expected 1 to 1, found 2"):
        find_steps(decode_steps(4, PASS).trace(), Scope(reading=2))


def test_a_kernel_outside_of_the_counted_steps_is_told_with_its_option() -> None:
    tape = Tape()
    for number in range(6):
        with tape.range(PREFILL if number == 0 else DECODE):
            tape.launch("big " * 10 if number == 0 else PASS)
    with pytest.raises(NoSuchKernelError, match=r"10 in 1 prefill step\(s\) left out .*--phase prefill counts them"):
        asked(tape.trace(), "big", 1.0, scope=Scope(phase="decode"))


def test_a_plain_decode_has_one_reading_with_its_evidence() -> None:
    steps = find_steps(decode_steps(5, PASS).trace())
    assert (steps.others, steps.denies) == ((), ())
    assert "annotations mark them" in steps.says
    assert all(caveat.code != "several_readings" for caveat in steps.caveats)
