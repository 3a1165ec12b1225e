"""Random models: whatever their layers hold, the true layers are found, and names, times and streams do not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_budget.analysis.layers.sequence import cut_sequence


@dataclass(frozen=True)
class Program:
    """The kernels of a step: codes, and the true layer of each (-1 outside)."""

    codes: np.ndarray
    layer: np.ndarray

    @property
    def layers(self) -> int:
        return int(self.layer.max()) + 1

    def hit(self, layer: np.ndarray) -> dict[int, set[int]]:
        """The layers that run each kernel."""
        return {int(code): set(layer[self.codes == code].tolist()) - {-1} for code in np.unique(self.codes)}


def program(units: list[list[int]], head: list[int], tail: list[int]) -> Program:
    counts = [len(unit) for unit in units]
    codes = np.concatenate([head, *units, tail]).astype(np.int64)
    layer = [-1] * len(head) + np.repeat(np.arange(len(units)), counts).tolist() + [-1] * len(tail)
    return Program(codes, np.array(layer))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Models of one or two kinds of layers in a pattern, two norms in a layer or one, other kernels around."""
    shared = draw(st.integers(4, 12))
    own = [draw(st.integers(1, 6)) for _ in range(2)]
    block = list(range(100, 100 + shared))
    kinds = [[*range(200 + 50 * kind, 200 + 50 * kind + size), *block] for kind, size in enumerate(own)]
    if draw(st.booleans()):
        kinds = [[*kind[:-2], block[0], *kind[-2:]] for kind in kinds]  # one kernel twice a layer
    pattern = draw(st.sampled_from(["A", "AB", "AAAB", "BA"]))
    repeats = draw(st.integers(3, 20)) * (4 if pattern == "A" else 1)
    units = [kinds["AB".index(kind)] for _ in range(repeats) for kind in pattern]
    return program(units, list(range(draw(st.integers(0, 9)))), list(range(20, 20 + draw(st.integers(0, 9)))))


@given(programs())
@settings(deadline=None, max_examples=150)
def test_the_layers_of_a_regular_model_are_found(model: Program) -> None:
    found = cut_sequence(model.codes)
    assert found.layers == model.layers
    assert {len(layers) for layers in model.hit(model.layer).values()} == {
        len(layers) for layers in model.hit(found.layer).values()
    }
    assert model.hit(found.layer) == model.hit(model.layer)


@st.composite
def uneven_programs(draw: st.DrawFn) -> Program:
    """Equal layers, one of them odd (anywhere, or dense ones in front), and kernels around that also run inside."""
    size = draw(st.integers(8, 16))
    layer = list(range(100, 100 + size))
    units = [list(layer) for _ in range(draw(st.integers(8, 30)))]
    odd = draw(st.integers(0, len(units) - 1))
    spot = draw(st.integers(2, size - 3))
    change = draw(st.sampled_from(["substituted", "inserted", "missing", "dense"]))
    if change == "dense":
        units[: odd % 4] = [[*layer[:-3], 300, 301] for _ in units[: odd % 4]]
    else:
        fresh = {"substituted": [300], "inserted": [300, layer[spot]], "missing": []}[change]
        units[odd][spot : spot + 1] = fresh
    return program(units, [1, 2, 3], [layer[0], *range(20, 20 + draw(st.integers(0, 3)))])


@given(uneven_programs())
@settings(deadline=None, max_examples=150)
def test_odd_layers_do_not_move_the_others(model: Program) -> None:
    found = cut_sequence(model.codes)
    assert found.layers == model.layers
    known, true = model.hit(found.layer), model.hit(model.layer)
    # What the odd layers alone run may stand at an edge; all other kernels are where they belong.
    shared = [code for code in true if code not in (300, 301)]
    assert {code: known[code] for code in shared} == {code: true[code] for code in shared}


@given(programs(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_the_numbers_of_names_do_not_matter(model: Program, random: object) -> None:
    fresh = np.random.default_rng(random.getrandbits(32)).permutation(1000)  # type: ignore[attr-defined]
    assert cut_sequence(fresh[model.codes]).layer.tolist() == cut_sequence(model.codes).layer.tolist()


@given(st.lists(st.integers(0, 6), max_size=120), st.one_of(st.none(), st.integers(1, 40)))
@settings(deadline=None, max_examples=300)
def test_any_sequence_is_cut_into_layers_in_order_or_not_at_all(codes: list[int], wanted: int | None) -> None:
    found = cut_sequence(np.array(codes, dtype=np.int64), wanted)
    inside = found.layer[found.layer >= 0]
    assert found.layer.size == len(codes)
    assert np.all(np.diff(inside) >= 0)
    assert np.unique(inside).tolist() == list(range(found.layers))
    assert (found.layers == 0) == (found.method == "none")
