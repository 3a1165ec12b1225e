"""Step classes: alike steps share one, however many steps and however unlike the rest."""

import numpy as np
import polars as pl
import pytest

from builders import Tape
from trace_budget.analysis.steps import classes
from trace_budget.analysis.steps.classes import classify
from trace_budget.schema.trace import Trace


def classified(multisets: list[str]) -> list[int]:
    trace, op_step = written(multisets)
    steps = pl.DataFrame({"step_index": np.arange(len(multisets), dtype=np.int32)})
    return classify(trace, steps, op_step)["class_index"].to_list()


def written(multisets: list[str]) -> tuple[Trace, np.ndarray]:
    tape = Tape()
    for names in multisets:
        tape.run(names)
    owner = np.repeat(np.arange(len(multisets)), [len(names.split()) for names in multisets])
    return tape.trace(), owner.astype(np.int32)


def test_the_commonest_multiset_is_class_0_whatever_its_order() -> None:
    assert classified(["x y z", "a b b c", "b a c b", "x y z", "c b b a"]) == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(("swapped", "alike"), [(1, True), (2, False)])
def test_nine_kernels_of_ten_make_steps_alike(swapped: int, alike: bool) -> None:
    # Bray-Curtis similarity of two equally long steps is the share of kernels they have in common.
    other = "a " * (10 - swapped) + "b " * swapped
    assert (classified(["a " * 10, "a " * 10, other]) == [0, 0, 0]) is alike


def test_unlike_steps_beyond_the_limit_never_share_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MOST_CLASSES", 3)
    steps = [f"k{number} " * 4 for number in range(8)]
    assert sorted(classified([*steps, "k7 " * 4])) == [0, 0, *range(1, 8)]


def test_ops_outside_steps_do_not_count() -> None:
    trace, owner = written(["a b", "zzz", "a b"])
    steps = pl.DataFrame({"step_index": pl.Series([0, 2], dtype=pl.Int32)})
    found = classify(trace, steps, np.where(owner == 1, -1, owner).astype(np.int32))
    assert found["class_index"].to_list() == [0, 0]
