"""What a user can ask for: one flat frozen struct per group, with what a command line says of each field.

A new option is one field here. A field whose option is `reserved` waits for the question that takes it into account.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from trace_budget.errors import UsageError
from trace_budget.schema.option import option
from trace_budget.schema.quantities import LARGEST, LOOPS, MOST_LAYERS, PACES, PHASES, within
from trace_budget.schema.quantities import Range as Range
from trace_budget.schema.values import (
    MOST_ROWS,
    hit_rate,
    not_negative,
    one_of,
    pattern,
    percentage,
    positive,
    share,
    step_slice,
    whole,
)
from trace_budget.units import US_IN

DEVICE = option("Scope", "--device", parse=whole(0, MOST_ROWS), metavar="N", text="Only this device.")
OVERWRITE = option("Output", "--force", text="Overwrite files that exist.")
SAVINGS = ("--saving-us", "--new-us", "--speedup", "--free", "--proxy-us")
KERNEL = "Exact name, else a part of it (case counts), or glob:… or re:…"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user may ask of a reader: the rank to assume, and the trace_processor binary for Perfetto files.

    `cache` lets large traces be kept as tables in the user's cache folder, and taken from there. `from_format` is the
    name of a format, for a file that is not to be recognised by its content.
    """

    rank: Annotated[
        int | None,
        option("Input", "--rank", parse=whole(0, MOST_ROWS), metavar="N",
               text="The rank that wrote the trace, or to report on."),
    ] = None  # fmt: skip
    trace_processor: Annotated[
        str | None,
        option("Input", "--trace-processor", metavar="PATH", text="The trace_processor program for Perfetto files."),
    ] = None
    cache: Annotated[
        bool,
        option("Input", "--cache/--no-cache", text="Keep the tables of large traces for the next command.",
               default=True),
    ] = False  # fmt: skip
    from_format: Annotated[
        str | None,
        option("Input", "--from", metavar="FORMAT", text="Read as this format (see `formats`), not by content."),
    ] = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the trace counts.

    `steps` is a slice text over step indexes (`3:`, `:10`, `2:5`, `4`); `phase` one of decode, prefill, mixed, verify,
    draft, other; `layers` overrides the detected layer count; `step_pattern` is an extra annotation regex. `reading`
    picks one of several readings of the trace, `process` the ops of one process, `passes_per_step` says how often the
    model runs in a step, and `model` is the model's config.json or the folder that holds it.
    """

    steps: Annotated[
        str | None, option("Scope", "--steps", parse=step_slice, metavar="SLICE", text="Only these steps: 3:, 2:5, 4.")
    ] = None
    phase: Annotated[
        str | None,
        option("Scope", "--phase", parse=one_of(*PHASES), metavar="PHASE",
               text=f"Only steps that are {', '.join(PHASES)}."),
    ] = None  # fmt: skip
    layers: Annotated[
        int | None,
        option("Scope", "--layers", parse=whole(1, MOST_LAYERS), metavar="N",
               text="Layers of the model (default: found in the trace)."),
    ] = None  # fmt: skip
    device: Annotated[int | None, DEVICE] = None
    step_pattern: Annotated[
        str | None,
        option("Scope", "--step-pattern", parse=pattern, metavar="REGEX", text="One more form of step annotation."),
    ] = None
    reading: Annotated[
        int | None,
        option("Scope", "--reading", parse=whole(1, MOST_ROWS), metavar="N",
               text="Which of the readings of this trace counts."),
    ] = None  # fmt: skip
    process: Annotated[
        int | None,
        option("Scope", "--process", parse=whole(0), metavar="PID",
               text="Only ops that this process launched."),
    ] = None  # fmt: skip
    passes_per_step: Annotated[
        int | None,
        option("Scope", "--passes-per-step", parse=whole(1, MOST_ROWS), metavar="N",
               text="How often the model runs in a step."),
    ] = None  # fmt: skip
    model: Annotated[
        Path | None,
        option("Scope", "--model", parse=Path, metavar="PATH",
               text="The model's config.json, or its folder: confirms and names the layers."),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be."""
        within("layers", self.layers, 1, MOST_LAYERS)
        within("reading", self.reading, 1)
        within("process", self.process, 0)
        within("passes_per_step", self.passes_per_step, 1)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls are replaced: a name pattern (exact, else substring, `glob:` or `re:`), narrowed further.

    `layers` keeps calls in these layers, `batch_sizes` (low, high) those in steps of such batches. `replace` instead of
    `kernel` names consecutive kernels, separated by commas, that one launch replaces.
    """

    kernel: Annotated[str, option("Select", "--kernel", "-k", metavar="NAME", text=KERNEL)] = ""
    position: Annotated[
        int | None,
        option("Select", "--position", parse=whole(0, MOST_ROWS), metavar="N",
               text="Only the call site at this place in the layer."),
    ] = None  # fmt: skip
    grid: Annotated[
        str | None, option("Select", "--grid", metavar="X,Y,Z", text="Only calls with this grid, as recorded.")
    ] = None
    stream: Annotated[
        int | None, option("Select", "--stream", parse=whole(), metavar="N", text="Only calls on this stream.")
    ] = None
    device: Annotated[int | None, DEVICE] = None
    all_matches: Annotated[
        bool, option("Select", "--all-matches", text="Take every kernel that matches, not exactly one.")
    ] = False
    layers: tuple[int, ...] | None = None
    batch_sizes: tuple[int, int] | None = None
    replace: Annotated[
        str | None,
        option("Select", "--replace", metavar="A,B,C",
               text="Consecutive kernels that one launch of --new-us replaces (each as for --kernel)."),
    ] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """What the new kernel does to each call; exactly one of the first five is given.

    Times in us per call, `per_step_us` once per step, `extra_bytes` per call at `bandwidth_gbps` (GB/s).
    `saving_ci_us` widens the saving to a measured interval. `calls` is asserted against the trace (calls per step).
    Costs that are None were not looked into; 0 says there are none.
    """

    saving_us: Annotated[
        float | None, option("Change", "--saving-us", "-s", parse=positive, metavar="F", text="Saved per call, us.")
    ] = None
    new_us: Annotated[
        float | None, option("Change", "--new-us", parse=positive, metavar="F", text="Time of the new kernel, us.")
    ] = None
    speedup: Annotated[
        float | None, option("Change", "--speedup", parse=positive, metavar="F", text="Old time / new time.")
    ] = None
    free: Annotated[bool, option("Change", "--free", text="The ceiling: as if the kernel cost nothing.")] = False
    proxy_us: Annotated[
        float | None,
        option("Change", "--proxy-us", parse=positive, metavar="F",
               text="Time of a stand-in no real kernel can beat, us."),
    ] = None  # fmt: skip
    baseline_us: Annotated[
        float | None,
        option("Change", "--baseline-us", parse=positive, metavar="F",
               text="The OLD kernel in your benchmark, us (control)."),
    ] = None  # fmt: skip
    overhead_us: Annotated[
        float | None,
        option("Change", "--overhead-us", parse=not_negative, metavar="F",
               text="Added cost per call, us; 0: measured, none."),
    ] = None  # fmt: skip
    per_step_us: Annotated[
        float | None,
        option("Change", "--per-step-us", parse=not_negative, metavar="F",
               text="Added cost per step, us; 0: measured, none."),
    ] = None  # fmt: skip
    extra_bytes: Annotated[
        float | None,
        option("Change", "--extra-bytes", parse=not_negative, metavar="F",
               text="Added memory traffic per call; 0: none."),
    ] = None  # fmt: skip
    bandwidth_gbps: Annotated[
        float | None,
        option("Change", "--bandwidth-gbps", parse=positive, metavar="F", text="Achieved bandwidth for it, GB/s."),
    ] = None
    hit_rate: Annotated[
        Range | None,
        option("Change", "--hit-rate", parse=hit_rate, metavar="F|LOW:HIGH",
               text="Share of requests that run the kernel."),
    ] = None  # fmt: skip
    calls: Annotated[
        float | None,
        option("Change", "--calls", parse=positive, metavar="N", text="Calls per step; must agree with the trace."),
    ] = None
    saving_ci_us: Range | None = None
    clip: Annotated[bool, option("Change", "--clip", text="Cut a saving larger than the call to the call.")] = False
    force: Annotated[
        bool, option("Output", "--force", text="Go on when the trace contradicts --baseline-us or --calls.")
    ] = False

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be, and for more than one way to state the saving."""
        for name in ("new_us", "speedup", "proxy_us", "baseline_us", "bandwidth_gbps", "calls"):
            within(name, getattr(self, name))
        for name in ("saving_us", "overhead_us", "per_step_us", "extra_bytes"):
            within(name, getattr(self, name), 0)
        for name, least, most in (("hit_rate", 0, 1), ("saving_ci_us", -LARGEST, LARGEST)):
            bounds = getattr(self, name)
            if bounds is not None:
                within(f"{name}, low", bounds.low, least, most)
                within(f"{name}, high", bounds.high, bounds.low, most)
        if len(self.savings()) > 1:
            found = " and ".join(self.savings())
            raise UsageError("exactly one saving is needed", expected=f"one of {', '.join(SAVINGS)}", found=found)

    def savings(self) -> tuple[str, ...]:
        """The options that state a saving here."""
        values = (self.saving_us, self.new_us, self.speedup, self.free or None, self.proxy_us)
        return tuple(name for name, value in zip(SAVINGS, values, strict=True) if value is not None)


