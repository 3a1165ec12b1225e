"""Timeline files load in the real trace_processor without errors, and hold what was drawn, by SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

import polars as pl
import pytest

import trace_budget as tb
from gpu_simulator import random_program, simulate, to_trace
from gpu_simulator.edited import heaviest
from trace_budget.io.perfetto.trace_processor import Session, session
from trace_budget.projection.candidates import Candidate
from trace_budget.render import as_timeline
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.timeline import NOTES, Drawing

Loaded = tuple[str, Drawing, Session]
WRITERS = {"pftrace": as_timeline.perfetto, "json": as_timeline.chrome}
TRACKS = {
    "pftrace": "SELECT t.id AS track_id, t.name AS lane, p.name AS process FROM process_track t"
    " JOIN process p USING (upid)",
    "json": "SELECT t.id AS track_id, thread.name AS lane, p.name AS process FROM thread_track t"
    " JOIN thread USING (utid) JOIN process p USING (upid)",
}
NOTED = ("op_id", "shorter_ns", "held_by")
INT, TEXT = pl.Int64, pl.String
ODD = ('void k<"a\\b">(int)', "日本語 kernel é", "<script>alert(1)</script>", "a" * 5_000, "x", "x")


def simulated(kind: str) -> Drawing:
    program = random_program(kind, 3)
    wanted = Candidate("", Change(saving_us=1.5), Selection(heaviest(program)[0]))
    return tb.timeline(to_trace(simulate(program)), wanted)


def by_hand(names: tuple[str, ...] = ("kernel", "kernel"), last_ns: int = 7) -> Drawing:
    """Slices of 7 ns that touch, the last maybe of no length, and a counter."""
    count = len(names)
    notes = {note: [None] * count for note in NOTES}
    slices = {
        "slice": range(count), "track": [0] * count, "name": names, "categories": ["kernel"] * count,
        "start_ns": [7 * n for n in range(count)], "duration_ns": [*[7] * (count - 1), last_ns], **notes,
    }  # fmt: skip
    return Drawing(
        ("measured", f"projected {names[0]}"),
        pl.DataFrame({"track": [0], "process": [0], "name": ["stream 7"]}),
        pl.DataFrame(slices),
        pl.DataFrame(schema={"from_slice": INT, "to_slice": INT}),
        pl.DataFrame({"process": [1], "name": ["saved so far"], "time_ns": [12], "value": [1.25]}),
    )


@pytest.fixture(
    scope="module", params=[(kind, program) for kind in WRITERS for program in ("forkjoin_graph", "pdl")], ids=str
)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    kind, program = request.param
    drawing, path = simulated(program), tmp_path_factory.mktemp("drawn") / f"drawn.{kind}"
    path.write_bytes(WRITERS[kind](drawing))
    with session(path) as opened:
        yield kind, drawing, opened


def errors_of(opened: Session) -> list[tuple[object, ...]]:
    query = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
    return opened.query(query, {"name": TEXT, "value": INT}).rows()


def test_slices_by_sql_are_those_drawn(loaded: Loaded) -> None:
    kind, drawing, opened = loaded
    assert errors_of(opened) == []
    columns = {"process": TEXT, "lane": TEXT, "name": TEXT, "category": TEXT, "ts": INT, "dur": INT, "depth": INT}
    query = "SELECT process, lane, s.name AS name, category, ts, dur, depth FROM slice s JOIN ({}) USING (track_id)"
    got = opened.query(query.format(TRACKS[kind]), columns)
    titles = pl.DataFrame({"process": range(2), "title": drawing.processes})
    tracks = drawing.tracks.rename({"name": "lane"}).join(titles, on="process").select("track", "title", "lane")
    wanted = drawing.slices.join(tracks, on="track").select(
        "title", "lane", "name", "categories", "start_ns", "duration_ns", pl.lit(0, dtype=INT).alias("depth")
    )
    assert sorted(got.rows()) == sorted(wanted.rows())


def test_arrows_by_sql_are_those_drawn(loaded: Loaded) -> None:
    _, drawing, opened = loaded
    query = "SELECT o.ts AS a, i.ts AS b FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in"
    start = dict(drawing.slices.select("slice", "start_ns").rows())
    wanted = sorted((start[before], start[after]) for before, after in drawing.flows.rows())
    assert sorted(opened.query(query, {"a": INT, "b": INT}).rows()) == wanted != []


def test_counters_by_sql_are_those_drawn(loaded: Loaded) -> None:
    _, drawing, opened = loaded
    query = (
        "SELECT t.name AS name, ts, CAST(round(value * 1000000) AS INT) AS millionths FROM counter c"
        " JOIN counter_track t ON t.id = c.track_id"
    )
    rows = opened.query(query, {"name": TEXT, "ts": INT, "millionths": INT}).rows()
    wanted = [(row["name"], row["time_ns"], round(row["value"] * 1e6)) for row in drawing.counters.to_dicts()]
    assert sorted((name.removesuffix(" us"), *rest) for name, *rest in rows) == sorted(wanted)


def test_what_is_told_of_a_slice_is_in_its_arguments(loaded: Loaded) -> None:
    kind, drawing, opened = loaded
    prefix = "debug" if kind == "pftrace" else "args"
    told = ", ".join(f"extract_arg(arg_set_id, '{prefix}.{note}') AS {note}" for note in NOTED)
    got = opened.query(f"SELECT {told} FROM slice", dict(zip(NOTED, (INT, INT, TEXT), strict=True)))  # noqa: S608
    assert sorted(got.rows(), key=str) == sorted(drawing.slices.select(NOTED).rows(), key=str)


@pytest.mark.parametrize("kind", WRITERS)
def test_odd_names_and_slices_of_no_length_load(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("odd") / f"odd.{kind}"
    path.write_bytes(WRITERS[kind](by_hand(ODD, last_ns=0)))
    with session(path) as opened:
        assert errors_of(opened) == []
        got = opened.query("SELECT name, ts, dur FROM slice ORDER BY ts", {"name": TEXT, "ts": INT, "dur": INT})
    assert got.rows() == [(name, 7 * n, 7 if n < 5 else 0) for n, name in enumerate(ODD)]


def test_control_characters_do_not_reach_a_file() -> None:
    for write in WRITERS.values():
        data = write(by_hand(("evil\x1b[31m",)))
        assert b"evil?[31m" in data
        assert b"\x1b[31m" not in data


def test_json_times_are_exact_decimals() -> None:
    near = by_hand()
    moved = near.slices.with_columns(pl.col("start_ns") + 1_234_567_890_123)
    text = as_timeline.chrome(Drawing(near.processes, near.tracks, moved, near.flows, near.counters))
    events = json.loads(text, parse_float=Decimal)["traceEvents"]
    starts = [event["ts"] for event in events if event["ph"] == "X"]
    assert starts == [Decimal("1234567890.123"), Decimal("1234567890.130")]


def test_a_name_is_written_once_however_often_it_runs() -> None:
    name = "a_very_long_kernel_name_" * 20
    assert as_timeline.perfetto(by_hand((name,) * 9)).count(name.encode()) == 2  # of the slices, and in the title
