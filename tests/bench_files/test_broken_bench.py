"""Benchmark files that hold what is no time, no count or no such layout: one line, whatever stands where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trace_budget.bench_files import Standalone, baseline_and_candidate, read_bench
from trace_budget.errors import InputError, UsageError

HUGE = "a" * 200_000
NCU_HEADER = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
NCU_OLD = '"0","old","Duration","usecond","20.27"\n'
STATS_HEADER = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n'


def google(*rows: dict[str, object]) -> str:
    return json.dumps({"context": {}, "benchmarks": rows})


def pytest_file(**new: object) -> str:
    old = {"mean": 2e-5, "median": 2e-5, "rounds": 5, "iterations": 1}
    rows = [{"name": name, "stats": stats} for name, stats in (("old", old), ("new", {**old, **new}))]
    return json.dumps({"machine_info": {}, "benchmarks": rows})


def hyperfine(mean: float) -> str:
    return json.dumps({"results": [{"command": "old", "mean": 1}, {"command": "new", "mean": mean}]})


def figure(name: str, statistic: str) -> dict[str, object]:
    return {"name": name, "run_type": "aggregate", "aggregate_name": statistic, "real_time": 20270}


def pair(folder: Path, content: str, unit: str | None = None, old: str = "old", new: str = "new") -> Standalone:
    path = folder / "bench.out"
    path.write_text(content, encoding="utf-8")
    return baseline_and_candidate(read_bench(path, unit), old, new, str(path))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-5", "0", "1e308", "1e-13"])
@pytest.mark.parametrize(
    ("template", "unit"),
    [
        ("name,us\nold,20.27\nnew,{}\n", None),
        ("name,us\nold,20.27\nnew,17\nnew,{}\nnew,18\n", None),
        (NCU_HEADER + NCU_OLD + '"1","new","Duration","usecond","{}"\n', None),
        ("N,old,new\n1,20.27,{}\n", "us"),
    ],
)
def test_what_is_no_time_is_refused_with_its_name_and_value(
    tmp_path: Path, template: str, unit: str | None, value: str
) -> None:
    new = "new[N=1]" if template.startswith("N,") else "new"
    with pytest.raises(InputError) as told:
        pair(tmp_path, template.format(value), unit, new.replace("new", "old"), new)
    line = str(told.value)
    assert line.startswith(str(tmp_path / "bench.out"))
    assert f"the time of '{new}' is not a finite number above 0" in line
    assert f"found {float(value):g} us" in line


@pytest.mark.parametrize(
    ("content", "unit", "found"),
    [
        (pytest_file(mean=-17e-6), None, "-17 us"),
        (pytest_file(median=0), None, "0 us"),
        (hyperfine(-17e-6), "s", "-17 us"),
        (google({"name": "old", "real_time": 9}, {"name": "new", "real_time": -9000}), None, "-9 us"),
        ('{"old":20.27,"new":18446744073709551616}', "us", "1.84467e+19 us"),
        ('{"old":20.27,"new":1' + "0" * 400 + "}", "us", "inf us"),
        ("name,us\nold,20\nnew,inf\nnew,-inf\n", None, "-inf us"),
        ("name,us\nold,20\nnew,1e308\nnew,1e308\n", None, "1e+308 us"),
    ],
)
def test_json_times_and_their_sums_must_be_times_too(
    tmp_path: Path, content: str, unit: str | None, found: str
) -> None:
    with pytest.raises(InputError, match="the time of 'new'") as told:
        pair(tmp_path, content, unit)
    assert found in str(told.value)


def test_a_row_that_is_not_asked_for_may_hold_no_time(tmp_path: Path) -> None:
    got = pair(tmp_path, "name,us\nold,20\nnew,17\nother,nan\n")
    assert (got.baseline_us, got.candidate_us) == (20, 17)


@pytest.mark.parametrize("value", ["1e-12", "1e15"])
def test_the_outermost_times_are_taken(tmp_path: Path, value: str) -> None:
    assert pair(tmp_path, f"name,us\nold,20\nnew,{value}\n").candidate_us == float(value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pytest_file(rounds=1e30), "the calls of 'new'"),
        (pytest_file(rounds=1e300, iterations=1e300), "the calls of 'new'"),
        (pytest_file(rounds=-1), "the calls of 'new'"),
        (google({"name": "new", "real_time": 9, "iterations": 2**63}), "the calls of 'new'"),
        (google(*[{"name": "new", "real_time": 9, "iterations": 2**62}] * 2), "the calls of 'new'"),
        (f'name,us,note\nold,20,"{HUGE}"\nnew,17,1\n', "CSV that cannot be read"),
        (NCU_HEADER + NCU_OLD + f'"1","{HUGE}","Duration","usecond","17"\n', "CSV that cannot be read"),
        (f'x,a,b\n"{HUGE}",2,3\n', "CSV that cannot be read"),
        ("[" * 5000, "JSON that cannot be read"),
        ('{"old":1' + "0" * 6000 + "}", "JSON that cannot be read"),
    ],
)
def test_counts_and_cells_beyond_every_limit(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as told:
        pair(tmp_path, content)
    assert len(str(told.value)) < 600


def test_a_plot_that_turns_into_text_below_its_beginning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a line of times"):
        pair(tmp_path, "N,old,new\n" + "1,2,3\n" * 30 + "1,2\n", "us")


def test_an_odd_heading_of_ncu_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no times"):
        pair(tmp_path, (NCU_HEADER + NCU_OLD).replace('"ID"', '"ID"x'))


def test_names_nested_to_the_limit_end_in_one_line(tmp_path: Path) -> None:
    for depth in range(800, 1000):
        name = "[" * depth + "]" * depth
        with pytest.raises((InputError, UsageError)):
            pair(tmp_path, '[{"name":' + name + ',"us":1}]')


def test_kernels_without_a_statistic_in_common_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no statistic in common") as told:
        pair(tmp_path, google(figure("old", "mean"), figure("new", "median")))
    assert "found the mean of 'old', median of 'new'" in str(told.value)
    got = pair(tmp_path, google(figure("old", "mean"), figure("old", "median"), figure("new", "median")))
    assert (got.figure, got.baseline_us) == ("median", pytest.approx(20.27))


def time_or_refusal(folder: Path, content: str, unit: str | None) -> float | None:
    """The time of the new kernel, None where the file is refused as it should be."""
    try:
        return pair(folder, content, unit, "new", "new").candidate_us
    except (InputError, UsageError):
        return None


WORDS = (
    *("context", "machine_info", "benchmarks", "results", "stats", "name", "fullname", "run_name", "run_type", "times"),
    *("aggregate_name", "real_time", "time_unit", "iterations", "rounds", "mean", "median", "min", "command", "us"),
)
KEYS = st.sampled_from(WORDS)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.sampled_from(["aggregate", "median", "ns", "new", 2**63, 10**400, -1, 0])
)  # fmt: skip
ANYTHING = st.recursive(LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=4))
RECORD = st.fixed_dictionaries({}, optional=dict.fromkeys(WORDS, LEAVES | ANYTHING))


def layouts(record: dict[str, object], records: list[dict[str, object]]) -> list[object]:
    """The JSON layouts that are known, with odd records in their places and sound words to be recognised by."""
    return [
        {"context": record, "benchmarks": [*records, {"real_time": 1, **record, "run_name": "new"}]},
        {"machine_info": record, "benchmarks": [*records, {"name": "new", "stats": {"mean": 1, **record}}]},
        {"results": [*records, {"mean": 1, **record, "command": "new"}]},
        [{"name": "new", "us": 1}, {"us": 2, **record, "name": "new"}, *records],
        [{"kernel": record, "time": 1, **record}, *records],
        record,
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(record=RECORD, records=st.lists(RECORD, max_size=2), unit=st.sampled_from([None, "us", "s"]))
def test_whatever_stands_where_json_is_read_or_refused(
    tmp_path: Path, record: dict[str, object], records: list[dict[str, object]], unit: str | None
) -> None:
    for layout in layouts(record, records):
        got = time_or_refusal(tmp_path, json.dumps(layout), unit)
        assert got is None or 1e-12 <= got <= 1e15


CELLS = st.sampled_from(["nan", "-1", "1e999", "", '"', "new", "x\0", "1,2", "Duration", "us", "\ufeff", "９", "0"])
HEADERS = ["name,us\n", "N,old,new\n1,2,3\n", NCU_HEADER, '"ID"x,"Kernel Name","Metric Name"\n', STATS_HEADER]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(lines=st.lists(st.lists(CELLS, max_size=6), max_size=25), unit=st.sampled_from([None, "us"]))
def test_whatever_stands_where_csv_is_read_or_refused(tmp_path: Path, lines: list[list[str]], unit: str | None) -> None:
    for header in HEADERS:
        content = header + "\n".join(",".join(line) for line in lines)
        got = time_or_refusal(tmp_path, content, unit)
        assert got is None or 1e-12 <= got <= 1e15
