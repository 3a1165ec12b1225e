"""The answers about a replacement: `project` and `rank`, and the inverse questions `threshold` and `estimate`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, field

from trace_budget.schema.documents import Rows
from trace_budget.schema.documents.structure import Rate, StepsBy


class Ends(Struct, frozen=True):
    """One quantity as a range."""

    low: float
    expected: float
    high: float


class Token(Struct, frozen=True):
    """The time of a step and of a token."""

    step_us: float
    steps: int
    busy_us: float
    cpu_us: float | None
    tokens_per_step: float
    token_us: float
    source: str
    measure: str
    mad_us: float
    ci95_us: list[float] | None
    profiled_over_stated: float | None


class Durations(Struct, frozen=True):
    """How long the matched calls take."""

    mean: float
    median: float
    min: float
    max: float


class Matched(Struct, frozen=True, kw_only=True):
    """Which calls are replaced."""

    kernel: str
    names: list[str]
    calls_per_step: float | int
    calls: int
    layers: int | None
    layers_hit: int | None
    layer_types: str | UnsetType | None = UNSET
    calls_per_layer: float | int | None
    steps_hit: int
    positions: list[int]
    dur_us: Durations
    us_per_step: float
    exposed_us_per_step: float


class SavingPerCall(Ends, frozen=True):
    """What each call gets shorter; `kappa` is its time in the trace over that of the stated baseline."""

    source: str
    kappa: float | None


class SavingPerStep(Struct, frozen=True):
    """What a step gets shorter, beside simpler figures."""

    naive: float
    exposed: float
    chain: float
    low: float
    expected: float
    high: float


class Percentages(Struct, frozen=True):
    """Savings as % of a token."""

    naive: float
    low: float
    expected: float
    high: float
    ceiling: float


class HitRate(Struct, frozen=True):
    """The share of requests that run the new kernel."""

    low: float
    high: float
    source: str


class Required(Struct, frozen=True):
    """What each call must save to reach the target."""

    target_pct: float
    us_per_call: float | None
    us_per_call_with_dilution: float | None
    ceiling_us_per_call: float


class Detect(Struct, frozen=True):
    """What an A/B could see."""

    mde_pct: float
    runs_needed: int | None
    pairs_needed: int | None


class UsualDilution(Ends, frozen=True):
    """Which share of a measured saving usually arrives."""

    source: str


class Model(Struct, frozen=True):
    """What the range rests on."""

    gap_max_us: float
    dilution: float
    dilution_usual: UsualDilution
    steps: int
    assumes: str


class Grade(Struct, frozen=True):
    """How one question of evidence is answered."""

    grade: str
    source: str
    text: str


class Reading(Struct, frozen=True):
    """One way to understand the trace, with what speaks for and against it, and its own figures."""

    level: str
    method: str
    confidence: str
    for_: list[str] = field(name="for")
    against: list[str]
    token_us: float | None
    calls_per_step: float | int | None
    layers: int | None
    pct: Ends | None
    verdict: str | None
    settle: str | None


class Blocker(Struct, frozen=True):
    """What keeps a verdict from GO, and the option that would settle it."""

    code: str
    question: str | None
    text: str
    option: str | None


class Throughput(Struct, frozen=True):
    """Tokens in a second as traced, and what the saving adds."""

    tokens_per_s_per_sequence: float
    tokens_per_s_per_device: float | None
    batch_size: int | None
    devices: int
    gain_pct: Ends


class Phase(Struct, frozen=True):
    """One phase of a weighted workload."""

    phase: str
    share: float
    step_us: float
    saving_us_per_step: float
    pct_of_step: float


class Mixture(Struct, frozen=True):
    """A workload of several phases, weighted."""

    step_us: float
    pct: Percentages
    rows: list[Phase]


class Verdict(Struct, frozen=True):
    """`trace-budget/verdict/1`, the answer of `project`."""

    token: Token
    matched: Matched
    saving_us_per_call: SavingPerCall
    saving_us_per_step: SavingPerStep
    saving_us_per_token: Ends
    pct: Percentages
    hit_rate: HitRate
    required: Required
    headroom_us: float | None
    pace: str
    detect: Detect
    model: Model
    evidence: Mapping[str, Grade]
    verdict: str
    reason: str
    why: str
    blockers: list[Blocker]
    readings: list[Reading]
    throughput: Throughput | UnsetType | None = UNSET
    steps_by: StepsBy | UnsetType = UNSET
    phase: str | UnsetType = UNSET
    mixture: Mixture | UnsetType = UNSET


class Joint(Struct, frozen=True):
    """What all candidates save together."""

    saving_us_per_token: Ends
    pct: Ends
    sum_of_alone_pct: float


class Rank(Struct, frozen=True):
    """`trace-budget/rank/1`, the answer of `rank`; a row is the verdict of a candidate behind `id` and `group`."""

    token: Token
    joint: Joint
    verdicts: Mapping[str, int]
    steps_by: StepsBy
    rows: Rows
    throughput: Throughput | None = None


class Threshold(Struct, frozen=True):
    """`trace-budget/threshold/1`, the answer of `threshold`."""

    target_pct: float
    token_us: float
    target_us_per_step: float
    floor_us: float | None
    rows: Rows
    steps_by: StepsBy
    throughput: Rate | None = None


class Estimate(Struct, frozen=True):
    """`trace-budget/estimate/1`, the answer of `estimate`."""

    saving_us_per_call: float
    calls_per_step: float
    hit_rate: HitRate
    tokens_per_step: float
    token_us: float
    saving_us_per_step: float
    saving_us_per_token: float
    saving_us_per_token_low: float
    pct: float
    pct_low: float
    target_pct: float
    required_us_per_call: float
