"""The page as text: self-contained, escaped everywhere, drawn without a script, the same bytes twice."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from render.sample_pages import NAMES, TAG, page, step_times
from render.sample_reports import HOSTILE_NAME
from trace_budget.drawings import colours
from trace_budget.render import as_html
from trace_budget.render.as_html import tables
from trace_budget.text import safe

MOST_BYTES = 1_500_000


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def text() -> str:
    return as_html.render(page()).decode()


@pytest.fixture(scope="module")
def parsed(text: str) -> Elements:
    elements = Elements()
    elements.feed(text)
    return elements


def test_the_same_page_gives_the_same_bytes() -> None:
    assert as_html.render(page()) == as_html.render(page())


def test_nothing_points_outside(parsed: Elements) -> None:
    pointing = ("src", "href", "action", "data")
    links = [value for _, given in parsed.found for key, value in given.items() if key in pointing]
    assert links
    assert all(value and value.startswith("#") for value in links)
    assert {tag for tag, _ in parsed.found} & {"link", "iframe", "object", "embed", "img", "form", "base"} == set()


def test_hostile_names_make_no_element_and_no_attribute(parsed: Elements) -> None:
    scripts = [attributes for tag, attributes in parsed.found if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "answer"}]
    assert not [key for _, attributes in parsed.found for key in attributes if key.startswith("on")]


def test_hostile_names_are_on_the_page_as_text(text: str, parsed: Elements) -> None:
    assert parsed.scripts[0].count("<") == 0
    assert json.loads(parsed.scripts[0])["schema"]
    assert TAG not in text
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text
    assert not [char for char in "\x1b\x9b\u202e" if char in text]


def test_the_policy_lets_nothing_run_and_nothing_be_fetched(parsed: Elements) -> None:
    (policy,) = [given["content"] for _, given in parsed.found if given.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "style-src", "base-uri", "form-action"}


def test_a_page_stays_small(text: str) -> None:
    assert len(text.encode()) < MOST_BYTES


def test_every_axis_has_its_unit(text: str) -> None:
    drawn = re.findall(r'<div class="drawn-wide">.*?</div>', text, re.DOTALL)
    assert len(drawn) == len(page().figures)
    assert all(re.search(r"\bus\b|%|\bms\b", each) for each in drawn)


def test_every_class_of_the_pictures_has_its_colour_in_both_schemes(text: str) -> None:
    sheet = text.split("<style>")[1].split("</style>", maxsplit=1)[0]
    light, dark = colours.style().split("@media screen and (prefers-color-scheme:dark)", 1)
    filled = set(re.findall(r"\.drawn \.([\w-]+)\{fill:#", light))
    assert filled == set(re.findall(r"\.drawn \.([\w-]+)\{fill:#", dark))
    assert colours.style() in sheet
    assert {"paper", "marked", "target", "muted"} <= filled


def test_unknown_numbers_are_dashes_in_tables_and_null_in_json(text: str) -> None:
    assert text.count('<td class="number">-</td>') >= 14
    assert "NaN" not in text


def test_kernels_are_labelled_with_the_whole_name_on_hover() -> None:
    html = tables.table(page().figures[0].table)
    assert f'title="{tables.text(NAMES[0])}"' in html
    assert tables.text(HOSTILE_NAME) in html
    assert safe(HOSTILE_NAME) != HOSTILE_NAME


def test_the_title_begins_with_the_trace() -> None:
    whole = page()
    named = replace(whole, answer=replace(whole.answer, trace={"path": "runs/<b>.json"}))
    assert f"<title>&lt;b&gt;.json: {tables.text(whole.title)}" in as_html.render(named).decode()
    alone = replace(named, title="runs/<b>.json")
    assert "<title>runs/&lt;b&gt;.json" in as_html.render(alone).decode()


def test_every_picture_is_there_without_scripts(text: str) -> None:
    figures = re.findall(r"<figure .*?</figure>", text, re.DOTALL)
    assert len(figures) == len(page().figures)
    for each in figures:
        wide, narrow = re.findall(r"<svg.*?</svg>", each, re.DOTALL)
        assert ('width="860"' in wide, 'width="380"' in narrow) == (True, True)
    own = text.split("<style>")[1].split("</style>", maxsplit=1)[0]
    assert ".drawn-narrow{display:none}" in own
    assert text.count("<style>") == 1


def test_one_step_is_told_in_words() -> None:
    whole = page()
    alone = replace(step_times(), frame=step_times().frame.head(1))
    figure = replace(whole.figures[-1], picture=alone)
    text = as_html.render(replace(whole, figures=(figure,))).decode()
    assert "<svg" not in text
    assert "One step alone makes no picture of many. The table says it all." in text.replace("the table", "The table")
