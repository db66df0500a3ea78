"""Series of samples with bounded memory: the newest ones in full, and a whole run in ever coarser points.

Covers how samples are kept and thinned. What they measure is the business of whoever adds them; the two series
together are `engine.flow.metrics`.

Several samples become one point by these rules: its time and its momentary throughput are their means; queue depth,
permits, memory and loop lag are their maxima, so that a peak stays visible however far one looks back; the mean
throughput, which is itself a mean since the start, is the newest.
"""

from collections import deque
from collections.abc import Sequence
from itertools import groupby, islice

from engine.models.flow import MetricSample


def blend(samples: Sequence[MetricSample]) -> MetricSample:
    """Return one point for several samples, at least one, in the order of time."""
    return MetricSample(
        at_s=sum(sample.at_s for sample in samples) / len(samples),
        queue_depth=max(sample.queue_depth for sample in samples),
        permits_held=max(sample.permits_held for sample in samples),
        rss_tree_bytes=max(sample.rss_tree_bytes for sample in samples),
        rss_main_bytes=max(sample.rss_main_bytes for sample in samples),
        pages_per_s=sum(sample.pages_per_s for sample in samples) / len(samples),
        mean_pages_per_s=samples[-1].mean_pages_per_s,
        loop_lag_ms=max(sample.loop_lag_ms for sample in samples),
    )


def thin(samples: Sequence[MetricSample], points: int, *, width_s: float) -> tuple[MetricSample, ...]:
    """Return at most `points` points for a series.

    Args:
        samples: The series, in the order of time.
        points: Most points wanted, at least 1.
        width_s: Time for which one point stands. Groups are cut at multiples of it and not at the ends of the
            series, so that the points of a scrolling window stay what they were instead of shimmering.
    """
    if len(samples) <= points:
        return tuple(samples)
    groups = [list(group) for _number, group in groupby(samples, key=lambda sample: sample.at_s // width_s)]
    # Fixed cuts may make one group more; the oldest is the one that is leaving the window anyway.
    return tuple(blend(group) for group in groups[-points:])


class Ring:
    """The newest samples, each as it was added, numbered from 0 since the start.

    Args:
        capacity: Most samples kept.
    """

    def __init__(self, capacity: int) -> None:
        self._samples: deque[MetricSample] = deque(maxlen=capacity)
        self._added = 0

    def __len__(self) -> int:
        return len(self._samples)

    def __repr__(self) -> str:
        return f"<Ring {len(self._samples)}/{self._samples.maxlen}, {self._added} added>"

    @property
    def added(self) -> int:
        """How many samples were added since the start: the number of the next one."""
        return self._added

    @property
    def complete(self) -> bool:
        """Whether no sample has been let go yet."""
        return self._added == len(self._samples)

    def add(self, sample: MetricSample) -> None:
        """Add a sample; the oldest goes where there is no room."""
        self._samples.append(sample)
        self._added += 1

    def newest(self) -> MetricSample | None:
        """Return the sample added last, or None."""
        return self._samples[-1] if self._samples else None

    def since(self, number: int) -> tuple[MetricSample, ...]:
        """Return the samples kept from that number on."""
        gone = self._added - len(self._samples)
        return tuple(islice(self._samples, max(0, number - gone), None))


class WholeRun:
    """A run of any length in a bounded number of points, each standing for equally many samples.

    When it is full, neighbouring points become one and its resolution is half of what it was.

    Args:
        capacity: Most points, even.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 2 or capacity % 2:
            raise ValueError(f"capacity is {capacity}, and must be even")
        self._capacity = capacity
        self._points: list[MetricSample] = []
        # Samples on their way to becoming a point, as a binary counter: place n holds a point of 2**n samples, or
        # none. Two that meet in a place become one in the next, so that only equals are blended.
        self._carry: list[MetricSample | None] = []

    def __repr__(self) -> str:
        return f"<WholeRun {len(self._points)}/{self._capacity} points of {self.stride} samples>"

    @property
    def stride(self) -> int:
        """How many samples one point stands for."""
        return 1 << len(self._carry)

    def add(self, sample: MetricSample) -> None:
        """Add a sample."""
        point = sample
        for place, earlier in enumerate(self._carry):
            if earlier is None:
                self._carry[place] = point
                return
            self._carry[place] = None
            point = blend((earlier, point))
        self._points.append(point)
        if len(self._points) == self._capacity:
            self._halve()

    def points(self) -> list[MetricSample]:
        """Return the points, the last one perhaps for fewer samples than the others."""
        rest = [point for point in reversed(self._carry) if point is not None]
        return [*self._points, blend(rest)] if rest else self.finished_points()

    def finished_points(self) -> list[MetricSample]:
        """Return the points that stand for equally many samples."""
        return self._points.copy()

    def _halve(self) -> None:
        pairs = zip(self._points[::2], self._points[1::2], strict=True)
        self._points = [blend(pair) for pair in pairs]
        self._carry.append(None)
