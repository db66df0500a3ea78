"""The metrics: what the charts and the long-run tests read, in memory that does not grow with the run.

Covers keeping samples and hold marks and handing them out. Writers append and know nothing of charts; readers pull
when they redraw. Taking samples is the business of the pipeline, drawing that of the window.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from engine.flow.marks import HoldMarks
from engine.flow.series import Ring, WholeRun, thin
from engine.models.flow import GateChange, HoldMark, MetricSample

FINE_SAMPLES = 2500
"""Samples kept as they were: ten minutes at four a second, and a little more."""

RUN_POINTS = 600
"""Most points kept of a whole run."""

WARM_UP_S = 60.0
"""Start of a run that says nothing about memory: workers start, caches fill."""

WARM_UP_SHARE = 0.1
"""The same as a share of the run, where that is longer."""

SLOPE_S = 60.0
"""Shortest time after the warm-up from which a slope is told."""

SLOPE_POINTS = 30
"""Fewest points from which a slope is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """What is new since a cursor."""

    cursor: int
    """To be given with the next pull."""
    samples: tuple[MetricSample, ...]
    missed: int = 0
    """Samples that were let go before they could be pulled."""


class Metrics:
    """Bounded series of samples, and the marks of holds.

    Args:
        started_at_s: The start, on the monotonic clock; times of samples and marks count from it.
    """

    # Mutable state: the two series and the marks, each changed by one synchronous call; nothing here waits.

    def __init__(self, *, started_at_s: float) -> None:
        self.started_at_s = started_at_s
        self._ring = Ring(FINE_SAMPLES)
        self._run = WholeRun(RUN_POINTS)
        self._marks = HoldMarks(started_at_s=started_at_s)

    def __repr__(self) -> str:
        return f"<Metrics {self._ring!r} {self._run!r} {self._marks!r}>"

    def add(self, sample: MetricSample) -> None:
        """Add a sample; its time counts from `started_at_s` and is not before that of the last one."""
        self._ring.add(sample)
        self._run.add(sample)

    def note(self, change: GateChange) -> None:
        """Note a change of the gate, whose time is on the monotonic clock."""
        self._marks.note(change)

    def read(self, window_s: float | None = None, points: int = 300) -> tuple[MetricSample, ...]:
        """Return a window up to the newest sample, in at most `points` points.

        The window comes from the newest samples as they were and, where it reaches back further than these, from the
        coarser points of the whole run. Points that stand for several samples show their peaks (`engine.flow.series`).

        Args:
            window_s: Seconds to look back, or None for the whole run.
            points: Most points wanted, at least 1.
        """
        if points < 1:
            raise ValueError(f"points is {points}, and must be at least 1")
        newest, start_s = self._ring.newest(), self._start_s(window_s)
        if newest is None:
            return ()
        if window_s is None or window_s >= newest.at_s:
            # A whole run gets longer all the time: its points stand for a power of two of seconds, so that they
            # stay what they were until that doubles.
            width_s = 2.0 ** math.ceil(math.log2(max(newest.at_s, 1.0) / max(1, points - 1)))
        else:
            width_s = max(window_s, 1e-3) / points
        samples = self._samples(start_s, width_s)
        cut = bisect_left(samples, start_s, key=lambda sample: sample.at_s)
        return thin(samples[cut:], points, width_s=width_s)

    def holds(self, window_s: float | None = None) -> tuple[HoldMark, ...]:
        """Return the marks of holds that reach into a window up to the newest sample.

        Args:
            window_s: Seconds to look back, or None for the whole run.
        """
        return self._marks.since(self._start_s(window_s))

    def since(self, cursor: int = 0) -> Pull:
        """Return what was added since a cursor (0 at first), as far as it is still kept in full."""
        samples = self._ring.since(cursor)
        return Pull(cursor=self._ring.added, samples=samples, missed=max(0, self._ring.added - cursor - len(samples)))

    def rss_slope_bytes_per_s(self) -> float | None:
        """Return how fast the memory of the process tree grows: the slope of a straight line by least squares.

        It is taken over the whole run without its warm-up (`WARM_UP_S` or `WARM_UP_SHARE` of the run, whichever is
        longer). None while fewer than `SLOPE_POINTS` points or less than `SLOPE_S` seconds are left.
        """
        points = self._run.finished_points()
        if not points:
            return None
        warm_s = max(WARM_UP_S, points[-1].at_s * WARM_UP_SHARE)
        warm = points[bisect_left(points, warm_s, key=lambda point: point.at_s) :]
        if len(warm) < SLOPE_POINTS or warm[-1].at_s - warm[0].at_s < SLOPE_S:
            return None
        return _slope(warm)

    def _samples(self, start_s: float, width_s: float) -> Sequence[MetricSample]:
        """Return samples from `start_s` on, or earlier, that are dense enough for points of that width."""
        fine = self._ring.since(0)
        if self._ring.complete or fine[0].at_s <= start_s:
            return fine
        coarse = self._run.points()
        if coarse[1].at_s - coarse[0].at_s <= width_s:
            return coarse
        return (*coarse[: bisect_left(coarse, fine[0].at_s, key=lambda point: point.at_s)], *fine)

    def _start_s(self, window_s: float | None) -> float:
        newest = self._ring.newest()
        return 0.0 if window_s is None or newest is None else newest.at_s - window_s


def _slope(points: Sequence[MetricSample]) -> float:
    mean_s = sum(point.at_s for point in points) / len(points)
    mean_bytes = sum(point.rss_tree_bytes for point in points) / len(points)
    covariance = sum((point.at_s - mean_s) * (point.rss_tree_bytes - mean_bytes) for point in points)
    return covariance / sum((point.at_s - mean_s) ** 2 for point in points)
