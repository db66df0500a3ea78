"""The four charts as data: their curves, limits, axes and words.

Covers what each chart shows; drawing it is the business of `plot`, arranging it that of `chart`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt

from engine import FlowLimits, MetricSample
from gui.models.figures import count, counted, rate, size, slope
from gui.views.charts.axes import MIB, Axis, count_axis, nice_ceiling, size_axis
from gui.views.charts.layers import LimitLine

_HEADROOM = 1.12
"""Room above the highest limit, for its words."""
_FAR_BUDGET = 4
"""A budget more than this many times the memory in use would press the curves to the ground; it is then only named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the charts know beside the samples."""

    limits: FlowLimits
    budget_bytes: int
    slope_bytes_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One curve of a chart."""

    title: str
    read: Callable[[MetricSample], float]
    words: Callable[[float], str]
    """One of its values, for people."""
    tone: str
    """Name of the theme's colour."""
    style: Qt.PenStyle = Qt.PenStyle.SolidLine
    filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One chart."""

    title: str
    unit: str
    """What the vertical axis counts in."""
    explanation: str
    """What it shows and what to look for."""
    axis: Callable[[], Axis]
    curves: tuple[Curve, ...]
    lines: Callable[[Facts, float], tuple[LimitLine, ...]]
    """Its limits, given the upper end of the axis."""
    top: Callable[[Facts, float], float]
    """The upper end of the axis, given the greatest value shown."""
    value: Callable[[MetricSample, Facts], str]
    """The newest value, large."""
    caption: Callable[[MetricSample, Facts], str]
    """What to know about it."""


def _pages(value: float) -> str:
    return counted(round(value), "page")


def _queue_lines(facts: Facts, _top: float) -> tuple[LimitLine, ...]:
    limits = facts.limits
    return (
        LimitLine(
            value=limits.max_queue, words=f"full {count(limits.max_queue)}", style=Qt.PenStyle.SolidLine, tone="muted"
        ),
        LimitLine(value=limits.hi, words=f"high mark {count(limits.hi)}", style=Qt.PenStyle.DashLine),
        LimitLine(value=limits.lo, words=f"low mark {count(limits.lo)}", style=Qt.PenStyle.DotLine),
    )


def _permit_lines(facts: Facts, _top: float) -> tuple[LimitLine, ...]:
    permits = facts.limits.permits
    return (LimitLine(value=permits, words=f"cap {count(permits)}", style=Qt.PenStyle.DashLine),)


def _memory_top(facts: Facts, greatest: float) -> float:
    if facts.budget_bytes <= greatest * _FAR_BUDGET:
        return max(facts.budget_bytes, greatest) * _HEADROOM
    return nice_ceiling(greatest * 1.3 / MIB) * MIB


def _budget_lines(facts: Facts, top: float) -> tuple[LimitLine, ...]:
    if not facts.budget_bytes:
        return ()
    words = f"budget {size(facts.budget_bytes)}"
    if facts.budget_bytes > top:
        words += ", far above this scale"
    return (LimitLine(value=min(facts.budget_bytes, top), words=words, style=Qt.PenStyle.DashLine, tone="bad"),)


def _memory_caption(sample: MetricSample, facts: Facts) -> str:
    return f"{slope(facts.slope_bytes_per_s)}; main process {size(sample.rss_main_bytes)}"


def _queue_caption(_sample: MetricSample, facts: Facts) -> str:
    return f"held at {count(facts.limits.hi)}, let go again at {count(facts.limits.lo)}"


QUEUE = Kind(
    title="Queue depth",
    unit="pages waiting",
    explanation=(
        "Pages waiting for a worker. When the queue reaches its high mark, no more are let in until it has drained "
        "to the low mark; while that lasts, the background is shaded."
    ),
    axis=count_axis,
    curves=(Curve(title="waiting", read=lambda sample: sample.queue_depth, words=_pages, tone="series", filled=True),),
    lines=_queue_lines,
    top=lambda facts, greatest: max(facts.limits.max_queue, greatest) * _HEADROOM,
    value=lambda sample, _: _pages(sample.queue_depth),
    caption=_queue_caption,
)

MEMORY = Kind(
    title="Memory",
    unit="MB resident",
    explanation=(
        "Resident memory of the program with all its workers, and of the main process alone. It follows the limits, "
        "not the size of the batch: after the warm-up both curves should stay level."
    ),
    axis=size_axis,
    curves=(
        Curve(
            title="all processes",
            read=lambda sample: sample.rss_tree_bytes,
            words=size,
            tone="series",
            filled=True,
        ),
        Curve(
            title="main process",
            read=lambda sample: sample.rss_main_bytes,
            words=size,
            tone="series_two",
            style=Qt.PenStyle.DashLine,
        ),
    ),
    lines=_budget_lines,
    top=_memory_top,
    value=lambda sample, _: size(sample.rss_tree_bytes),
    caption=_memory_caption,
)

PERMITS = Kind(
    title="Permits held",
    unit="pages in flight",
    explanation=(
        "Pages in flight: queued, being read or waiting to be stored. A page takes a permit before the queue and gives "
        "it back when its text and its audit record are stored."
    ),
    axis=count_axis,
    curves=(Curve(title="held", read=lambda sample: sample.permits_held, words=_pages, tone="series", filled=True),),
    lines=_permit_lines,
    top=lambda facts, greatest: max(facts.limits.permits, greatest) * _HEADROOM,
    value=lambda sample, facts: f"{count(sample.permits_held)} of {count(facts.limits.permits)}",
    caption=lambda _sample, _facts: "pages in flight: queued, being read or being stored",
)

THROUGHPUT = Kind(
    title="Throughput",
    unit="pages/s",
    explanation="Pages stored per second, now and on average over the active time of the run, pauses left out.",
    axis=count_axis,
    curves=(
        Curve(title="now", read=lambda sample: sample.pages_per_s, words=rate, tone="series", filled=True),
        Curve(
            title="average",
            read=lambda sample: sample.mean_pages_per_s,
            words=rate,
            tone="series_two",
            style=Qt.PenStyle.DashLine,
        ),
    ),
    lines=lambda _facts, _top: (),
    top=lambda _facts, greatest: nice_ceiling(greatest * 1.05),
    value=lambda sample, _: rate(sample.pages_per_s),
    caption=lambda sample, _: f"{rate(sample.mean_pages_per_s)} on average",
)

KINDS = (QUEUE, MEMORY, PERMITS, THROUGHPUT)
