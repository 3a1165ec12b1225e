"""The pages the browser looks at: the sample of the founding cases, hostile names, very many kernels, real traces."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from shared_traces import SHARED
from trace_budget import api
from trace_budget.projection.candidates import Candidate, parse_candidates
from trace_budget.questions import report as report_question
from trace_budget.render import as_html
from trace_budget.schema import build
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.trace import Caveat, Trace

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>",
    '<a href="javascript:alert(1)">%{x} $title @marked {{7*7}}</a>&lt;b&gt; \'"`',
    "esc\x1b[31m\x9b2J bell\x07 right\u202eto-left zero\u200bwidth",
)
CANDIDATES = """
schema = "trace-budget/candidates/1"
[[candidate]]
id = "fused <b>& tiled</b>"
match = {kernel = "gdn_fused"}
saving_us = 3.228
[[candidate]]
id = "split"
match = {kernel = "gdr_split"}
new_us = 9.827
[[candidate]]
id = "projection"
match = {kernel = "gdn_out_proj"}
speedup = 1.3
"""


def seed(kernel: str = "gdn_fused", saving_us: float = 3.228) -> bytes:
    """A candidate on the sample of the founding cases."""
    return candidate(SEED, kernel, saving_us)


def candidate(path: Path, kernel: str, saving_us: float) -> bytes:
    """One candidate on one trace."""
    asked = Candidate("", Change(saving_us=saving_us), Selection(kernel))
    return as_html.render(report_question.candidate_page(api.open_trace(path), asked))


def trace_alone() -> bytes:
    """The sample without a candidate."""
    return as_html.render(report_question.trace_page(api.open_trace(SEED)))


def candidates() -> bytes:
    """Three candidates on the sample."""
    return as_html.render(report_question.ranking_page(api.open_trace(SEED), parse_candidates(CANDIDATES)))


def graph_steps(steps: int, kernels: int, names: list[str], path: str = "made.json") -> Trace:
    """Steps of one graph launch each: `kernels` kernels of 2 to 20 us, 0.8 us apart, the names in turn."""
    count = steps * kernels
    durations = np.tile(np.random.default_rng(0).integers(2_000, 20_000, kernels), steps)
    gaps = np.where(np.arange(count) % kernels == 0, 300_000, 800)
    start = 1_000_000_000 + np.cumsum(durations + gaps) - durations
    calls = pl.DataFrame(
        {
            "name": ["hipGraphLaunch"] * steps, "start_ns": start[::kernels] - 200_000, "pid": [1] * steps,
            "tid": [1] * steps, "end_ns": start[::kernels] - 150_000, "correlation": np.arange(steps),
        }
    )  # fmt: skip
    ops = pl.DataFrame(
        {
            "kind": ["kernel"] * count, "name": pl.Series(names).gather(np.arange(count) % len(names)),
            "device": [0] * count, "stream": [7] * count, "start_ns": start, "end_ns": start + durations,
            "correlation": np.repeat(np.arange(steps), kernels),
        }
    )  # fmt: skip
    rows = build.calls(calls)
    return Trace(path, "kineto", build.gpu_ops(ops, rows), rows)


def hostile() -> bytes:
    """Names, file name and caveat that try to become markup, scripts, templates and terminal commands."""
    trace = graph_steps(4, 60, [*HOSTILE, "plain"], path=f"{HOSTILE[0]}.json")
    told = trace.with_caveats([Caveat("odd_names", f"a text with {HOSTILE[0]}", 2, "warning", HOSTILE[1])])
    asked = Candidate("", Change(saving_us=1.0), Selection("script", all_matches=True))
    return as_html.render(report_question.candidate_page(told, asked))


def large(steps: int, kernels: int) -> bytes:
    """So many steps of so many kernels, with forty long names."""
    names = [f"void kernel_{index:02d}<float, 128, 64>(Params<float> const&, int, int)" for index in range(40)]
    asked = Candidate("", Change(saving_us=1.0), Selection("kernel_07"))
    return as_html.render(report_question.candidate_page(graph_steps(steps, kernels, names), asked))


PAGES: dict[str, Callable[[], bytes]] = {
    "seed": seed,
    "invalid": partial(seed, "gdn_fused", 26.618),
    "trace_alone": trace_alone,
    "candidates": candidates,
    "hostile": hostile,
    "many_steps": partial(large, 100, 1_000),
    "long_steps": partial(large, 2, 5_000),
    "vllm": partial(candidate, SHARED / "kineto" / "vllm_decode_full_graph.json.gz", "swiglu", 3.228),
    "sglang": partial(candidate, SHARED / "kineto" / "sglang_decode_full_graph.json.gz", "ll4mi_QKV", 3.228),
}
