"""What a user of the Python API can get wrong is refused in one line where it is stated, as on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trace_budget.errors import UsageError
from trace_budget.schema.options import Change, Policy, Range, Scope, TokenInput


@pytest.mark.parametrize(
    "made",
    [
        *(lambda: Change(saving_us=float("nan")), lambda: Change(saving_us=-1), lambda: Change(new_us=0)),
        *(lambda: Change(speedup=0), lambda: Change(saving_us="5"), lambda: Change(saving_us=True)),  # type: ignore[arg-type]
        *(lambda: Change(free=True, hit_rate=Range(2, 3)), lambda: Change(free=True, hit_rate=Range(0.9, 0.1))),
        *(lambda: Change(free=True, saving_ci_us=Range(float("nan"), 2)), lambda: Change(saving_us=1, new_us=2)),
        *(lambda: Change(saving_us=1, free=True), lambda: Change(free=True, overhead_us=-1)),
        *(lambda: TokenInput(tokens_per_step=0), lambda: TokenInput(token_ms=-1), lambda: TokenInput(loop="foo")),
        *(
            lambda: Policy(dilution=5),
            lambda: Policy(target_pct=0),
            lambda: Policy(runs=1),
            lambda: Policy(noise_pct=0),
        ),
        *(lambda: Scope(layers=-3), lambda: Scope(layers=0)),
    ],
)
def test_it_is_refused(made: Callable[[], Any]) -> None:
    with pytest.raises(UsageError):
        made()


def test_numbers_of_numpy_are_numbers() -> None:
    assert Change(saving_us=float(np.float64(3))) == Change(saving_us=np.float64(3))
    assert Scope(layers=int(np.int64(4))) == Scope(layers=4)
    assert Change(saving_us=0).saving_us == 0  # where a curve begins
