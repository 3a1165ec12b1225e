"""The page as text: self-contained, escaped everywhere, valid for Plotly, the same bytes twice."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from render.sample_pages import NAMES, TAG, curve, histogram, kernel_bars, layer_map, page, strip, waterfall
from render.sample_reports import HOSTILE_NAME
from trace_budget.errors import OutputError
from trace_budget.render import as_html
from trace_budget.render.as_html import drawing, tables
from trace_budget.schema.page import Mark
from trace_budget.text import safe

go = pytest.importorskip("plotly.graph_objects")
PALETTE = re.compile(r"--([\w-]+): (#[0-9a-f]{6}|rgba\([^)]*\))")


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


def figures(parsed: Elements) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(parsed.scripts[0])
    return loaded


def test_the_same_page_gives_the_same_bytes() -> None:
    assert as_html.render(page()) == as_html.render(page())


def test_nothing_points_outside(parsed: Elements) -> None:
    pointing = ("src", "href", "action", "data")
    links = [value for _, given in parsed.found for key, value in given.items() if key in pointing]
    assert links
    assert all(value and value.startswith("#") for value in links)
    assert {tag for tag, _ in parsed.found} & {"link", "iframe", "object", "embed", "img", "form", "base"} == set()


def test_hostile_names_make_no_element_and_no_attribute(parsed: Elements) -> None:
    assert [attributes for tag, attributes in parsed.found if tag == "script"] == [
        {"type": "application/json", "id": "figures-data"},
        {"type": "application/json", "id": "answer"},
        {},
        {},
    ]
    assert not [key for _, attributes in parsed.found for key in attributes if key.startswith("on")]


def test_hostile_names_are_on_the_page_as_text(text: str, parsed: Elements) -> None:
    assert parsed.scripts[0].count("<") == parsed.scripts[1].count("<") == 0
    names = figures(parsed)["names"]
    assert drawing.wrapped(TAG) in names
    assert not [name for name in names if "<" in name.replace("<br>", "")]
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text
    assert not [char for char in "\x1b\x9b\u202e" if char in text.replace(as_html.plotly_js(), "")]


def test_only_the_two_scripts_of_the_page_may_run(parsed: Elements) -> None:
    (policy,) = [given["content"] for _, given in parsed.found if given.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules["default-src"] == "'none'"
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in parsed.scripts[2:]]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert "unsafe-eval" not in (policy or "")


def test_no_unit_is_missing(text: str) -> None:
    axes = re.findall(r'"title":\{"text":"([^"]*)","standoff"', text)
    assert axes
    assert all(re.search(r"\bus\b|%|\bms\b|calls|step|shade", axis) for axis in axes)


def settled(value: Any, key: str, names: list[str], narrow: bool) -> Any:
    """What the page's script makes of the three conventions."""
    if isinstance(value, str):
        return "#123456" if value.startswith("@") and "color" in key else value
    if isinstance(value, list):
        return [settled(item, key, names, narrow) for item in value]
    if not isinstance(value, dict):
        return value
    if "wide" in value:
        return settled(value["narrow" if narrow else "wide"], key, names, narrow)
    if "names" in value:
        return [names[place] for place in value["names"]]
    if "rows" in value:
        return [[names[place]] * value["length"] for place in value["rows"]["names"]]
    return {name: settled(item, name, names, narrow) for name, item in value.items()}


@pytest.mark.parametrize("narrow", [False, True])
def test_plotly_knows_every_property(parsed: Elements, narrow: bool) -> None:
    held = figures(parsed)
    assert list(held["figures"]) == ["curve", "waterfall", "strip", "layermap", "kernelbars", "histogram", "steptimes"]
    for figure in held["figures"].values():
        plain = settled(figure, "", held["names"], narrow)
        go.Figure(data=plain["data"], layout=plain["layout"])
        assert isinstance(plain["height"], int)
        assert plain["axis"] in plain["layout"]
        assert 0 <= figure["read"] < len(plain["data"])


def test_every_colour_of_the_figures_has_a_value_in_both_schemes(text: str) -> None:
    light, dark = text.split("@media (prefers-color-scheme: dark)", 1)
    used = set(re.findall(r'"@([a-z-]+)"', text))
    assert used
    for block in (light, dark.split("* {", 1)[0]):
        assert used <= {name for name, _ in PALETTE.findall(block)}


