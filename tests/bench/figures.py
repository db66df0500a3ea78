"""Figures from many measurements: the middle, the spread, the ends, and the slope of a line with its error."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What several measurements of one thing gave."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A straight line through points, by least squares."""

    per_unit: float
    error: float
    """Standard error of `per_unit`: one that is not several times as large as this is none."""
    points: int


def spread(values: Sequence[float]) -> Spread:
    """Return middle and ends of at least one value."""
    return Spread(median=statistics.median(values), least=min(values), most=max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values (0 to 1) does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 of none."""
    return math.fsum(values) / len(values) if values else 0.0


def slope(points: Sequence[tuple[float, float]]) -> Slope | None:
    """Return the slope of points (x, y), or None where fewer than three different x are given."""
    count = len(points)
    if len({x for x, _ in points}) < 3:
        return None
    mean_x, mean_y = mean([x for x, _ in points]), mean([y for _, y in points])
    width = math.fsum((x - mean_x) ** 2 for x, _ in points)
    per_unit = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / width
    rest = math.fsum((y - mean_y - per_unit * (x - mean_x)) ** 2 for x, y in points)
    return Slope(per_unit=per_unit, error=math.sqrt(rest / (count - 2) / width), points=count)
