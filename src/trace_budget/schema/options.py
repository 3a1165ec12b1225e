"""What a user can ask for, as plain frozen structs: the core never sees CLI types."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the trace counts.

    `steps` is a slice text over step indexes (`3:`, `:10`, `2:5`, `4`); `phase` one of decode, prefill, mixed, verify,
    draft, other; `layers` overrides the detected layer count; `step_pattern` is an extra annotation regex.
    """

    steps: str | None = None
    phase: str | None = None
    layers: int | None = None
    device: int | None = None
    step_pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls are replaced: a name pattern (exact, else substring, `glob:` or `re:`), narrowed further.

    `layers` keeps calls in these layers, `batch_sizes` (low, high) those in steps of such batches.
    """

    kernel: str
    position: int | None = None
    grid: str | None = None
    stream: int | None = None
    device: int | None = None
    all_matches: bool = False
    layers: tuple[int, ...] | None = None
    batch_sizes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """A value known as an interval; low == high when it is known."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Change:
    """What the new kernel does to each call; exactly one of the first five is given.

    Times in us per call, `per_step_us` once per step, `extra_bytes` per call at `bandwidth_gbps` (GB/s).
    `saving_ci_us` widens the saving to a measured interval. `calls` is asserted against the trace (calls per step).
    Costs that are None were not looked into; 0 says there are none.
    """

    saving_us: float | None = None
    new_us: float | None = None
    speedup: float | None = None
    free: bool = False
    proxy_us: float | None = None
    baseline_us: float | None = None
    overhead_us: float | None = None
    per_step_us: float | None = None
    extra_bytes: float | None = None
    bandwidth_gbps: float | None = None
    hit_rate: Range | None = None
    calls: float | None = None
    saving_ci_us: Range | None = None
    clip: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class TokenInput:
    """How a step becomes a token: `token_ms` is the unprofiled TPOT; `loop` is sync, async or auto."""

    tokens_per_step: float = 1.0
    token_ms: float | None = None
    loop: str = "auto"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the verdict asks for. `dilution` None means: by evidence (0.67 for measured, 0.5 otherwise)."""

    target_pct: float = 1.0
    noise_pct: float = 1.0
    runs: int = 5
    dilution: float | None = None
