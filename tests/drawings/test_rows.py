"""Names of rows keep clear of their figures, and stay apart from each other."""

from trace_budget.drawings import shapes
from trace_budget.drawings.rows import EDGE, Row, fitted

FIGURE = "2 calls, 12.278 us"


def test_a_name_of_capitals_leaves_room_for_its_figure() -> None:
    capitals, small = fitted([Row("CIJK_" * 30, FIGURE), Row("cijk_" * 30, FIGURE)], 380)
    assert len(capitals) < len(small)
    for name in (capitals, small):
        assert shapes.width_px(name) + shapes.width_px(FIGURE) < 380 - 2 * EDGE


def test_a_bold_name_is_cut_sooner() -> None:
    (plain,), (bold,) = (fitted([Row("A" * 90, FIGURE, strong)], 380) for strong in (False, True))
    assert len(bold) < len(plain)


def test_names_that_differ_where_they_are_cut_stay_apart() -> None:
    for place in range(20):
        names = [("M" * place + digit + "M" * (19 - place)) for digit in "12"]
        one, two = fitted([Row(name, FIGURE) for name in names], 380)
        assert one != two
