"""Conversions and number formats of time, sizes and ratios: here and nowhere else."""

from __future__ import annotations

import math

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
US_PER_S = 1_000_000
US_PER_MS = 1_000
US_IN = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def us_from_ns(ns: float) -> float:
    """Microseconds of a duration in nanoseconds."""
    return ns / NS_PER_US


def ms_from_ns(ns: float) -> float:
    """Milliseconds of a duration in nanoseconds."""
    return ns / NS_PER_MS


def ms_from_us(us: float) -> float:
    """Milliseconds of a duration in microseconds."""
    return us / US_PER_MS


def ns_from_us(us: float) -> float:
    """Nanoseconds of a duration in microseconds (not rounded: a saving may be a fraction of a nanosecond)."""
    return us * NS_PER_US


def ns_from_ms(ms: float) -> float:
    """Nanoseconds of a duration in milliseconds."""
    return ms * NS_PER_MS


def percent(part: float, whole: float) -> float | None:
    """`part` as a percentage of `whole`; None when the whole is not a positive number."""
    if not (whole > 0 and math.isfinite(whole)):
        return None
    return 100.0 * part / whole


def us_of_bytes(size_bytes: float, bandwidth_gbps: float) -> float:
    """Microseconds to move `size_bytes` at `bandwidth_gbps` (GB/s, 1e9 bytes a second)."""
    return size_bytes / (bandwidth_gbps * 1e3)


def show_number(value: float | None, digits: int = 3, thousands: bool = True) -> str:
    """A number with `digits` decimals and thousands separators, `-` when unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:,.{digits}f}" if thousands else f"{value:.{digits}f}"


def show_count(value: float | None) -> str:
    """A count: without decimals when it is whole, with two otherwise, `-` when unknown."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def show_us(value_us: float | None) -> str:
    """Microseconds with a precision that fits their size: 3.228, 12.94, 10,743.2."""
    if value_us is None:
        return "-"
    size = abs(value_us)
    return show_number(value_us, 3 if size < 100 else 2 if size < 1_000 else 1)


def show_pct(value_pct: float | None) -> str:
    """A percentage with two decimals, three below 1 %."""
    if value_pct is None:
        return "-"
    return show_number(value_pct, 3 if abs(value_pct) < 1 else 2) + " %"


def show_bytes(size_bytes: int) -> str:
    """Bytes in the largest decimal unit below them: 498.3 KB."""
    value = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1_000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    raise AssertionError("unreachable: the last unit always returns")
