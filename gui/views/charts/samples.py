"""Metric samples as arrays, and thinned to what a chart can show.

Thinning keeps the least and the greatest value of each short interval, so that no spike is lost; the intervals stand
still on the time axis while new samples come, so that a curve does not flicker.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import MetricSample

Floats = NDArray[np.float64]

MOST_POINTS = 300
"""Most points drawn of a curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The samples of one time window, oldest first."""

    records: tuple[MetricSample, ...]
    times_s: Floats

    @classmethod
    def of(cls, records: Sequence[MetricSample], window_s: float | None) -> "Samples":
        """Return the samples of the last `window_s` seconds, or all for None."""
        kept = tuple(records)
        if window_s is not None and kept:
            start_s = kept[-1].at_s - window_s
            # One sample before the window, so that the curve comes in from the edge.
            kept = kept[max(0, bisect_left(kept, start_s, key=lambda sample: sample.at_s) - 1) :]
        return cls(records=kept, times_s=np.fromiter((sample.at_s for sample in kept), np.float64, len(kept)))

    @property
    def last(self) -> MetricSample | None:
        """The newest sample."""
        return self.records[-1] if self.records else None

    def values(self, read: Callable[[MetricSample], float]) -> Floats:
        """Return one value of every sample."""
        return np.fromiter((read(sample) for sample in self.records), np.float64, len(self.records))

    def nearest(self, at_s: float) -> int | None:
        """Return the place of the sample nearest to a time."""
        if not self.records:
            return None
        return int(np.argmin(np.abs(self.times_s - at_s)))


def thinned(times_s: Floats, values: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Return at most `most` points of a curve, with the least and greatest value of each interval kept.

    Args:
        times_s: Times, rising.
        values: As many values.
        most: Most points to return, at least 8.
    """
    if len(times_s) <= most:
        return times_s, values
    # Two points an interval; one interval more than asked for can be touched, and the ends are kept as they are.
    width_s = (times_s[-1] - times_s[0]) / (most // 2 - 2)
    intervals = np.floor_divide(times_s, width_s)
    starts = np.flatnonzero(np.diff(intervals, prepend=intervals[0] - 1))
    ends = np.append(starts[1:], len(times_s))
    chosen = {0, len(times_s) - 1}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        chosen.add(start + int(np.argmin(values[start:end])))
        chosen.add(start + int(np.argmax(values[start:end])))
    places = np.array(sorted(chosen))
    return times_s[places], values[places]
