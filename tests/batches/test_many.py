"""200 files: every good trace is right by the numbers it was written with, every bad one is listed with its reason."""

import json
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make.many import Facts
from sample_traces.make.many_runs import STEP_NS

from batches.datasets import OPTIONS, QUESTION, SAVING_US, by_path, content
from trace_budget import api
from trace_budget.__main__ import main
from trace_budget.batches.run import Batch, Workers, batch
from trace_budget.batches.summary import summary
from trace_budget.errors import InputError

SAMPLE_FOLDER = Path(__file__).parents[2] / "sample_traces" / "kineto"
COUNT = len([path for path in SAMPLE_FOLDER.glob("*.json*") if ".truth." not in path.name])
Many = tuple[Path, list[Facts]]


def good(many: Many) -> list[Facts]:
    return [facts for facts in many[1] if facts.kind == "trace"]


def test_every_good_trace_is_described_as_it_was_written(many: Many, answered: Batch) -> None:
    runs = by_path(answered.table("runs"))
    assert set(runs) == {facts.path for facts in good(many)}
    for facts in good(many):
        row = runs[facts.path]
        told = {name: row[name] for name in ("format", "job", "model", "batch_size", "layers", "steps")}
        expected = {name: getattr(facts, name) for name in told}
        assert told == expected, facts.path
        assert row["rank"] == facts.rank


def test_every_projection_is_the_product_known_in_advance(many: Many, answered: Batch) -> None:
    runs = answered.table("runs").select("trace_id", "path")
    rows = by_path(answered.table("projections").join(runs, on="trace_id"))
    assert len(rows) == len(good(many)) == 185
    for facts in good(many):
        row, layers = rows[facts.path], facts.layers or 0
        assert row["calls_per_step"] == row["layers_hit"] == layers, facts.path
        assert row["step_us"] == STEP_NS / 1000
        assert row["saving_per_step_naive_us"] == pytest.approx(SAVING_US * layers)
        assert row["naive_pct"] == pytest.approx(100 * SAVING_US * layers * 1000 / STEP_NS)
        assert row["saving_low_pct"] <= row["saving_expected_pct"] <= row["saving_high_pct"]


def test_kernel_times_are_those_written(many: Many, answered: Batch) -> None:
    runs = answered.table("runs").select("trace_id", "path")
    kernels = answered.table("kernels").filter(pl.col("kernel") == "paged_attention_kernel")
    rows = by_path(kernels.join(runs, on="trace_id"))
    for facts in good(many):
        grid_ns = 1_000 if facts.format == "rpd_json" else 1e-6  # RPD's JSON holds whole microseconds
        assert rows[facts.path]["mean_ns"] == pytest.approx(facts.attention_ns, abs=grid_ns), facts.path


def test_the_layer_map_has_each_layer_once_per_call_site(many: Many, answered: Batch) -> None:
    runs = answered.table("runs").select("trace_id", "path", "layers")
    layers = answered.table("layers").filter(pl.col("kernel") == "paged_attention_kernel")
    hit = layers.join(runs, on="trace_id").group_by("path", "layers").agg(pl.col("layer_index").sort())
    assert hit.height == len(good(many))
    for row in hit.to_dicts():
        assert row["layer_index"] == list(range(row["layers"]))


def test_every_bad_file_is_listed_with_its_reason(many: Many, answered: Batch) -> None:
    failures = by_path(answered.table("failures"))
    broken = {facts.path for facts in many[1] if facts.kind == "broken"}
    assert len(broken) == 10
    assert {path for path, row in failures.items() if row["outcome"] == "failed"} == broken
    assert all(row["reason"].startswith(path) for path, row in failures.items())
    assert "Git LFS pointer" in failures["many/bad/pointer.trace.json"]["reason"]
    assert "empty file" in failures["many/bad/empty.json"]["reason"]
    assert "nsys export" in failures["many/bad/report.nsys-rep"]["reason"]


def test_records_of_graph_capture_are_left_out_and_files_of_other_kinds_are_not_listed(
    many: Many, answered: Batch
) -> None:
    left_out = by_path(answered.table("failures").filter(pl.col("outcome") == "left_out"))
    sidecars = {facts.path for facts in many[1] if facts.kind == "sidecar"}
    assert len(sidecars) == 5
    assert {path for path, row in left_out.items() if row["code"] == "capture_sidecar"} == sidecars
    assert {row["code"] for row in left_out.values()} == {"capture_sidecar", "companion"}
    assert answered.others == 3


