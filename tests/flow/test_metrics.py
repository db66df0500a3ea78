"""The metrics: bounded memory, peaks that stay visible, windows, cursors, the slope of memory."""

import functools
import random
import sys
from itertools import pairwise

import pytest

from engine.flow.metrics import FINE_SAMPLES, RUN_POINTS, Metrics
from engine.flow.series import Ring, WholeRun, blend
from engine.models.flow import GateChange, HoldMark, MetricSample
from engine.models.outcome import HoldCause

STARTED_S = 9000.0


def sample(at_s: float, *, depth: float = 0.0, rss: float = 0.0, rate: float = 0.0) -> MetricSample:
    """Return a sample of which only these figures matter."""
    return MetricSample(
        at_s=at_s,
        queue_depth=depth,
        permits_held=depth,
        rss_tree_bytes=rss,
        rss_main_bytes=rss / 2,
        pages_per_s=rate,
        mean_pages_per_s=at_s,
        loop_lag_ms=depth,
    )


@functools.cache
def metrics_of(samples: int, *, every_s: float = 0.25, peak_at: int | None = None) -> Metrics:
    """Return metrics with so many samples, one of which stands out; shared, to be read only."""
    metrics = Metrics(started_at_s=STARTED_S)
    for number in range(samples):
        peak = number == peak_at
        metrics.add(sample(number * every_s, depth=256.0 if peak else 10.0, rss=9e8 if peak else 1e8, rate=50.0))
    return metrics


def change(cause: HoldCause, at_s: float, *, held: bool) -> GateChange:
    """Return a change of the gate, with its time since the start."""
    return GateChange(cause=cause, held=held, at_s=STARTED_S + at_s, queue_depth=0)


def test_a_blend_averages_time_and_rate_and_keeps_peaks() -> None:
    """The rules for one point out of several, each figure by its own."""
    first = sample(1.0, depth=5, rss=100, rate=10)
    second = sample(2.0, depth=3, rss=300, rate=30)
    assert blend([first, second]) == MetricSample(
        at_s=1.5,
        queue_depth=5,
        permits_held=5,
        rss_tree_bytes=300,
        rss_main_bytes=150,
        pages_per_s=20,
        mean_pages_per_s=2.0,
        loop_lag_ms=5,
    )


def test_a_short_series_is_given_as_it_is() -> None:
    """Nothing is blended where everything fits."""
    metrics = metrics_of(40)
    read = metrics.read(None, points=40)
    assert [point.at_s for point in read] == [number * 0.25 for number in range(40)]


@pytest.mark.parametrize("samples", [1, 299, 301, 2400, 2401, 5000, 12_000])
@pytest.mark.parametrize("window_s", [None, 5.0, 60.0, 600.0, 5000.0])
def test_a_reading_has_never_more_points_than_asked_for(samples: int, window_s: float | None) -> None:
    """Whatever the window and however long the run; and it reaches up to now, in the order of time."""
    metrics = metrics_of(samples, peak_at=samples - 1)
    now_s = (samples - 1) * 0.25
    for points in (1, 7, 300):
        read = metrics.read(window_s, points)
        assert 1 <= len(read) <= points
        times = [point.at_s for point in read]
        assert times == sorted(times)
        assert read[-1].queue_depth == 256, "the newest sample is in the newest point"
        start_s = 0.0 if window_s is None else now_s - window_s
        assert start_s <= times[0]
        assert now_s - times[-1] <= max(1.0, 2 * (now_s - max(0.0, start_s)) / max(1, points - 1))


def test_a_window_within_ten_minutes_is_read_in_full_resolution() -> None:
    """The chart of the last minute shows each sample, however long the run has been."""
    metrics = metrics_of(12_000)
    read = metrics.read(60.0, points=300)
    assert len(read) == 241
    assert read[-1].at_s == pytest.approx(11_999 * 0.25)
    assert read[-1].at_s - read[-2].at_s == pytest.approx(0.25)


