"""Annotation texts: every engine's wording, and what is no step."""

import pytest

from trace_budget.analysis.steps.grammar import GRAMMARS, WINDOW, Grammar, parse, user_grammar
from trace_budget.errors import UsageError
from trace_budget.schema.quantities import PHASES

TEXTS = [
    ("execute_context_0(0)_generation_32(32)", "vllm", "decode", 32),
    ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", "vllm", "decode", 32),
    ("execute_8192_context_9(sq8155sk8155sqsq1sqsk1)_generation_37(sq37sk34489sqsq37sqsk34489)", "vllm", "mixed", 46),
    ("execute_context_1(888_788544)_generation_0(0)", "vllm", "prefill", 1),
    ("execute_context_2(2048)_generation_5(5)", "vllm", "mixed", 7),
    ("execute_context_0(0)_generation_0(0)", "vllm", "other", 0),
    ("execute_new_0_cached_32", "vllm", "decode", 32),
    ("execute_new_3_cached_0", "vllm", "prefill", 3),
    ("execute_new_3_cached_29", "vllm", "mixed", 32),
    ("step[DECODE bs=32]", "sglang", "decode", 32),
    ("step[DECODE bs=8 g_sq=1]", "sglang", "decode", 8),
    ("step[EXTEND bs=15 toks=15360]", "sglang", "prefill", 15),
    ("step[PREFILL bs=2 toks=512]", "sglang", "prefill", 2),
    ("step[MIXED bs=15 toks=15360]", "sglang", "mixed", 15),
    ("step[IDLE bs=0]", "sglang", "other", 0),
    ("step[TARGET_VERIFY bs=4]", "sglang", "verify", 4),
    ("step[DRAFT_EXTEND bs=4]", "sglang", "draft", 4),
    ("decode[17]", "generic", "decode", None),
    ("prefill[0]", "generic", "prefill", None),
    ("decode", "generic", "decode", None),
    ("Prefill_step 3", "generic", "prefill", None),
    ("ProfilerStep#6", "torch", "other", None),
]


@pytest.mark.parametrize(("text", "engine", "phase", "batch"), TEXTS, ids=[text for text, *_ in TEXTS])
def test_step_annotations(text: str, engine: str, phase: str, batch: int | None) -> None:
    found = parse(text)
    assert found is not None
    assert (found.engine, found.phase, found.batch_size) == (engine, phase, batch)


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.example)
def test_each_example_is_read_by_its_own_grammar(grammar: Grammar) -> None:
    found = parse(grammar.example)
    assert found is not None
    assert (found.engine, found.rank) == (grammar.engine, grammar.rank)
    assert found.phase in PHASES


@pytest.mark.parametrize(
    "text",
    [
        "execute_diffusion_1_256x256",
        "model_inference",
        "## Call CompiledFxGraph fal4 ##",
        "nccl:all_reduce",
        "Optimizer.step#SGD.step",
        "decoder",
        "decode_attention_fwd",
        "step",
        "step[]",
        "capture_32_FULL",
        "execute_context_99999999999999999999(0)_generation_1(1)",
        "",
    ],
)
def test_other_ranges_are_no_steps(text: str) -> None:
    assert parse(text) is None


def test_only_profiler_steps_say_nothing_of_their_content() -> None:
    assert [grammar.engine for grammar in GRAMMARS if grammar.rank == WINDOW] == ["torch"]


@pytest.mark.parametrize(
    ("pattern", "text", "phase", "batch"),
    [
        (r"^tick \d+", "tick 7", "other", None),
        (r"^(?P<phase>\w+) tick", "decode tick", "decode", None),
        (r"^(?P<phase>\w+) tick", "EXTEND tick", "prefill", None),
        (r"^(?P<phase>\w+) tick", "strange tick", "other", None),
        (r"^tick of (?P<batch>\w+)", "tick of 12", "other", 12),
        (r"^tick of (?P<batch>\w+)", "tick of many", "other", None),
        (r"^tick of (?P<batch>\w+)", "tick of " + "9" * 5000, "other", None),
        (r"^tick(?: of (?P<batch>\d+))?", "tick", "other", None),
    ],
)
def test_a_users_pattern(pattern: str, text: str, phase: str, batch: int | None) -> None:
    found = parse(text, (user_grammar(pattern),))
    assert found is not None
    assert (found.engine, found.phase, found.batch_size) == ("user", phase, batch)


def test_a_pattern_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"not a regular expression.*\[a-"):
        user_grammar("[a-")