def test_the_summary_adds_up(many: Many, answered: Batch) -> None:
    document = summary(answered, ("model", "batch_size")).document
    assert (document["traces"], document["failed"], document["other_files"]) == (185, 10, 3)
    groups = document["groups"]
    assert isinstance(groups, list)
    (whole,) = [row for row in groups if row["group"] == "all traces"]
    parts = [row for row in groups if row["group"] != "all traces"]
    assert {row["group"] for row in parts} == {f"{facts.model} · {facts.batch_size}" for facts in good(many)}
    for name in ("traces", "GO", "MARGINAL", "NO-GO", "INVALID"):
        assert sum(row[name] for row in parts) == whole[name]
    assert whole["GO"] + whole["MARGINAL"] + whole["NO-GO"] + whole["INVALID"] == 185
    assert whole["min_pct"] <= whole["p25_pct"] <= whole["median_pct"] <= whole["p75_pct"] <= whole["max_pct"]
    best, worst = document["best"], document["worst"]
    assert isinstance(best, list)
    assert isinstance(worst, list)
    assert best[0]["saving_expected_pct"] == whole["max_pct"]
    assert worst[0]["saving_expected_pct"] == whole["min_pct"]


@pytest.mark.parametrize("kind", ["kineto", "rocpd", "nsys_csv", "rocprofv3_csv"])
def test_the_dataset_says_what_project_says_of_one_file(
    many: Many, answered: Batch, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = next(facts for facts in good(many) if facts.format == kind and "!/" not in facts.path)
    assert main(["project", str(many[0].parent / facts.path), *OPTIONS, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    runs = answered.table("runs").select("trace_id", "path")
    row = by_path(answered.table().join(runs, on="trace_id"))[facts.path]
    assert row["verdict"] == told["verdict"]
    assert row["why"] == told["why"]
    assert {f"saving_{end}_pct": told["pct"][end] for end in ("low", "expected", "high")}.items() <= row.items()
    assert row["token_us"] == told["token"]["token_us"]
    assert [row[q] for q in ("q1", "q2", "q3", "q4", "q5", "q6")] == [e["grade"] for e in told["evidence"].values()]


def test_results_are_frames_of_three_libraries(answered: Batch) -> None:
    frame = answered.table("projections")
    assert answered.to_pandas().shape == answered.to_arrow().to_pandas().shape == frame.shape
    assert answered.to_pandas("runs")["path"].tolist() == answered.table("runs")["path"].to_list()


def test_copies_are_told_and_counted_once(many: Many, tmp_path: Path) -> None:
    place = tmp_path / "twice"
    good_one = next(facts for facts in good(many) if facts.format == "rocpd" and "!/" not in facts.path)
    bad_one, sidecar = "many/bad/host_only.trace.json", next(f.path for f in many[1] if f.kind == "sidecar")
    for folder in ("a", "b"):
        for path in (good_one.path, bad_one, sidecar):
            source = many[0].parent / path
            target = place / folder / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    done = batch(place, tmp_path / "out", QUESTION, Workers("here"))
    assert done.table("runs")["path"].to_list() == [f"twice/a/{Path(good_one.path).name}"]
    rows = by_path(done.table("failures"))
    ends = {path: (row["outcome"], row["code"]) for path, row in rows.items()}
    for folder in ("a", "b"):
        assert ends[f"twice/{folder}/host_only.trace.json"] == ("failed", "unreadable_input")
        assert ends[f"twice/{folder}/{Path(sidecar).name}"] == ("left_out", "capture_sidecar")
    assert ends[f"twice/b/{Path(good_one.path).name}"] == ("left_out", "duplicate")
    assert len(ends) == 5
    before = content(tmp_path / "out")
    batch(place, tmp_path / "out", QUESTION, Workers("here"))
    assert content(tmp_path / "out") == before


def test_failures_are_tried_again_only_when_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, out = SAMPLE_FOLDER, tmp_path / "out"

    def refuse(*_: object) -> None:
        raise InputError("not today", where="somewhere")

    with monkeypatch.context() as patched:
        patched.setattr(api, "open_trace", refuse)
        first = batch(place, out, QUESTION, Workers("here"))
    assert (first.table("runs").height, first.table("failures").height) == (0, COUNT)
    second = batch(place, out, QUESTION, Workers("here"))
    assert (second.table("runs").height, second.resumed) == (0, COUNT)
    third = batch(place, out, QUESTION, Workers("here"), retry_failed=True)
    assert (third.table("runs").height, third.table("failures").height) == (COUNT, 0)
