"""Numbers as people read them: counts, sizes, times and rates, each with its unit in words or signs.

Covers formatting only. Sizes are in steps of 1,024, as in the engine's own sentences. A space that must not break a
line is a no-break space.
"""

import math

NOTHING = "\u2013"
"""Shown where there is no value."""

_NBSP = "\u00a0"
_SIZES = ("bytes", "KB", "MB", "GB", "TB")
_LEVEL_BYTES_PER_MIN = 1024 * 1024
"""A slope below this is noise: allocators and caches breathe by more."""


def count(number: float) -> str:
    """Return a whole number with thousands set apart, such as `1,204`."""
    return f"{round(number):,}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as `1 page` or `1,204 pages`.

    Args:
        number: How many.
        one: The noun for one.
        many: The noun for any other number; without it, `one` with an s.
    """
    return f"{count(number)}{_NBSP}{one if number == 1 else many or one + 's'}"


def size(number_bytes: float) -> str:
    """Return a size, such as `212 MB` or `1.5 GB`."""
    value, step = float(max(0.0, number_bytes)), 0
    while round(value) >= 1024 and step < len(_SIZES) - 1:
        value, step = value / 1024, step + 1
    digits = 1 if step > 0 and value < 10 else 0
    return f"{value:,.{digits}f}{_NBSP}{_SIZES[step]}"


def rate(per_s: float) -> str:
    """Return a rate of pages, such as `12.4 pages/s`."""
    digits = 0 if per_s >= 100 else 1 if per_s >= 1 or per_s == 0 else 2
    return f"{per_s:,.{digits}f}{_NBSP}pages/s"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it, such as `4:05` or `1:04:05`."""
    whole = max(0, math.floor(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def duration(seconds: float) -> str:
    """Return a length of time in words, to two units, such as `4 min 5 s` or `3 h 12 min`."""
    whole = max(0, round(seconds))
    days, hours, minutes, rest = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next((place for place, (value, _) in enumerate(units) if value), len(units) - 1)
    shown = [f"{value}{_NBSP}{unit}" for value, unit in units[first : first + 2] if value]
    return " ".join(shown) or f"0{_NBSP}s"


def rough_duration(seconds: float) -> str:
    """Return a length of time in words, no finer than such a forecast is worth: `10 s`, `4 min`, `3 h`."""
    if seconds < 55:
        return duration(max(10, round(seconds / 10) * 10))
    return duration(round(seconds / 60) * 60 if seconds < 3600 else round(seconds / 600) * 600)


def slope(bytes_per_s: float | None) -> str:
    """Return how memory moves, in words, such as `level` or `rising by 12 MB a minute`."""
    if bytes_per_s is None:
        return "slope not known yet"
    per_min = bytes_per_s * 60
    if abs(per_min) < _LEVEL_BYTES_PER_MIN:
        return "level since warm-up"
    return f"{'rising' if per_min > 0 else 'falling'} by {size(abs(per_min))} a minute since warm-up"
