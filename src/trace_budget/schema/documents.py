"""The JSON documents as frozen structs: their fields are the contract, and figures are taken from them.

Keys are only added. A field without a value in some answers is UNSET there, and its key is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType, convert, field


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
    ci95_us: tuple[float, float] | None
    profiled_over_stated: float | None


class Durations(Struct, frozen=True):
    """How long the matched calls take."""

    mean: float
    median: float
    min: float
    max: float


class Matched(Struct, frozen=True):
    """Which calls are replaced."""

    kernel: str
    names: tuple[str, ...]
    calls_per_step: float | int
    calls: int
    layers: int | None
    layers_hit: int
    calls_per_layer: float | int | None
    steps_hit: int
    positions: tuple[int, ...]
    dur_us: Durations
    us_per_step: float
    exposed_us_per_step: float


class SavingPerCall(Ends, frozen=True):
    """What each call gets shorter; `kappa` is its time in the trace over that of the stated baseline."""

    source: str
    kappa: float | None


class SavingPerStep(Ends, frozen=True):
    """What a step gets shorter, beside simpler figures."""

    naive: float
    exposed: float
    chain: float


class Percentages(Ends, frozen=True):
    """Savings as % of a token."""

    naive: float
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
    steps: int
    dilution_usual: UsualDilution
    assumes: str


class Grade(Struct, frozen=True):
    """How one question of evidence is answered."""

    grade: str
    source: str
    text: str


class StepsBy(Struct, frozen=True):
    """How the steps were found."""

    method: str
    confidence: str
    found: int
    counted: int


class Reading(Struct, frozen=True):
    """One way to understand the trace, with what speaks for and against it, and its own figures."""

    level: str
    method: str
    confidence: str
    for_: tuple[str, ...] = field(name="for")
    against: tuple[str, ...]
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
    blockers: tuple[Blocker, ...]
    readings: tuple[Reading, ...]
    steps_by: StepsBy | UnsetType = UNSET
    throughput: Mapping[str, Any] | UnsetType | None = UNSET
    phase: str | UnsetType = UNSET
    mixture: Mapping[str, Any] | UnsetType = UNSET


class Check(Struct, frozen=True):
    """`trace-budget/check/1`, the answer of `check`."""

    trust: str
    traces: tuple[Mapping[str, Any], ...]
    findings: tuple[Mapping[str, Any], ...]


class Realised(Struct, frozen=True):
    """What the step gained between two recordings."""

    measure: str
    step_us: Mapping[str, float]
    steps: Mapping[str, int]
    saving_us: float
    pct: float
    drift_us: float | None
    corrected_us: float | None
    corrected_pct: float | None
    ci95_us: tuple[float, float] | None
    resolved: bool | None


DOCUMENTS: dict[str, type[Struct]] = {"trace-budget/verdict/1": Verdict, "trace-budget/check/1": Check}


def verdict_of(document: Mapping[str, object]) -> Verdict:
    """The typed document of `project`; msgspec.ValidationError for what breaks the contract."""
    return convert(document, Verdict)


def check_of(document: Mapping[str, object]) -> Check:
    """The typed document of `check`."""
    return convert(document, Check)


def realised_of(document: Mapping[str, object]) -> Realised:
    """What a document of `compare` says was realised."""
    return convert(document["realised"], Realised)
