"""The arithmetic of the charts: thinning, bands of holds, and axes."""

import numpy as np
import pytest

from engine import HoldCause
from gui.views.charts.axes import count_axis, nice_ceiling, size_axis
from gui.views.charts.holds import MOST_BANDS, bands, causes_at, share_held
from gui.views.charts.layers import Scale
from gui.views.charts.samples import MOST_POINTS, Samples, thinned
from tests.support.window_records import MIB, hold, samples


@pytest.mark.parametrize("count", [0, 1, 2, 299, 300, 301, 602, 10_000, 123_457])
def test_a_curve_has_at_most_three_hundred_points(count: int) -> None:
    """However many samples there are, few points are drawn, in order, with both ends where they were."""
    times = np.arange(count, dtype=np.float64) * 0.25
    values = np.sin(times / 7, dtype=np.float64)
    thin_times, thin_values = thinned(times, values)
    assert len(thin_times) == len(thin_values) <= min(count, MOST_POINTS)
    assert (np.diff(thin_times) > 0).all()
    if count:
        assert (thin_times[0], thin_times[-1]) == (times[0], times[-1])
    if count > MOST_POINTS:
        assert len(thin_times) > MOST_POINTS // 3


def test_thinning_loses_no_spike() -> None:
    """A single high sample among ten thousand is still drawn, and so is a single low one."""
    values = np.full(10_000, 50.0)
    values[4321], values[8765] = 256.0, 0.0
    _, thin = thinned(np.arange(10_000.0), values)
    assert thin.max() == 256.0
    assert thin.min() == 0.0


def test_thinning_stands_still_while_samples_come() -> None:
    """What was drawn of the past stays the same when new samples come, so that the curve does not flicker."""
    values = np.random.default_rng(1).normal(size=20_000)
    times = np.arange(20_000.0)
    before = set(thinned(times[:10_000], values[:10_000])[0][5:-5].tolist())
    after = set(thinned(times[100:10_100], values[100:10_100])[0].tolist())
    kept = {time for time in before if time >= 200}
    assert len(kept & after) == len(kept)


def test_a_window_keeps_one_sample_before_it() -> None:
    """The curve comes in from the edge of the window instead of beginning inside it."""
    records = samples(1000)
    window = Samples.of(records, 10.0)
    assert window.last is records[-1]
    assert window.records[0].at_s == pytest.approx(records[-1].at_s - 10.25)
    assert len(Samples.of(records, None).records) == 1000
    assert Samples.of((), 10.0).nearest(3.0) is None
    assert window.nearest(records[-3].at_s + 0.01) == len(window.records) - 3


def test_holds_are_clipped_to_the_window() -> None:
    """A hold that began before the window or still stands is shaded only within it; others are left out."""
    marks = [
        hold(HoldCause.USER, 0.0, 12.0),
        hold(HoldCause.WATERMARK, 18.0, None),
        hold(HoldCause.MEMORY, 1.0, 2.0),
        hold(HoldCause.DISK, 25.0, 26.0),
    ]
    assert [(band.cause, band.start_s, band.end_s, band.share) for band in bands(marks, 10.0, 20.0)] == [
        (HoldCause.USER, 10.0, 12.0, 1.0),
        (HoldCause.WATERMARK, 18.0, 20.0, 1.0),
    ]


def test_many_holds_become_few_bands_that_say_the_same_share() -> None:
    """Thousands of short holds are drawn as a bounded number of bands, which cover the same time in sum."""
    marks = [hold(HoldCause.WATERMARK, start, start + 0.6) for start in range(5000)]
    drawn = bands(marks, 0.0, 5000.0)
    assert len(drawn) <= MOST_BANDS
    covered = sum((band.end_s - band.start_s) * band.share for band in drawn)
    assert covered == pytest.approx(3000.0, rel=1e-6)
    assert all(0.5 < band.share < 0.7 for band in drawn)


def test_overlapping_holds_of_one_cause_are_one_band() -> None:
    """The same time is not shaded twice for one cause."""
    marks = [hold(HoldCause.USER, 1.0, 5.0), hold(HoldCause.USER, 3.0, 8.0), hold(HoldCause.USER, 9.0, 9.5)]
    assert [(band.start_s, band.end_s) for band in bands(marks, 0.0, 10.0)] == [(1.0, 8.0), (9.0, 9.5)]


def test_shares_and_causes_are_told_for_a_time() -> None:
    """The legend knows how long each cause held; the crosshair knows what held at one moment."""
    marks = [hold(HoldCause.USER, 0.0, 5.0), hold(HoldCause.MEMORY, 4.0, None)]
    assert share_held(marks, 0.0, 10.0) == {HoldCause.USER: 0.5, HoldCause.MEMORY: 0.6}
    assert share_held(marks, 5.0, 5.0) == {}
    assert causes_at(marks, 4.5) == [HoldCause.USER, HoldCause.MEMORY]
    assert causes_at(marks, 3.0) == [HoldCause.USER]


@pytest.mark.parametrize(
    ("value", "ceiling"), [(0, 1), (0.7, 0.8), (1, 1), (11, 12), (212, 250), (301, 400), (951, 1000)]
)
def test_an_axis_ends_at_a_round_number(value: float, ceiling: float) -> None:
    """The upper end is round and not below the value, so that it seldom moves."""
    assert nice_ceiling(value) == pytest.approx(ceiling)


@pytest.mark.parametrize("length", [0.3, 7, 288, 1204, 1e6])
@pytest.mark.parametrize("size_px", [40, 66, 180, 900])
def test_ticks_are_round_and_neither_crowded_nor_missing(application: object, length: float, size_px: float) -> None:
    """Whatever the range and the height, there are a few ticks at round distances."""
    ((spacing, offset),) = count_axis().tickSpacing(0, length, size_px)
    assert offset == 0.0
    assert 1 <= length / spacing <= max(2.5, size_px / 30)
    assert f"{spacing:e}".rstrip("0").startswith(("1.000000e", "2.000000e", "2.500000e", "5.000000e"))


def test_memory_ticks_are_round_in_megabytes(application: object) -> None:
    """Memory is counted in steps of 1,024, so that its ticks must be too."""
    axis = size_axis()
    ((spacing, _),) = axis.tickSpacing(0, 300 * MIB, 180)
    assert spacing % (10 * MIB) == 0
    assert axis.tickStrings([0, 100 * MIB], 1, spacing) == ["0", "100"]


def test_a_scale_goes_both_ways() -> None:
    """From time to pixels and back is the same time, and 0 lies at the bottom."""
    scale = Scale(start_s=-120.0, end_s=0.0, top=300.0, width_px=480.0, height_px=200.0)
    assert scale.at_s(scale.x(-30.0)) == pytest.approx(-30.0)
    assert (scale.y(0.0), scale.y(300.0)) == (200.0, 0.0)
