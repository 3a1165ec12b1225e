"""A bounded run over mutated samples, and proofs that counts and judge would see what they are there to see."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import count, inputs, judge, laws, run
from fuzz.samples import FAMILIES, INGESTED, PROTOBUF, ROOT, SAMPLES, Sample, drawn, files_of, place_of
from trace_budget import api, readers
from trace_budget.errors import InputError
from trace_budget.schema.trace import Trace

SEED, BLOCK, BLOCKS = 20_260_712, 50, 6
OTHER_SIZES = {
    "kineto/integer_us_epoch.json.gz": 27,
    "kineto/decimal_us_epoch.json.gz": 27,
    "kineto/list_root.json.gz": 27,
    "kineto/cuda_two_streams_pdl.json.gz": 1_456,
    # three steps of 21 kernels and a copy each, before dispatches that stand twice are merged
    "rocprof_v1_json/same_run.json": 63 + 3 + 63,
    "rpd/odd_rows.rpd": 5,
}
SAME_RUN, KERNEL_NAMES, TWO_RUNS = 63, 6, 126
OTHER_SIZES["nsys_sqlite/visible_devices.sqlite"] = TWO_RUNS
CHEAP = [sample for sample in SAMPLES if sample.family != PROTOBUF and sample.weight >= 1]
KINETO = next(sample for sample in SAMPLES if sample.format == "kineto")


def expected(sample: Sample) -> int:
    if "two_" in Path(sample.name).name and sample.name not in OTHER_SIZES:
        return TWO_RUNS
    sums = sample.format == "kernel_stats_csv" or "kern_sum" in sample.name
    return OTHER_SIZES.get(sample.name, KERNEL_NAMES if sums else SAME_RUN)


@pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.family != PROTOBUF], ids=lambda one: one.name
)
def test_the_count_of_a_clean_sample_is_the_described_one(sample: Sample) -> None:
    assert count.kernels(sample.format, place_of(sample)) == expected(sample)
    assert judge.rows_of(api.open_trace(place_of(sample))) == expected(sample)


def test_the_samples_are_of_every_format_and_family() -> None:
    formats = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"broken", "make", "__pycache__", "many"}
    assert {sample.format for sample in SAMPLES} == formats | {INGESTED} == set(readers.NAMES)
    assert {sample.family for sample in SAMPLES} == set(FAMILIES)
    assert drawn(Random(1), "rpd").format == "rpd"


def test_an_input_is_made_from_its_seed_and_number_alone() -> None:
    made = [inputs.numbered(SEED, index) for index in range(200)]
    again = [inputs.numbered(SEED, index) for index in range(200)]
    assert [one.files for one in made] == [one.files for one in again]
    assert sum(one.files != files_of(one.sample) for one in made) > 190
    assert len({one.sample for one in made}) > 30


@pytest.mark.parametrize("block", range(BLOCKS))
def test_three_hundred_mutated_inputs(block: int) -> None:
    for index in range(block * BLOCK, (block + 1) * BLOCK):
        one = inputs.numbered(SEED, index)
        verdict = judge.judged(one, ask=index % run.ASK_EVERY == 0, measured=False)
        assert not verdict.fault, f"python -m tests.fuzz --seed {SEED} --start {index} --count 1: {verdict}"


@settings(derandomize=True, max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False), sample=st.sampled_from(CHEAP))
def test_mutations_that_shrink(rng: Random, sample: Sample) -> None:
    """The same mutations drawn by Hypothesis, which finds the smallest that breaks something."""
    verdict = judge.judged(inputs.of_sample(rng, sample), ask=False, measured=False)
    assert not verdict.fault, verdict


def unmutated(sample: Sample) -> inputs.Input:
    return inputs.Input(sample, files_of(sample), (), "")


def read_with(monkeypatch: pytest.MonkeyPatch, change: object) -> judge.Verdict:
    """The verdict on a clean sample whose reading is changed by `change(trace)`."""
    judge.clean(KINETO)
    whole = api.open_trace
    monkeypatch.setattr(api, "open_trace", lambda path: change(whole(path)))  # type: ignore[operator]
    return judge.judged(unmutated(KINETO), ask=False)


def test_a_kernel_less_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop(trace: Trace) -> Trace:
        from dataclasses import replace

        return replace(trace, gpu_ops=trace.gpu_ops.head(trace.gpu_ops.height - 1))

    verdict = read_with(monkeypatch, drop)
    assert (verdict.fault, verdict.detail) == ("silent", "62 kernels, content says 63, clean 63")


def test_an_exception_and_an_error_of_two_lines_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_with(monkeypatch, lambda trace: 1 // 0).fault == "traceback"
    monkeypatch.undo()

    def refuse(trace: Trace) -> Trace:
        raise InputError("two\nlines")

    assert read_with(monkeypatch, refuse).fault == "refusal"


def test_unsorted_times_and_unknown_ones_without_a_word_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    def unknown(trace: Trace) -> Trace:
        from dataclasses import replace

        times = [pl.lit(None, pl.Int64).alias(name) for name in ("start_ns", "end_ns")]
        return replace(trace, gpu_ops=trace.gpu_ops.with_columns(times))

    verdict = read_with(monkeypatch, unknown)
    assert (verdict.fault, verdict.detail) == ("law", "66 unknown starts, told {}")


def test_memory_beyond_the_limit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "FREE_BYTES", 1 << 24)

    def spend(trace: Trace) -> Trace:
        assert len(b"x" * (1 << 26)) == 1 << 26
        return trace

    assert read_with(monkeypatch, spend).fault == "memory"


def test_a_document_whose_sums_are_wrong_is_seen() -> None:
    trace = api.open_trace(ROOT / KINETO.name)
    code, document, _ = judge.said("overlap", str(ROOT / KINETO.name), "--format", "json")
    assert code == 0
    laws.of_document("overlap", document, trace)
    document["devices"][0]["busy_us"] += 1
    with pytest.raises(AssertionError, match="busy"):
        laws.of_document("overlap", document, trace)
    with pytest.raises(AssertionError):
        laws.of_document("kernels", {"rows": [{"us": math.nan}]}, trace)


def test_a_run_counts_every_input_and_a_child_that_hangs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = run.Tally()
    for line in run.lines(SEED, 0, 3, "rocprof_v1_csv"):
        tally.add(line)
    assert (tally.inputs, tally.faults) == (3, [])
    monkeypatch.setattr(run, "HUNG_SECONDS", 0)
    assert [(line["index"], line["fault"]) for line in run.lines(SEED, 0, 2, "rpd")] == [(0, "killed"), (1, "killed")]