@dataclass(frozen=True, slots=True)
class Bench:
    """Times of the old and the new kernel from a benchmark file, instead of typed numbers."""

    bench: Annotated[
        Path | None,
        option("Change", "--bench", parse=Path, metavar="FILE",
               text="Times from kernel stats, google-benchmark, pytest-benchmark, ncu, or a list of names and times."),
    ] = None  # fmt: skip
    bench_old: Annotated[
        str | None, option("Change", "--bench-old", metavar="NAME", text="The old kernel in that file (control).")
    ] = None
    bench_new: Annotated[
        str | None, option("Change", "--bench-new", metavar="NAME", text="The new kernel in that file.")
    ] = None
    unit: Annotated[
        str | None,
        option("Change", "--unit", parse=one_of(*US_IN), metavar="|".join(US_IN), text="Its unit, if it says none."),
    ] = None


@dataclass(frozen=True, slots=True)
class TokenInput:
    """How a step becomes a token: `token_ms` is the unprofiled TPOT; `loop` is sync, async or auto.

    `pace` says whether the device's work or the served interval between steps is the time of a step.
    """

    tokens_per_step: Annotated[
        float,
        option("Token", "--tokens-per-step", parse=positive, metavar="F", in_config=True,
               text="Tokens a sequence gets per step (default: 1)."),
    ] = 1.0  # fmt: skip
    token_ms: Annotated[
        float | None,
        option("Token", "--token-ms", parse=positive, metavar="F", in_config=True,
               text="Unprofiled time per token (TPOT), ms."),
    ] = None  # fmt: skip
    loop: Annotated[
        str,
        option("Token", "--loop", parse=one_of(*LOOPS), metavar="MODE",
               text="How the host drives the steps: sync, async, auto (default)."),
    ] = "auto"  # fmt: skip
    pace: Annotated[
        str | None,
        option("Token", "--pace", parse=one_of(*PACES), metavar="|".join(PACES),
               text="The time of a step: that of the device, or as served."),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be, and for a loop or a pace of another kind."""
        within("tokens_per_step", self.tokens_per_step)
        within("token_ms", self.token_ms)
        if self.loop not in LOOPS:
            raise UsageError("no such loop", where="loop", expected=", ".join(LOOPS), found=repr(self.loop))
        if self.pace not in (None, *PACES):
            raise UsageError("no such pace", where="pace", expected=", ".join(PACES), found=repr(self.pace))


@dataclass(frozen=True, slots=True)
class Policy:
    """What the verdict asks for. `dilution` None means: the median of public integrations."""

    target_pct: Annotated[
        float,
        option("Verdict", "--target-pct", parse=percentage, metavar="F", in_config=True,
               text="Worth it from this share of a token, % (default: 1)."),
    ] = 1.0  # fmt: skip
    noise_pct: Annotated[
        float,
        option("Verdict", "--noise-pct", parse=positive, metavar="F", in_config=True,
               text="Run-to-run noise (sigma) of your A/B, % (default: 1)."),
    ] = 1.0  # fmt: skip
    runs: Annotated[
        int,
        option("Verdict", "--runs", parse=whole(2, MOST_ROWS), metavar="N", in_config=True,
               text="Runs per arm of that A/B (default: 5)."),
    ] = 5  # fmt: skip
    dilution: Annotated[
        float | None,
        option("Verdict", "--dilution", parse=share, metavar="F", in_config=True,
               text="Share of the low bound expected to arrive (default: by evidence)."),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be."""
        within("target_pct", self.target_pct, most=100)
        within("noise_pct", self.noise_pct)
        within("runs", self.runs, 2)
        within("dilution", self.dilution, most=1)
