"""Work that the recording lost: told where it concerns counted steps, quiet where nothing is missing."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import trace_budget as tb
from builders import DECODE, US, Tape, decode_steps
from trace_budget.analysis.health import with_warnings
from trace_budget.analysis.lost_work import LostWork, lost_work
from trace_budget.analysis.steps import find_steps
from trace_budget.schema.trace import Trace

MODEL = ["embed", *["norm", "qkv", "attn", "out", "norm2", "up", "down"] * 8, "head"]
LORA = ["embed", *["norm", "qkv", "lora_a", "lora_b", "attn", "out", "norm2", "up", "down"] * 8, "head"]
HALF = ["embed", *["norm", "qkv", "attn", "out", "norm2", "up", "down"] * 4, "head"]


def lost(trace: Trace) -> LostWork:
    return lost_work(trace, find_steps(trace))


def told(trace: Trace) -> dict[str, tuple[str, int]]:
    return {caveat.code: (caveat.severity, caveat.count) for caveat in lost(trace).caveats}


def replays(models: list[list[str]], name: str = DECODE) -> Trace:
    tape = Tape()
    for model in models:
        with tape.range(name):
            tape.graph(model)
        tape.idle(20 * US)
    return tape.trace()


def eager(steps: int, without: set[tuple[int, int]], model: list[str] = MODEL) -> Trace:
    """Eager steps; the records of some (step, place in the model) are lost, their launches are there."""
    tape = Tape()
    for step in range(steps):
        with tape.range(DECODE):
            for place, name in enumerate(model):
                correlation = tape.call("cudaLaunchKernel")
                if (step, place) not in without:
                    tape.run([name], correlation)
        tape.idle(20 * US)
    return tape.trace()


def test_whole_steps_lost_nothing() -> None:
    for trace in (replays([MODEL] * 5), eager(5, set())):
        assert lost(trace) == LostWork()
        assert with_warnings(trace, find_steps(trace)).caveats == find_steps(trace).caveats


@pytest.mark.parametrize("sizes", [[58, 58, 57, 58], [58, 40, 58, 58, 55, 58], [58, 57, 56, 55]])
def test_replays_that_lack_kernels(sizes: list[int]) -> None:
    trace = replays([MODEL[:size] for size in sizes])
    (caveat,) = lost(trace).caveats
    assert (caveat.code, caveat.count) == ("lost_kernels", sum(size < 58 for size in sizes))
    assert "instead of 58" in caveat.text


def test_a_share_above_one_per_cent_is_an_error() -> None:
    whole, short = [MODEL] * 9, MODEL[:20] + MODEL[21:]
    few = lost(replays([*whole, short]))
    assert (few.severe, few.caveats[0].severity) == (False, "warning")
    assert few.share == pytest.approx(1 / (58 * 10))
    more = lost(replays([MODEL, MODEL, short, MODEL[:30] + MODEL[32:], MODEL]))
    assert (more.severe, more.caveats[0].severity) == (True, "error")
    assert more.share == pytest.approx(3 / (58 * 5))


def test_what_replays_lack_is_known_by_name() -> None:
    trace = replays([MODEL, MODEL, [n for n in MODEL[:-20] if n != "never"] + MODEL[-19:], MODEL])
    missing = MODEL[-20]
    categories = trace.gpu_ops["name"].dtype.categories.to_list()  # type: ignore[attr-defined]
    assert lost(trace).by_name == ((categories.index(missing), 1),)
    assert lost(trace).calls_lost({categories.index(missing)}) == 1
    assert lost(trace).calls_lost({categories.index("embed")}) == 0


@pytest.mark.parametrize("turns", [[LORA, MODEL] * 4, [LORA] * 5 + [MODEL] * 3, [LORA] * 7 + [MODEL]])
def test_graphs_with_other_kernels_inside_are_no_loss(turns: list[list[str]]) -> None:
    assert told(replays(turns)) == {}


def test_a_graph_of_fewer_layers_is_no_loss() -> None:
    assert told(replays([MODEL, HALF] * 4)) == {}


def test_a_lossy_replay_is_measured_against_its_own_graph() -> None:
    trace = replays([*[LORA, MODEL] * 4, MODEL[:20] + MODEL[21:]])
    (caveat,) = lost(trace).caveats
    assert "57 instead of 58" in caveat.text


def test_graphs_of_other_batches_are_no_loss() -> None:
    tape = Tape()
    for batch, size in ((8, 58), (7, 51), (8, 58), (7, 51), (8, 58), (7, 51), (8, 58)):
        with tape.range(f"execute_context_0(0)_generation_{batch}({batch})"):
            tape.graph(MODEL[:size])
        tape.idle(20 * US)
    assert told(tape.trace()) == {}


def test_pieces_of_one_step_are_no_loss() -> None:
    tape = Tape()
    for _ in range(4):
        with tape.range("execute_context_1(512)_generation_8(8)"):
            for size in (4, *[15] * 6, 12):
                tape.graph(MODEL[:size]).launch("attn")
        tape.idle(20 * US)
    assert told(tape.trace()) == {}


def test_two_replays_tell_nothing() -> None:
    assert told(replays([MODEL, MODEL[:57]])) == {}


def test_every_replay_of_the_counted_steps_is_empty() -> None:
    tape = Tape()
    for _ in range(6):
        with tape.range(DECODE):
            tape.call("hipGraphLaunch")
            tape.launch("rms_norm rms_norm")
        tape.idle(900 * US)
    found = lost(tape.trace())
    assert (found.empty, found.severe) == (6, True)
    assert [(c.code, c.severity, c.count) for c in found.caveats] == [("replays_without_kernels", "error", 6)]


def test_an_empty_replay_at_the_end_of_the_recording_is_in_no_step() -> None:
    tape = decode_steps(3, "a b c")
    tape.call("cudaGraphLaunch")
    assert told(tape.trace()) == {"replays_without_kernels": ("warning", 1)}
    assert lost(tape.trace()).severe is False


def test_launches_without_kernels() -> None:
    places = {(step, 3 + 7 * layer) for step in range(8) for layer in (0, 4)}
    found = lost(eager(8, places))
    assert (found.nameless, found.severe) == (16, True)
    assert found.share == pytest.approx(16 / (58 * 8))
    assert [(c.code, c.severity, c.count) for c in found.caveats] == [("launches_without_kernels", "error", 16)]
    few = lost(eager(8, {(4, 17)}))
    assert (few.nameless, few.severe, few.caveats[0].severity) == (1, False, "warning")


def test_what_is_lost_before_the_counted_steps_is_a_note() -> None:
    at_start = {(0, place) for place in range(58)} | {(1, place) for place in range(30)}
    assert told(eager(8, at_start)) == {"launches_without_kernels": ("note", 88)}


@pytest.mark.parametrize("call", ["cudaEventRecord", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchHostFunc"])
def test_calls_without_kernels_of_their_own_lose_nothing(call: str) -> None:
    tape = Tape()
    for _ in range(5):
        with tape.range(DECODE):
            tape.launch(MODEL[:20])
            tape.call(call)
            tape.launch(MODEL[20:])
        tape.idle(20 * US)
    assert told(tape.trace()) == {}


def test_what_a_capture_writes_down_did_not_run() -> None:
    tape = Tape()
    for step in range(5):
        with tape.range(DECODE):
            tape.launch(MODEL[:20])
            if step == 2:
                tape.call("hipStreamBeginCapture")
                for _ in range(30):
                    tape.call("hipLaunchKernel")
                tape.call("hipStreamEndCapture")
            tape.launch(MODEL[20:])
        tape.idle(20 * US)
    assert told(tape.trace()) == {}


def test_kernels_without_a_link_to_their_launch_are_not_lost() -> None:
    tape = Tape()
    for _ in range(5):
        with tape.range(DECODE):
            tape.launch(MODEL[:20])
            tape.call("cudaLaunchKernel")
            tape.run(["attn"])
            tape.launch(MODEL[20:])
        tape.idle(20 * US)
    assert lost(tape.trace()).nameless == 0


def test_a_second_thread_is_placed_by_its_own_launches() -> None:
    tape = Tape()
    for _ in range(5):
        with tape.range(DECODE):
            tape.launch(MODEL)
        tape.tid = 2
        tape.call("cudaLaunchKernel")
        tape.tid = 1
        tape.idle(20 * US)
    assert lost(tape.trace()).nameless == 0


def test_every_answer_tells_it() -> None:
    trace = eager(8, {(step, 3) for step in range(8)})
    for report in (tb.kernels(trace), tb.layers(trace), tb.steps(trace),
                   tb.overlap(trace), tb.threshold(trace)):  # fmt: skip
        assert "launches_without_kernels" in {caveat.code for caveat in report.caveats}
    (finding,) = [f for f in tb.check([trace]).document["findings"] if "launches" in f["code"]]
    assert finding["count"] == 8


def test_unlike_times_do_not_matter() -> None:
    trace = eager(4, {(1, 9)})
    unknown = replace(trace, gpu_ops=trace.gpu_ops.with_columns(pl.lit(None, dtype=pl.Int64).alias("end_ns")))
    assert lost_work(unknown, find_steps(trace)).nameless == 1


def test_replays_lost_at_regular_distances_make_no_cycle() -> None:
    tape = Tape()
    for step in range(9):
        with tape.range(DECODE):
            call = tape.call("hipGraphLaunch")
            if step % 3 != 2:
                tape.run(MODEL, call)
            tape.launch("norm norm")
        tape.idle(20 * US)
    trace = tape.trace()
    steps = find_steps(trace)
    assert set(steps.frame.filter("used")["kernels"].to_list()) == {len(MODEL) + 2}
    assert lost_work(trace, steps).empty == 0
