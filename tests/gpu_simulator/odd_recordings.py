"""Random recordings of every kind in which a step, a token or a layer is easily misread; each with its truth."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gpu_simulator.recordings import PREPARE_NS, TOKENS, Model, Recorder, Truth, Work, dense
from trace_budget.schema.trace import Trace

DECODE = ("execute_context_0(0)_generation_8(8)", "step[DECODE bs=8]", "decode[{index}]")


@dataclass(frozen=True, slots=True)
class Odd:
    """A recording, the kernel that is asked about, and what is right of it."""

    kind: str
    seed: int
    trace: Trace
    kernel: str
    truth: Truth


@dataclass(frozen=True, slots=True)
class _Made:
    """What all kinds start from."""

    random: np.random.Generator
    model: Model
    recorder: Recorder
    text: str
    layers: int

    def step(self, works: tuple[Work, ...] | None = None, mark: bool = True, text: str = "", passes: int = 1) -> None:
        """Prepare, run, copy the tokens, wait."""
        one = self.recorder
        begin = one.now_ns
        one.pause(PREPARE_NS)
        for _ in range(passes):
            one.run(works or self.model.kernels)
        one.run((TOKENS,), graph=False)
        one.wait()
        if mark:
            one.mark((text or self.text).format(index=len(one.marks)), begin)

    def calls(self, works: tuple[Work, ...] | None = None) -> int:
        return sum(work.name == "attention" for work in works or self.model.kernels)

    def steady(self) -> Truth:
        """Of steps that are all alike; the copy of the tokens opens a run of its own."""
        return Truth(self.calls(), float(np.diff(self.recorder.starts[::2]).mean()), self.layers)

    def odd(self, truth: Truth, *others: Recorder, host: bool = True) -> Odd:
        return Odd("", 0, self.recorder.trace(*others, host=host), "attention", truth)


def _made(kind: str, seed: int, **model: object) -> _Made:
    random = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    layers = int(random.integers(6, 40))
    made = dense(random, layers, **model)  # type: ignore[arg-type]
    recorder = Recorder(random, graph=bool(random.integers(0, 2)))
    return _Made(random, made, recorder, str(random.choice(DECODE)), layers)


def _plain(of: _Made) -> Odd:
    for _ in range(int(of.random.integers(6, 14))):
        of.step()
    return of.odd(of.steady())


def _several_passes_in_a_mark(of: _Made) -> Odd:
    """Multi-step scheduling: n passes of one model in a mark; a token a pass, or (a diffusion) one a mark."""
    passes = int(of.random.integers(2, 9))
    for _ in range(int(of.random.integers(4, 9))):
        of.step(passes=passes)
    mark = float(np.diff(of.recorder.starts[:: passes + 1]).mean())
    each = Truth(of.calls(), mark / passes, of.layers)
    return of.odd(replace(each, other_readings=((of.calls() * passes, mark),)))


def _one_mark_over_all(of: _Made) -> Odd:
    begin = of.recorder.now_ns
    for _ in range(int(of.random.integers(5, 12))):
        of.step(mark=False)
    of.recorder.mark("ProfilerStep#3", begin)
    return of.odd(of.steady())


def _every_other_marked(of: _Made) -> Odd:
    for index in range(2 * int(of.random.integers(4, 8))):
        of.step(mark=index % 2 == 0)
    return of.odd(of.steady())


def _few_marked(of: _Made) -> Odd:
    """Marks of another phase cover a small part; unmarked decode is nearly all of the work."""
    prompt = tuple(Work(work.name, work.ns * 6, work.kind) for work in of.model.kernels)
    for index in range(int(of.random.integers(12, 20))):
        marked = index in (2, 9)
        of.step(prompt if marked else None, mark=marked, text="step[EXTEND bs=1 toks=512]")
    decode = [index for index in range(len(of.recorder.starts) // 2 - 1) if index not in (2, 9)]
    lengths = np.diff(of.recorder.starts[::2])[decode]
    served = float(np.diff(of.recorder.starts[::2]).mean())
    truth = Truth(of.calls(), float(np.median(lengths)), of.layers, ((of.calls(), served),))
    return of.odd(truth)


def _draft_and_verify(of: _Made) -> Odd:
    """k passes of a small model, then one of the large one: a cycle; attention runs in the large one alone."""
    draft = dense(of.random, int(of.random.integers(1, 4)), prefix="draft_")
    steps = int(of.random.integers(1, 5))
    text = str(of.random.choice(("step[TARGET_VERIFY bs=8]", "step[DECODE bs=8]")))
    marked = bool(of.random.integers(0, 2))
    cycle: list[int] = []
    for _ in range(int(of.random.integers(6, 10))):
        cycle.append(len(of.recorder.starts))
        for _ in range(steps):
            of.step(draft.kernels, text="step[DECODE bs=8]", mark=marked)
        of.step(text=text)
    begins = np.array(of.recorder.starts)[cycle]
    return of.odd(Truth(of.calls(), float(np.diff(begins).mean()), of.layers))


def _mix(of: _Made) -> Odd:
    """Decode steps among mixed ones, which run prefill kernels and no decode attention."""
    works = [work for work in of.model.kernels if work.name != "attention"]
    mixed = tuple(Work("prefill_" + work.name if "gemm" in work.name else work.name, work.ns * 5) for work in works)
    share = float(of.random.uniform(0.2, 0.6))
    kinds = of.random.random(int(of.random.integers(14, 24))) < share
    for is_mixed in kinds.tolist():
        of.step(mixed if is_mixed else None, text="step[MIXED bs=8 toks=512]" if is_mixed else "step[DECODE bs=8]")
    lengths = np.diff(of.recorder.starts[::2])
    decode_ns = [int(ns) for ns, is_mixed in zip(lengths, kinds[:-1], strict=True) if not is_mixed]
    if not decode_ns or not kinds.any():
        return of.odd(Truth(of.calls(), float(lengths.mean()), of.layers))
    mean_calls = of.calls() * float((~kinds).mean())
    decode = Truth(of.calls(), float(np.median(decode_ns)), of.layers)
    return of.odd(replace(decode, other_readings=((mean_calls, float(lengths.mean())),)))


def _variants(of: _Made) -> Odd:
    """Half of the steps run another kernel in place of attention: its count is half a step's, on average."""
    other = tuple(Work("attention_split", w.ns) if w.name == "attention" else w for w in of.model.kernels)
    flags = of.random.random(int(of.random.integers(12, 20))) < 0.5
    flags[:2] = (True, False)
    for flag in flags.tolist():
        of.step(other if flag else None)
    return of.odd(Truth(of.calls() * float((~flags).mean()), of.steady().token_ns, of.layers))


