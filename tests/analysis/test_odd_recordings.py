"""Recordings whose steps are hard to see are read right, or nothing is claimed of them."""

from __future__ import annotations

import pytest
from benchmarks.readings_truth import judged

from gpu_simulator.odd_recordings import ODD_KINDS, odd_recording

CLAIMED = tuple(kind for kind in ODD_KINDS if kind != "lost")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", CLAIMED)
def test_calls_and_token_are_those_of_how_it_was_made(kind: str, seed: int) -> None:
    outcome, said = judged(odd_recording(kind, seed), above=seed % 2 == 0)
    assert outcome == "exact", said


@pytest.mark.parametrize("seed", [0, 1])
def test_of_lost_kernels_nothing_false_is_claimed(seed: int) -> None:
    outcome, said = judged(odd_recording("lost", seed), above=seed % 2 == 0)
    assert outcome == "told", said
