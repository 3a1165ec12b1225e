"""Names made safe and short: nothing steers a terminal, nothing exceeds its width."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trace_budget.text import cells, cut_distinct, cut_middle, safe, wrapped

ANY = st.text(st.characters(), max_size=80)


@given(ANY)
def test_safe_text_is_one_line_that_can_be_encoded(text: str) -> None:
    clean = safe(text)
    assert len(clean) == len(text)
    assert len(clean.splitlines()) <= 1
    clean.encode()
    assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") for char in clean)


def test_ordinary_names_stay_as_they_are() -> None:
    name = "void 融合<float, 128>::Kernel(Params const&) [clone .kd] é"
    assert safe(name) == name


@given(ANY, st.integers(0, 60))
def test_cutting_never_exceeds_the_width_and_keeps_what_fits(text: str, width: int) -> None:
    cut = cut_middle(text, width)
    assert cells(cut) <= width
    if cells(text) <= width:
        assert cut == text


def test_the_middle_goes_and_both_ends_stay() -> None:
    assert cut_middle("abcdefghij", 7) == "abc…hij"
    assert cut_middle("融合内核融合内核", 8) == "融合…核"
    assert cut_middle("abc", 1) == "…"


@given(st.text(st.characters(codec="latin-1", exclude_categories=("Cc", "Cf")), max_size=20))
def test_widths_agree_with_an_independent_table_for_latin_text(text: str) -> None:
    assert cells(text) == cell_len(text)


NAMES = st.lists(st.text("ab_1x", min_size=1, max_size=40), min_size=1, max_size=6)


@given(NAMES, st.integers(8, 30))
def test_distinct_cuts_keep_the_width_and_leave_short_names_alone(names: list[str], width: int) -> None:
    shown = cut_distinct(names, width)
    assert all(cells(text) <= width for text in shown)
    assert all(cut == name for cut, name in zip(shown, names, strict=True) if len(name) <= width)


def test_the_cut_moves_to_where_names_differ() -> None:
    names = [f"Cijk_Alik_Bljk_{tile}_WGM8_KERNEL_4_1" for tile in ("MT16x32", "MT16x64", "MT32x32")]
    assert cut_distinct(names, 20) == ["Cijk_A…MT16x32_WGM8…", "Cijk_A…MT16x64_WGM8…", "Cijk_A…MT32x32_WGM8…"]
    assert cut_distinct(["a" * 30 + "b" * 30, "a" * 30 + "c" + "b" * 29], 9) == ["aaa…bbbb…", "aaa…cbbb…"]


def test_wide_and_combining_characters() -> None:
    assert cells("融合") == cell_len("融合") == 4
    assert cells("e\u0301") == cell_len("e\u0301") == 1


def test_no_number_is_parted_from_its_unit() -> None:
    text = "one short kernel (4.399 us) a call, 2,978.6 a device (batch 32), 0.5 % of it"
    for width in range(20, 80):
        lines = wrapped(text, width, "  ")
        assert " ".join(line.strip() for line in lines) == text
        for pair in ("4.399 us", "2,978.6 a device", "batch 32", "0.5 %"):
            assert any(pair in line for line in lines)
