"""Option groups shared by the commands; each turns into the plain struct that the core takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace_budget.cli import _config
from trace_budget.cli._groups import argument, option
from trace_budget.cli._output import Output, working
from trace_budget.cli._values import (
    MOST_ROWS,
    one_of,
    pattern,
    percentage,
    positive,
    share,
    step_slice,
    whole,
)
from trace_budget.schema.options import MOST_LAYERS, Policy, Scope, TokenInput

if TYPE_CHECKING:
    from trace_budget.schema.trace import Trace

PHASES = ("decode", "prefill", "mixed", "verify", "draft", "other")
OtherRanks = Annotated[
    list[Path] | None,
    typer.Option(
        "--with-rank",
        metavar="FILE",
        help="The trace of another rank of the same job (repeat for more): collectives then wait for all of them.",
        rich_help_panel="Input",
        show_default=False,
    ),
]
TracePath = Annotated[Path, argument("TRACE", "The trace file, or a folder with one job.")]
Filter = Annotated[str | None, option("Select", "--kernel", metavar="NAME", text="Only kernels that match.")]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the trace is read."""

    rank: Annotated[
        int | None,
        option(
            "Input",
            "--rank",
            parser=whole(0, MOST_ROWS),
            metavar="N",
            text="The rank that wrote the trace, or to report on.",
        ),
    ] = None
    from_format: Annotated[
        str | None,
        option("Input", "--from", metavar="FORMAT", text="Read as this format (see `formats`), not by content."),
    ] = None
    trace_processor: Annotated[
        str | None,
        option("Input", "--trace-processor", metavar="PATH", text="The trace_processor program for Perfetto files."),
    ] = None
    cache: Annotated[
        bool, option("Input", "--cache/--no-cache", text="Keep the tables of large traces for the next command.")
    ] = True

    def open(self, path: Path, output: Output, rank: int | None = None) -> Trace:
        """The trace, read; `rank` is what a file in a folder is known to be of. Raises InputError."""
        from trace_budget import api

        wanted = rank if self.rank is None else self.rank
        begin = time.monotonic()
        with working(f"Reading {path}", output):
            trace = api.open_trace(path, self.from_format, wanted, self.trace_processor, cache=self.cache)
        _tell(trace, begin, output)
        return trace

    def open_ranks(self, path: Path, output: Output) -> list[Trace]:
        """The trace to report on, and after it the other ranks of its job where the path is a folder of ranks."""
        from trace_budget import api

        begin = time.monotonic()
        with working(f"Reading {path}", output):
            traces = api.open_traces(path, self.from_format, self.rank, self.trace_processor, cache=self.cache)
        for trace in traces:
            _tell(trace, begin, output)
        return traces


def _tell(trace: Trace, begin: float, output: Output) -> None:
    if output.verbose:
        seconds = time.monotonic() - begin
        engine = f", engine {trace.engine}" if trace.engine else ""
        output.say(f"Read {trace.path}: {trace.format}, {trace.gpu_ops.height:,} GPU ops, {seconds:.2f} s{engine}")


@dataclass(frozen=True, slots=True)
class Scoping:
    """Which part of the trace counts."""

    steps: Annotated[
        str | None, option("Scope", "--steps", parser=step_slice, metavar="SLICE", text="Only these steps: 3:, 2:5, 4.")
    ] = None
    phase: Annotated[
        str | None,
        option(
            "Scope",
            "--phase",
            parser=one_of(*PHASES),
            metavar="PHASE",
            text=f"Only steps that are {', '.join(PHASES)}.",
        ),
    ] = None
    layers: Annotated[
        int | None,
        option(
            "Scope",
            "--layers",
            parser=whole(1, MOST_LAYERS),
            metavar="N",
            text="Layers of the model (default: found in the trace).",
        ),
    ] = None
    device: Annotated[
        int | None, option("Scope", "--device", parser=whole(0, MOST_ROWS), metavar="N", text="Only this device.")
    ] = None
    step_pattern: Annotated[
        str | None,
        option("Scope", "--step-pattern", parser=pattern, metavar="REGEX", text="One more form of step annotation."),
    ] = None

    def scope(self) -> Scope:
        """The scope; step patterns of the configuration count beside the one given."""
        known = (*_config.load().step_patterns, *([self.step_pattern] if self.step_pattern else []))
        patterns = "|".join(f"(?:{text})" for text in known) if len(known) > 1 else "".join(known)
        return Scope(self.steps, self.phase, self.layers, self.device, patterns or None)


@dataclass(frozen=True, slots=True)
class Tokens:
    """How a step becomes a token."""

    token_ms: Annotated[
        float | None,
        option("Token", "--token-ms", parser=positive, metavar="F", text="Unprofiled time per token (TPOT), ms."),
    ] = None
    tokens_per_step: Annotated[
        float | None,
        option(
            "Token",
            "--tokens-per-step",
            parser=positive,
            metavar="F",
            text="Tokens a sequence gets per step (default: 1).",
        ),
    ] = None
    loop: Annotated[
        str | None,
        option(
            "Token",
            "--loop",
            parser=one_of("sync", "async", "auto"),
            metavar="MODE",
            text="How the host drives the steps: sync, async, auto (default).",
        ),
    ] = None

    def token(self, usual: TokenInput | None = None) -> TokenInput:
        """The token input; what is not given comes from the configuration, then from `usual` (a candidate file)."""
        config, usual = _config.load(), usual or TokenInput()
        tokens_per_step = self.tokens_per_step or config.tokens_per_step or usual.tokens_per_step
        return TokenInput(tokens_per_step, self.token_ms or config.token_ms or usual.token_ms, self.loop or usual.loop)


@dataclass(frozen=True, slots=True)
class Judging:
    """What the verdict asks for."""

    target_pct: Annotated[
        float | None,
        option(
            "Verdict",
            "--target-pct",
            parser=percentage,
            metavar="F",
            text="Worth it from this share of a token, % (default: 1).",
        ),
    ] = None
    noise_pct: Annotated[
        float | None,
        option(
            "Verdict",
            "--noise-pct",
            parser=positive,
            metavar="F",
            text="Run-to-run noise (sigma) of your A/B, % (default: 1).",
        ),
    ] = None
    runs: Annotated[
        int | None,
        option(
            "Verdict",
            "--runs",
            parser=whole(2, MOST_ROWS),
            metavar="N",
            text="Runs per arm of that A/B (default: 5).",
        ),
    ] = None
    dilution: Annotated[
        float | None,
        option(
            "Verdict",
            "--dilution",
            parser=share,
            metavar="F",
            text="Share of the low bound expected to arrive (default: by evidence).",
        ),
    ] = None

    def policy(self, usual: Policy | None = None) -> Policy:
        """The policy; what is not given comes from the configuration, then from `usual` (a candidate file)."""
        config, usual = _config.load(), usual or Policy()
        return Policy(
            self.target_pct or config.target_pct or usual.target_pct,
            self.noise_pct or config.noise_pct or usual.noise_pct,
            self.runs or config.runs or usual.runs,
            self.dilution or config.dilution or usual.dilution,
        )
