"""Steps where a format holds kernels only: the delimiter that is exact, after a warm-up that is not."""

from __future__ import annotations

from projection.builders import Op, hand_trace
from trace_budget.analysis.steps import find_steps

TOKEN = ("concat", "copy", "scale", "conv", "norm", "gemm", "gate", "head")
WARM_UP = ("load", "concat", "copy", "load")
TOKENS, TOKEN_US = 5, 20_000


def test_the_most_regular_kernel_marks_the_tokens_after_the_warm_up() -> None:
    """`concat` ran in the warm-up too, three kernels early: one of its distances is off, those of `head` are not."""
    names = [(name, 5_000.0 * index) for index, name in enumerate(WARM_UP)]
    for token in range(TOKENS):
        names += [(name, 40_000 + TOKEN_US * token + 10.0 * index) for index, name in enumerate(TOKEN)]
    steps = find_steps(hand_trace([Op(name, start, 8) for name, start in names]))
    assert steps.frame["kernels"].to_list() == [len(TOKEN)] * TOKENS
    assert steps.op_step.tolist() == [-1] * len(WARM_UP) + [t for t in range(TOKENS) for _ in TOKEN]
    # eight kernels without layers may be the layers of one step: not certain
    assert steps.confidence == "low"
    assert [c.code for c in steps.caveats if c.severity == "warning"][:1] == ["steps_maybe_layers"]
