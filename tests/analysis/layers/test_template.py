"""Templates of layers: one position for one call site, whatever kinds of layers there are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.analysis.layers.template import template_of


def coded(*layers: str) -> list[np.ndarray]:
    return [np.array([ord(letter) for letter in layer], dtype=np.int64) for layer in layers]


def test_other_kinds_are_inserted_where_they_stand() -> None:
    short, long, odd = coded("nqaodn", "nqfrodn", "nqaxodn")
    found = template_of([(long, 3), (short, 9), (odd, 1)])
    # The template: n q a f r x o d n.
    assert found.places[short.tobytes()] == [0, 1, 2, 6, 7, 8]
    assert found.places[long.tobytes()] == [0, 1, 3, 4, 6, 7, 8]
    assert found.places[odd.tobytes()] == [0, 1, 2, 5, 6, 7, 8]
    assert found.length == 9


def test_the_commonest_kind_comes_first_whatever_the_order() -> None:
    a, b = coded("nab", "nxb")
    assert template_of([(a, 1), (b, 5)]).places == template_of([(b, 5), (a, 1)]).places
    assert template_of([(a, 1), (b, 3), (a, 4)]).places[a.tobytes()] == [0, 1, 3]


def test_no_layers_no_template() -> None:
    assert template_of([]).length == 0


LAYERS = st.lists(st.tuples(st.text("abcde", min_size=1, max_size=9), st.integers(1, 9)), min_size=1, max_size=6)


@given(LAYERS)
def test_positions_rise_inside_a_layer_and_hold_one_kernel(drawn: list[tuple[str, int]]) -> None:
    rows = [(coded(layer)[0], count) for layer, count in drawn]
    found = template_of(rows)
    kernel_at: dict[int, int] = {}
    for layer, _ in rows:
        places = found.places[layer.tobytes()]
        assert places == sorted(set(places))
        assert max(places) < found.length
        for place, code in zip(places, layer.tolist(), strict=True):
            assert kernel_at.setdefault(place, code) == code
