"""The candidate file: many proposed replacements in one TOML, validated with the line of each fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec

from trace_budget.errors import UsageError
from trace_budget.schema.options import Change, Policy, Range, Selection, TokenInput
from trace_budget.schema.quantities import LARGEST, PHASES, SMALLEST
from trace_budget.units import ns_from_us

SCHEMA = "trace-budget/candidates/1"
Fault = Callable[[str, str, str], UsageError]
MODES = ("exact", "glob", "regex", "contains")
LONGEST_SEQUENCE = 64

# each bound refuses NaN as well; the outer ones keep products of them finite
_Positive = Annotated[float, msgspec.Meta(ge=SMALLEST, le=LARGEST)]
_NotNegative = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
_Bound = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Percentage = Annotated[float, msgspec.Meta(ge=SMALLEST, le=100)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Match(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    kernel: str
    mode: str = "contains"
    grid: str = "any"
    stream: int | str = "any"
    position: _Count | None = None
    all_matches: bool = False


class _Replace(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    sequence: Annotated[list[str], msgspec.Meta(max_length=LONGEST_SEQUENCE)]
    mode: str = "contains"
    max_gap_us: _NotNegative | None = None
    same_stream: bool = True


class _ZeroCost(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    proxy_us: _Positive


class _HitRate(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    low: _Share
    high: _Share


class _Calls(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    expect_per_step: _Positive


class _ApplyTo(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    steps: str | None = None
    layers: str | Annotated[list[_Count], msgspec.Meta(min_length=1)] = "all"
    ranks: str = "all"
    m_bucket: tuple[_Count, _Count] | None = None


class _Bench(msgspec.Struct, frozen=True):
    method: str = ""
    cold_l2: bool | None = None
    n: int | None = None
    shape: str = ""
    device: str = ""


class _Row(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    id: str
    match: _Match | None = None
    replace: _Replace | None = None
    saving_us: _Positive | None = None
    new_us: _Positive | None = None
    speedup: _Positive | None = None
    zero_cost: _ZeroCost | None = None
    free: bool = False
    baseline_us: _Positive | None = None
    saving_ci_us: tuple[_Bound, _Bound] | None = None
    bench: _Bench | None = None
    hit_rate: _Share | _HitRate | None = None
    calls: _Calls | None = None
    overhead_us: _NotNegative | None = None
    extra_bytes: _NotNegative | None = None
    bandwidth_gbps: _Positive | None = None
    per_step_us: _NotNegative | None = None
    apply_to: _ApplyTo | None = None
    group: str | None = None
    evidence: str | None = None
    clip: bool = False


class _Defaults(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    min_pct: _Percentage = 1.0
    noise_pct: _Percentage = 1.0
    rho: Annotated[float, msgspec.Meta(ge=SMALLEST, le=1)] | None = None
    runs: Annotated[int, msgspec.Meta(ge=2, le=10**9)] = 5
    loop: Literal["auto", "sync", "async"] = "auto"
    tokens_per_step: _Positive = 1.0
    token_ms: _Positive | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    schema: str
    candidate: list[_Row]
    defaults: _Defaults = msgspec.field(default_factory=_Defaults)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Consecutive kernels that one launch replaces: `patterns` as in --kernel; `max_gap_ns` ends a sequence."""

    patterns: tuple[str, ...]
    new_us: float
    max_gap_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One proposed replacement: calls of a kernel (`selection`) or a fusion (`sequence`), and what it does to them.

    Candidates of one `group` exclude each other. `cold_l2` False: measured in a warm loop. `phase`: steps it is for.
    """

    id: str
    change: Change
    selection: Selection | None = None
    sequence: Sequence | None = None
    group: str | None = None
    cold_l2: bool | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """All candidates of a file with the file's defaults."""

    candidates: tuple[Candidate, ...]
    policy: Policy
    token: TokenInput