def test_a_window_that_the_fine_samples_cover_is_drawn_evenly() -> None:
    """Its points come from the samples themselves, not from points of the whole run that are nearly as dense."""
    metrics = metrics_of(2600, every_s=0.24)
    times = [point.at_s for point in metrics.read(590.0, points=295)]
    assert max(later - earlier for earlier, later in pairwise(times)) < 2.3


@pytest.mark.parametrize("peak_at", [17, 7_000, 11_999])
def test_a_peak_stays_visible_however_far_one_looks_back(peak_at: int) -> None:
    """A single sample of 256 among 12,000 is still the highest point of a chart of the whole run."""
    metrics = metrics_of(12_000, peak_at=peak_at)
    read = metrics.read(None, points=200)
    assert max(point.queue_depth for point in read) == 256
    assert max(point.rss_tree_bytes for point in read) == 9e8
    assert sum(point.queue_depth == 256 for point in read) == 1


def test_memory_does_not_grow_with_the_run() -> None:
    """After days the metrics hold no more than their bounds, and the average is what it was."""
    run = WholeRun(RUN_POINTS)
    for number in range(20_000):
        run.add(sample(number * 0.25, rate=float(number % 2) * 100))
        assert number % 50 or len(run.points()) <= RUN_POINTS
    assert run.stride == 64
    assert len(run.finished_points()) >= RUN_POINTS // 2
    assert {point.pages_per_s for point in run.finished_points()} == {50.0}
    ring = Ring(FINE_SAMPLES)
    for number in range(10_000):
        ring.add(sample(number))
    assert len(ring) == FINE_SAMPLES
    assert sys.getsizeof(ring) < 1000


@pytest.mark.parametrize("window_s", [600.0, 1000.0, None])
def test_points_of_a_chart_stay_what_they_were(window_s: float | None) -> None:
    """Groups are cut at fixed times: while a window moves on, a point does not change until it leaves."""
    dice = random.Random(7)  # noqa: S311  # repeatable figures
    metrics = Metrics(started_at_s=STARTED_S)
    for number in range(4600):
        metrics.add(sample(number * 0.25, depth=dice.randint(0, 99)))
    earlier = {point.at_s: point for point in metrics.read(window_s, 100)}
    for number in range(4600, 4690):
        metrics.add(sample(number * 0.25, depth=dice.randint(0, 99)))
    later = metrics.read(window_s, 100)
    same = [point for point in later if point.at_s in earlier]
    assert len(same) >= len(later) * 0.9
    assert all(earlier[point.at_s] == point for point in same)


def test_a_window_longer_than_the_fine_samples_is_fine_where_they_reach() -> None:
    """After hours, a look back of a quarter of an hour still has its newest ten minutes in detail."""
    metrics = metrics_of(12_000)
    read = metrics.read(900.0, points=300)
    assert len(read) > 200
    assert read[-1].at_s - read[-2].at_s <= 3.0
    assert read[0].at_s == pytest.approx(11_999 * 0.25 - 900.0, abs=40)


def test_impossible_numbers_of_points_are_refused() -> None:
    """At least one point must be asked for, and a run needs an even number of them."""
    with pytest.raises(ValueError, match="at least 1"):
        metrics_of(1).read(None, points=0)
    for capacity in (0, 7):
        with pytest.raises(ValueError, match="must be even"):
            WholeRun(capacity)


def test_a_cursor_gives_what_is_new_and_says_what_was_missed() -> None:
    """Incremental reading: nothing twice, and a gap is told where the reader came too late."""
    metrics = metrics_of.__wrapped__(10)
    pull = metrics.since()
    assert (len(pull.samples), pull.cursor, pull.missed) == (10, 10, 0)
    assert metrics.since(pull.cursor).samples == ()
    metrics.add(sample(99.0))
    again = metrics.since(pull.cursor)
    assert ([point.at_s for point in again.samples], again.cursor, again.missed) == ([99.0], 11, 0)
    for number in range(FINE_SAMPLES + 5):
        metrics.add(sample(100.0 + number))
    late = metrics.since(again.cursor)
    assert (len(late.samples), late.missed) == (FINE_SAMPLES, 5)