def test_the_curve_is_drawn_as_it_is() -> None:
    traces = {str(trace.get("name")): trace for trace in as_html.curve.draw(curve(), drawing.Names()).data}
    assert traces["expected"]["y"] == [0.0, 0.6, 1.2, 1.4]
    assert traces["low to high bound"]["y"] == [0.0, 0.7, 1.4, 2.0]
    place = traces["the candidate: 3.000 us a call, 0.600 %"]
    assert (place["x"], place["y"]) == ([3.0], [0.6])
    bar: Any = place["error_y"]
    assert (bar["array"], bar["arrayminus"]) == (pytest.approx([0.1]), pytest.approx([0.3]))
    assert "knee: something else takes over" in traces
    without = [trace.get("name") for trace in as_html.curve.draw(curve(stated=False, knees=0), drawing.Names()).data]
    assert not [name for name in without if name and ("candidate" in str(name) or "knee" in str(name))]


def test_a_layer_that_does_not_run_a_call_site_is_blank() -> None:
    (cells,) = as_html.layers.draw(layer_map(), drawing.Names()).data
    assert cells["z"] == [[0.0] * 4, [1.0, 1.0, None, 1.0], [-3.0, 2.0, 2.0, 2.0]]


def test_histogram_bars_stand_in_the_middle_of_their_bin_in_log10() -> None:
    matched, others, *lines = as_html.durations.draw(histogram(), drawing.Names()).data
    assert (matched["x"], matched["y"]) == ([0.5, 1.5], [3, 1])
    assert (others["x"], others["y"]) == ([0.5, 1.5], [5, 9])
    assert lines[0]["x"] == pytest.approx([0.30103] * 2)


def test_a_mark_at_0_us_has_no_place_on_a_logarithmic_axis() -> None:
    seed = histogram()
    marks = (Mark("today", 0.0), *seed.marks)
    assert as_html.durations.draw(replace(seed, marks=marks), drawing.Names()) == as_html.durations.draw(
        seed, drawing.Names()
    )


def test_bars_and_strip_hold_their_numbers() -> None:
    shade, bars = as_html.kernels.draw(kernel_bars(), drawing.Names()).data
    assert (shade["x"], bars["x"]) == ([50.0, 80.0, 100.0], [50.0, 30.0, 20.0])
    idle, others, matched = as_html.strip.draw(strip(), drawing.Names()).data
    assert idle["x"] == [25.0, 23.0]
    assert (matched["base"], matched["x"]) == ([10.0, 10.0], [8.0, 6.0])
    assert (others["base"], others["customdata"]) == ([0.0, 20.0, 0.0, 18.0], [1, 4, 1, 4])


def test_the_waterfall_goes_back_by_what_the_savings_share() -> None:
    (bars,) = as_html.waterfall.draw(waterfall(), drawing.Names()).data
    assert (bars["base"], bars["x"]) == ([0.0, 30.0, 50.0, 0.0], [30.0, 20.0, -10.0, 40.0])
    looks: Any = bars["marker"]
    assert looks["pattern"]["shape"] == ["/", "", "x", "/"]


def test_unknown_numbers_are_dashes_in_tables_and_null_in_json(text: str) -> None:
    assert text.count('<td class="number">-</td>') >= 14
    assert "NaN" not in text.replace(as_html.plotly_js(), "")


def test_kernels_are_labelled_with_the_whole_name_on_hover() -> None:
    html = tables.table(page().figures[0].table)
    assert f'title="{tables.text(NAMES[0])}"' in html
    assert tables.text(HOSTILE_NAME) in html
    assert safe(HOSTILE_NAME) != HOSTILE_NAME


def test_names_on_hover_are_wrapped_and_bounded() -> None:
    lines = drawing.wrapped("x" * 10_000).split("<br>")
    assert len(lines) <= drawing.HOVER_LINES
    assert max(map(len, lines)) <= drawing.HOVER_WIDTH


def test_without_plotly_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(OutputError) as caught:
        as_html.render(page())
    assert "pip install plotly" in caught.value.line()
    assert caught.value.exit_code == 5


def test_the_title_begins_with_the_trace() -> None:
    whole = page()
    named = replace(whole, answer=replace(whole.answer, trace={"path": "runs/<b>.json"}))
    assert f"<title>&lt;b&gt;.json: {tables.text(whole.title)}" in as_html.render(named).decode()
    alone = replace(named, title="runs/<b>.json")
    assert "<title>runs/&lt;b&gt;.json" in as_html.render(alone).decode()


def test_every_picture_is_there_without_scripts() -> None:
    text = as_html.render(page()).decode()
    still = re.findall(r"<noscript>(.*?)</noscript>", text, re.DOTALL)
    assert len(still) == len(page().figures)
    for each in still:
        wide, narrow = re.findall(r"<svg.*?</svg>", each, re.DOTALL)
        assert ('width="860"' in wide, 'width="380"' in narrow) == (True, True)
    own = text.split("<style>")[1].split("</style>")[0]
    assert ".drawn-narrow{display:none}" in own
    assert text.count("<style>") == 1