def read_candidates(path: Path) -> CandidateSet:
    """Read and validate a candidate file. Raises UsageError naming file, line, key and what was expected."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("the candidate file cannot be read", where=str(path), found=str(error)) from error
    return parse_candidates(text, str(path))


def parse_candidates(text: str, where: str = "candidates") -> CandidateSet:
    """Validate the text of a candidate file."""
    try:
        file = msgspec.toml.decode(text.encode(), type=_File)
    except msgspec.ValidationError as error:
        raise _fault(text, where, str(error)) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UsageError("not TOML", where=where, found=str(error)) from error
    if file.schema != SCHEMA:
        raise UsageError(
            "unknown schema", where=f"{where}:{_line(text, None, 'schema')}", expected=SCHEMA, found=file.schema
        )
    rows = [_candidate(row, index, text, where) for index, row in enumerate(file.candidate)]
    doubled = sorted({row.id for row in rows if sum(other.id == row.id for other in rows) > 1})
    if doubled or not rows:
        raise UsageError(
            "each candidate needs an id of its own", where=where, found=", ".join(doubled) or "no candidate"
        )
    d = file.defaults
    policy = Policy(d.min_pct, d.noise_pct, d.runs, d.rho)
    return CandidateSet(tuple(rows), policy, TokenInput(d.tokens_per_step, d.token_ms, d.loop))


def _candidate(row: _Row, index: int, text: str, where: str) -> Candidate:
    """One row as a Candidate, with every rule that spans several keys checked."""

    def fault(key: str, message: str, expected: str) -> UsageError:
        return UsageError(
            message, where=f"{where}:{_line(text, index, key)}", expected=expected, found=f"candidate {row.id!r}"
        )

    phase = row.apply_to.steps if row.apply_to else None
    if (row.match is None) == (row.replace is None):
        raise fault(
            "id", "a candidate takes the calls of a kernel or replaces a sequence", "match or replace, one of them"
        )
    ways = [row.saving_us, row.new_us, row.speedup, row.zero_cost, row.free or None]
    if sum(way is not None for way in ways) != 1:
        raise fault("id", "a candidate states its saving once", "one of saving_us, new_us, speedup, zero_cost, free")
    if row.replace is not None and row.new_us is None:
        raise fault("replace", "a replaced sequence needs the time of the new launch", "new_us")
    if phase is not None and phase not in PHASES:
        raise fault("steps", "no such phase", ", ".join(PHASES))
    if row.saving_ci_us and row.saving_ci_us[0] > row.saving_ci_us[1]:
        raise fault("saving_ci_us", "an interval that ends before it begins", "low, then high")
    if row.apply_to and row.apply_to.m_bucket and row.apply_to.m_bucket[0] > row.apply_to.m_bucket[1]:
        raise fault("m_bucket", "an interval that ends before it begins", "low, then high")
    if row.extra_bytes and row.bandwidth_gbps is None:
        raise fault("extra_bytes", "extra bytes take time only at a bandwidth", "bandwidth_gbps")
    selection = _selection(row.match, row.apply_to or _ApplyTo(), fault) if row.match else None
    sequence = _sequence(row, fault) if row.replace else None
    cold = row.bench.cold_l2 if row.bench else None
    if row.apply_to and row.apply_to.ranks != "all":
        raise fault("apply_to", "one rank alone cannot be projected", 'ranks = "all"')
    return Candidate(row.id, _change(row, fault), selection, sequence, row.group, cold, phase)


def _change(row: _Row, fault: Fault) -> Change:
    hit = Range(row.hit_rate, row.hit_rate) if isinstance(row.hit_rate, float | int) else None
    if isinstance(row.hit_rate, _HitRate):
        hit = Range(row.hit_rate.low, row.hit_rate.high)
    if hit is not None and not 0 <= hit.low <= hit.high <= 1:
        raise fault("hit_rate", "not a hit rate", "0 <= low <= high <= 1")
    return Change(
        saving_us=row.saving_us, new_us=row.new_us, speedup=row.speedup, free=row.free,
        proxy_us=row.zero_cost.proxy_us if row.zero_cost else None, baseline_us=row.baseline_us,
        overhead_us=row.overhead_us, per_step_us=row.per_step_us, extra_bytes=row.extra_bytes,
        bandwidth_gbps=row.bandwidth_gbps, hit_rate=hit, calls=row.calls.expect_per_step if row.calls else None,
        clip=row.clip, saving_ci_us=Range(*row.saving_ci_us) if row.saving_ci_us else None,
    )  # fmt: skip


def _selection(match: _Match, apply_to: _ApplyTo, fault: Fault) -> Selection:
    grid = None if match.grid == "any" else match.grid
    stream = None if match.stream == "any" else match.stream
    if isinstance(stream, str):
        raise fault("match", 'stream is a number or "any"', "a number")
    if isinstance(apply_to.layers, str) and apply_to.layers != "all":
        raise fault("apply_to", 'layers is a list of numbers or "all"', "a list")
    layers = None if isinstance(apply_to.layers, str) else tuple(apply_to.layers)
    pattern = _pattern(match.kernel, match.mode, fault)
    return Selection(pattern, match.position, grid, stream, None, match.all_matches, layers, apply_to.m_bucket)


def _sequence(row: _Row, fault: Fault) -> Sequence:
    assert row.replace is not None and row.new_us is not None  # noqa: S101, PT018  (both checked by the caller)
    if not row.replace.sequence:
        raise fault("replace", "an empty sequence", "at least one kernel")
    if not row.replace.same_stream:
        raise fault("same_stream", "one launch replaces kernels of one stream", "same_stream = true, or no such key")
    patterns = tuple(_pattern(text, row.replace.mode, fault) for text in row.replace.sequence)
    gap = row.replace.max_gap_us
    return Sequence(patterns, row.new_us, None if gap is None else ns_from_us(gap))


def _pattern(text: str, mode: str, fault: Fault) -> str:
    """The pattern in the words of --kernel; a bare `*` in contains mode is taken for a glob."""
    if mode not in MODES:
        raise fault("mode", "unknown match mode", ", ".join(MODES))
    if mode == "glob" or (mode == "contains" and "*" in text):
        return f"glob:{text}"
    return f"re:{text}" if mode == "regex" else f"re:^{re.escape(text)}$" if mode == "exact" else text


def _fault(text: str, where: str, message: str) -> UsageError:
    """A validation error with the line of the key it is about."""
    place = re.search(r"`\$(?:\.candidate\[(\d+)\])?((?:\.\w+)*)", message)
    index = int(place[1]) if place and place[1] else None
    path = place[2].lstrip(".").split(".") if place and place[2] else []
    named = re.search(r"field `(\w+)`", message)
    key = named[1] if named and "unknown" in message else path[0] if path else ""
    line = _line(text, index, key)
    found = (
        message.split(" - at", maxsplit=1)[0]
        .replace(f">= {SMALLEST:g}", "above 0")
        .replace("1000000000000000.0", "1e15")
    )
    if "field" not in found:
        return UsageError(f"{'.'.join(path)}: {found}", where=f"{where}:{line}")
    return UsageError(found, where=f"{where}:{line}", expected=_keys(index, path))


def _keys(index: int | None, path: list[str]) -> str:
    """Which keys stand where a fault is: those of the table that holds it."""
    table: type[msgspec.Struct] = _File if index is None else _Row
    for key in path:
        inner = {field.name: _struct_in(field.type) for field in msgspec.structs.fields(table)}.get(key)
        table = inner or table
    return f"keys: {', '.join(field.name for field in msgspec.structs.fields(table))}"


def _struct_in(kind: object) -> type[msgspec.Struct] | None:
    """The table a key may hold, if it holds one."""
    kinds = get_args(kind) or (kind,)
    return next((one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)


def _line(text: str, index: int | None, key: str) -> int:
    """Line (from 1) of a key of the index-th candidate, or of the candidate's head when the key is not written."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines, 1) if line.strip().startswith("[[candidate]]")]
    begin = heads[index] if index is not None and index < len(heads) else 1
    end = heads[index + 1] if index is not None and index + 1 < len(heads) else len(lines) + 1
    for number in range(begin, end):
        if key and re.search(rf"(^|[\s{{,.]){re.escape(key)}\s*=", lines[number - 1]):
            return number
    return begin
