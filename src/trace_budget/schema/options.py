"""What a user can ask for, as plain frozen structs: the core never sees CLI types."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from trace_budget.errors import UsageError

LOOPS = ("sync", "async", "auto")
TRUST = ("good", "usable", "broken")  # what `check` says of a trace, best first
SMALLEST, LARGEST = 1e-12, 1e15  # beyond lies no quantity of a trace, and products would leave the numbers there are
MOST_LAYERS = 100_000


def _within(name: str, value: object, least: float = SMALLEST, most: float = LARGEST) -> None:
    """Raise UsageError for what is no number, not finite, or outside of the bounds; None was not given."""
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most
    ):
        raise UsageError("not a number that can be", where=name, expected=f"{least:g} to {most:g}", found=repr(value))


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

    def __post_init__(self) -> None:
        """Raise UsageError for a number of layers that cannot be."""
        _within("layers", self.layers, 1, MOST_LAYERS)


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

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be, and for more than one way to state the saving."""
        for name in ("new_us", "speedup", "proxy_us", "baseline_us", "bandwidth_gbps", "calls"):
            _within(name, getattr(self, name))
        for name in ("saving_us", "overhead_us", "per_step_us", "extra_bytes"):
            _within(name, getattr(self, name), 0)
        for name, least, most in (("hit_rate", 0, 1), ("saving_ci_us", -LARGEST, LARGEST)):
            bounds = getattr(self, name)
            if bounds is not None:
                _within(f"{name}, low", bounds.low, least, most)
                _within(f"{name}, high", bounds.high, bounds.low, most)
        given = [name for name in ("saving_us", "new_us", "speedup", "proxy_us") if getattr(self, name) is not None]
        if len(given) + self.free > 1:
            raise UsageError("a saving is stated once", found=" and ".join([*given, *(["free"] if self.free else [])]))


@dataclass(frozen=True, slots=True)
class TokenInput:
    """How a step becomes a token: `token_ms` is the unprofiled TPOT; `loop` is sync, async or auto."""

    tokens_per_step: float = 1.0
    token_ms: float | None = None
    loop: str = "auto"

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be, and for a loop of another kind."""
        _within("tokens_per_step", self.tokens_per_step)
        _within("token_ms", self.token_ms)
        if self.loop not in LOOPS:
            raise UsageError("no such loop", where="loop", expected=", ".join(LOOPS), found=repr(self.loop))


@dataclass(frozen=True, slots=True)
class Policy:
    """What the verdict asks for. `dilution` None means: by evidence (0.67 for measured, 0.5 otherwise)."""

    target_pct: float = 1.0
    noise_pct: float = 1.0
    runs: int = 5
    dilution: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for numbers that cannot be."""
        _within("target_pct", self.target_pct, most=100)
        _within("noise_pct", self.noise_pct)
        _within("runs", self.runs, 2)
        _within("dilution", self.dilution, most=1)