def test_holds_become_marks_in_seconds_since_the_start() -> None:
    """Past holds have an end, standing ones have none, and a window leaves out what ended before it."""
    metrics = metrics_of.__wrapped__(401)
    metrics.note(change(HoldCause.WATERMARK, 10, held=True))
    metrics.note(change(HoldCause.USER, 12, held=True))
    metrics.note(change(HoldCause.WATERMARK, 20, held=False))
    metrics.note(change(HoldCause.WATERMARK, 95, held=True))
    assert metrics.holds() == (
        HoldMark(cause=HoldCause.WATERMARK, started_s=10, ended_s=20),
        HoldMark(cause=HoldCause.USER, started_s=12, ended_s=None),
        HoldMark(cause=HoldCause.WATERMARK, started_s=95, ended_s=None),
    )
    assert [mark.started_s for mark in metrics.holds(10.0)] == [12, 95]


def test_marks_are_bounded_and_the_newest_stay_exact() -> None:
    """A gate that flaps for days leaves a bounded number of marks that still cover all of its holds."""
    metrics = Metrics(started_at_s=STARTED_S)
    for number in range(20_000):
        metrics.note(change(HoldCause.WATERMARK, number, held=True))
        metrics.note(change(HoldCause.WATERMARK, number + 0.5, held=False))
        if number % 2000 == 100:
            metrics.note(change(HoldCause.USER, number + 0.6, held=True))
            metrics.note(change(HoldCause.USER, number + 0.7, held=False))
    marks = metrics.holds()
    assert len(marks) <= 1000
    watermark = [mark for mark in marks if mark.cause is HoldCause.WATERMARK]
    assert watermark[0].started_s == 0
    assert [mark.started_s for mark in watermark[-300:]] == list(range(19_700, 20_000))
    for moment in range(0, 20_000, 777):
        assert any(mark.started_s <= moment + 0.25 <= (mark.ended_s or 0) for mark in watermark)
    assert any(mark.cause is HoldCause.USER for mark in marks)


def test_an_end_without_a_beginning_is_no_mark() -> None:
    """A release that the metrics saw no hold for is passed over."""
    metrics = metrics_of.__wrapped__(1)
    metrics.note(change(HoldCause.USER, 1, held=False))
    assert metrics.holds() == ()


def test_the_slope_of_memory_leaves_the_warm_up_out() -> None:
    """Memory that rises at first and then stays flat has no slope; memory that leaks has its own."""
    for leak_bytes_per_s in (0.0, 2500.0):
        metrics = Metrics(started_at_s=STARTED_S)
        for number in range(7_000):
            at_s = number * 0.25
            warm = min(1.0, at_s / 50) * 3e8
            metrics.add(sample(at_s, rss=warm + leak_bytes_per_s * at_s))
        assert metrics.rss_slope_bytes_per_s() == pytest.approx(leak_bytes_per_s, abs=1.0)


def test_no_slope_is_told_from_too_little() -> None:
    """A minute of warm-up and a minute of figures are the least."""
    assert Metrics(started_at_s=0.0).rss_slope_bytes_per_s() is None
    assert metrics_of(4 * 119).rss_slope_bytes_per_s() is None
    assert metrics_of(4 * 125).rss_slope_bytes_per_s() == pytest.approx(0.0)


def test_empty_metrics_can_be_read() -> None:
    """Before the first sample there is nothing to draw, and nothing fails."""
    metrics = Metrics(started_at_s=STARTED_S)
    assert metrics.read(60.0) == ()
    assert metrics.read(None) == ()
    assert metrics.holds(60.0) == ()
    assert metrics.since().samples == ()
    assert repr(metrics) == (
        "<Metrics <Ring 0/2500, 0 added> <WholeRun 0/600 points of 1 samples> <HoldMarks 0/1000 past, 0 standing>>"
    )