def _pauses(of: _Made) -> Odd:
    """An idle server: after every few steps it waits for a request; the token is what the device takes."""
    burst, idle = int(of.random.integers(2, 6)), int(of.random.integers(20, 200)) * 1_000_000
    for index in range(burst * int(of.random.integers(3, 6))):
        if index and index % burst == 0:
            of.recorder.pause(idle)
        of.step()
    lengths = np.diff(of.recorder.starts[::2])
    token, served = float(np.median(lengths[lengths < idle])), float(lengths.mean())
    return of.odd(replace(Truth(of.calls(), token, of.layers), other_readings=((of.calls(), served),)))


def _two_processes(of: _Made) -> Odd:
    """Another process works on the same device; each takes turns."""
    other = Recorder(of.random, graph=of.recorder.graph, pid=200, stream=9, number=5_000_000)
    second = replace(of, recorder=other)
    for _ in range(int(of.random.integers(6, 10))):
        of.step()
        other.now_ns = max(other.now_ns, of.recorder.now_ns)
        other.free_ns = of.recorder.free_ns
        second.step(tuple(Work(f"other_{w.name}", w.ns) for w in of.model.kernels[: len(of.model.kernels) // 2]))
        of.recorder.now_ns, of.recorder.free_ns = other.now_ns, other.free_ns
    return of.odd(of.steady(), other)


def _kernels_alone(of: _Made) -> Odd:
    """A kernel CSV of a few passes: no calls, no marks."""
    passes = int(of.random.integers(1, 6))
    for _ in range(passes):
        of.step(mark=False)
    starts = of.recorder.starts[::2]
    token = float(np.diff(starts).mean()) if passes > 1 else float(of.recorder.free_ns - starts[0])
    return of.odd(Truth(of.calls(), token, of.layers), host=False)


def _lost(of: _Made) -> Odd:
    """Some attention kernels are lost in recording; their launches are there."""
    recorder = replace(of.recorder, graph=False)
    made = replace(of, recorder=recorder)
    for _ in range(int(of.random.integers(6, 10))):
        made.step()
    lost = float(of.random.uniform(0.02, 0.3))
    recorder.ops = [op for op in recorder.ops if op["name"] != "attention" or of.random.random() > lost]
    return made.odd(Truth(of.calls(), float(np.diff(recorder.starts[::2]).mean()), of.layers))


def _buckets(of: _Made) -> Odd:
    """Graphs of several batch sizes: the same kernels, other times; what counts is the mean step."""
    sizes = [1.0, *(float(of.random.uniform(1.1, 2.5)) for _ in range(int(of.random.integers(1, 4))))]
    for index in range(4 * len(sizes) + int(of.random.integers(0, 4))):
        times = sizes[index % len(sizes)]
        of.step(tuple(replace_ns(work, times) for work in of.model.kernels))
    lengths = np.diff(of.recorder.starts[::2])
    each = [Truth(of.calls(), float(lengths[k :: len(sizes)].mean()), of.layers) for k in range(len(sizes))]
    readings = tuple((one.calls, one.token_ns) for one in each)
    return of.odd(replace(of.steady(), other_readings=(*readings, (of.calls(), float(np.median(lengths))))))


def replace_ns(work: Work, times: float) -> Work:
    """The same kernel, as many times as long."""
    return Work(work.name, round(work.ns * times), work.kind)


def _experts(of: _Made) -> Odd:
    """A layer runs as many expert kernels as experts were chosen: no two steps run equally many kernels."""
    for _ in range(int(of.random.integers(8, 14))):
        works: list[Work] = [*of.model.head]
        for layer in of.model.layers:
            chosen = int(of.random.integers(1, 6))
            works += [*layer, *(Work("expert_gemm", 9_000) for _ in range(chosen))]
        of.step((*works, *of.model.tail))
    return of.odd(of.steady())


def _two_marks_a_step(of: _Made) -> Odd:
    """One range around the forward, another around the sampler: two marks make a step."""
    body, tail = of.model.kernels[:-2], of.model.kernels[-2:]
    for index in range(int(of.random.integers(6, 12))):
        begin = of.recorder.now_ns
        of.recorder.pause(PREPARE_NS)
        of.recorder.run(body)
        of.recorder.mark(f"decode[{index}]", begin)
        begin = of.recorder.now_ns
        of.recorder.run(tail)
        of.recorder.run((TOKENS,), graph=False)
        of.recorder.wait()
        of.recorder.mark(f"decode[{index}] sample", begin)
    token = float(np.diff(of.recorder.starts[::3]).mean())
    return of.odd(Truth(of.calls(), token, of.layers))


def _idle_marks(of: _Made) -> Odd:
    """Marks of idle steps, which run a copy alone, among unmarked steps that do the work."""
    for index in range(int(of.random.integers(10, 16))):
        of.step(mark=False)
        if index % 4 == 1:
            begin = of.recorder.now_ns
            of.recorder.run((Work("idle_poll", 2_000),), graph=False)
            of.recorder.wait()
            of.recorder.mark("step[IDLE bs=0]", begin)
    begins = [op["start_ns"] for op in of.recorder.ops if op["name"] == "embedding"]
    steady = np.diff(np.array(begins, dtype=np.int64))
    mean = Truth(of.calls(), float(steady.mean()), of.layers)
    return of.odd(replace(mean, other_readings=((of.calls(), float(np.median(steady))),)))


def _mark_of_another_thread(of: _Made) -> Odd:
    """A range of another thread lies over all steps; nothing else is marked."""
    begin = of.recorder.now_ns
    for _ in range(int(of.random.integers(5, 12))):
        of.step(mark=False)
    of.recorder.mark("ProfilerStep#1", begin, tid=777)
    return of.odd(of.steady())


def _empty_replays(of: _Made) -> Odd:
    """Of some graph launches no kernel was kept: what they ran is unknown."""
    made = replace(of, recorder=replace(of.recorder, graph=True))
    for _ in range(int(of.random.integers(6, 10))):
        made.step()
    launches = [call["correlation"] for call in made.recorder.calls if call["name"] == "cudaGraphLaunch"]
    lost = set(launches[2 : 2 + max(1, len(launches) // 3)])
    made.recorder.ops = [op for op in made.recorder.ops if op["correlation"] not in lost]
    return made.odd(Truth(of.calls(), made.steady().token_ns, of.layers))


_KINDS: dict[str, tuple[Callable[[_Made], Odd], dict[str, object]]] = {
    "plain": (_plain, {}),
    "plain_hybrid": (_plain, {"hybrid": 4}),
    "several_passes_in_a_mark": (_several_passes_in_a_mark, {}),
    "one_mark_over_all": (_one_mark_over_all, {}),
    "every_other_marked": (_every_other_marked, {}),
    "few_marked": (_few_marked, {}),
    "draft_and_verify": (_draft_and_verify, {}),
    "mix": (_mix, {}),
    "variants": (_variants, {}),
    "pauses": (_pauses, {}),
    "two_processes": (_two_processes, {}),
    "kernels_alone": (_kernels_alone, {}),
    "kernels_alone_hybrid": (_kernels_alone, {"hybrid": 4}),
    "kernels_alone_by_layer": (_kernels_alone, {"by_layer": True}),
    "buckets": (_buckets, {}),
    "experts": (_experts, {}),
    "two_marks_a_step": (_two_marks_a_step, {}),
    "idle_marks": (_idle_marks, {}),
    "mark_of_another_thread": (_mark_of_another_thread, {}),
    "empty_replays": (_empty_replays, {}),
    "lost": (_lost, {}),
}
ODD_KINDS = tuple(_KINDS)


def odd_recording(kind: str, seed: int) -> Odd:
    """The recording of a kind and a seed."""
    builder, model = _KINDS[kind]
    return replace(builder(_made(kind, seed, **model)), kind=kind, seed=seed)
