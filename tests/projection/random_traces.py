"""Traces that no machine made: ops, launches and waits drawn at random, for laws that must hold on anything."""

from __future__ import annotations

from hypothesis import strategies as st

from projection.builders import Call, Op, Range, hand_trace
from trace_budget.schema.trace import Trace

NAMES = ("a", "b", "c", "k")


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """1 to 4 steps of up to 12 ops on up to 3 streams, eager or one graph, with or without host calls; `k` in each."""
    streams, eager = draw(st.integers(1, 3)), draw(st.booleans())
    visible, waits = draw(st.booleans()), draw(st.booleans())
    ops: list[Op] = []
    calls: list[Call] = []
    ranges: list[Range] = []
    at, number = 1_000.0, 1
    for _ in range(draw(st.integers(1, 4))):
        begin, count = at, draw(st.integers(2, 12))
        calls += [] if eager else [Call("cudaGraphLaunch", begin - 9, begin - 2, number)]
        for index in range(count):
            number += eager
            name = "k" if index == count - 1 else draw(st.sampled_from(NAMES))
            at += draw(st.sampled_from((0.0, 0.5, 1.5, 3.0, 12.0, 40.0)))
            us = draw(st.integers(1, 60)) + draw(st.sampled_from((0.0, 0.25)))
            node = None if eager else index
            ops.append(Op(name, at, us, 7 + draw(st.integers(0, streams - 1)), number if visible else None, node=node))
            if eager:
                lead = draw(st.sampled_from((4.0, 5.0, 30.0)))
                calls.append(Call("cudaLaunchKernel", at - lead, at - lead + 2, number))
        end = max(op.start_us + (op.dur_us or 0) for op in ops)
        number += 1
        calls += [Call("cudaStreamSynchronize", at, end + 3, number)] if waits else []
        ranges.append(Range(begin - 40, at + 1))
        number += 1
        at = end + draw(st.sampled_from((60.0, 100.0)))
    return hand_trace(ops, calls if visible else (), ranges)
