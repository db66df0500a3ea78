"""The four charts: bounded drawing, one time axis, one crosshair, holds, themes and screen readers."""

import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QPushButton

from engine import FlowLimits, HoldCause, HoldMark, MetricSample
from gui.views.charts import ChartPanel
from gui.views.charts.chart import Chart
from gui.views.charts.panel import WINDOWS
from gui.views.colours import DARK
from gui.views.theme import Appearance, Themes
from tests.support.window_records import LIMITS, MIB, hold, samples
from tests.support.windows import Show, wait_until

Feed = Callable[..., None]


@pytest.fixture
def panel(themes: Themes, show: Show) -> Iterator[ChartPanel]:
    """Return the charts on screen."""
    made = show(ChartPanel(themes=themes), 1000, 640)
    yield made
    made.hide()


def _feed(
    panel: ChartPanel,
    records: tuple[MetricSample, ...],
    holds: tuple[HoldMark, ...] = (),
    limits: FlowLimits = LIMITS,
    budget_bytes: int = 400 * MIB,
    slope: float | None = 0.0,
) -> None:
    panel.show_metrics(records, holds, limits, budget_bytes, slope)
    QApplication.processEvents()


def _chart(panel: ChartPanel, title: str) -> Chart:
    return next(chart for chart in panel.charts if chart.kind.title == title)


def _window(panel: ChartPanel, words: str) -> QPushButton:
    return next(button for button in panel.findChildren(QPushButton) if button.text() == words)


def _image(panel: ChartPanel, title: str) -> QImage:
    image: QImage = _chart(panel, title).plot.grab().toImage()
    return image


def _has(image: QImage, colour: str) -> bool:
    wanted = QColor(colour)
    return any(image.pixelColor(x, y) == wanted for x in range(image.width()) for y in range(image.height()))


def test_ten_thousand_samples_draw_at_most_three_hundred_points_a_curve(panel: ChartPanel) -> None:
    """Whatever window is shown, no curve gets more points than can be drawn at four frames a second."""
    for _, window_s in WINDOWS:
        panel.choose_window(window_s)
        _feed(panel, samples(10_000))
        for chart in panel.charts:
            assert [len(times) for times, _ in chart.plot.drawn] == [len(values) for _, values in chart.plot.drawn]
            assert all(0 < len(times) <= 300 for times, _ in chart.plot.drawn)


def test_curves_are_kept_and_given_other_points(panel: ChartPanel) -> None:
    """A redraw makes no new items: the scene has as many after a hundred as after the first."""
    _feed(panel, samples(500), (hold(HoldCause.USER, 10.0, 20.0),))
    before = [len(chart.plot.scene().items()) for chart in panel.charts]
    for count in range(500, 600):
        panel.show_metrics(samples(count)[-300:], (hold(HoldCause.USER, 10.0, 20.0),), LIMITS, 400 * MIB, None)
    QApplication.processEvents()
    assert [len(chart.plot.scene().items()) for chart in panel.charts] == before


def test_what_is_drawn_already_is_not_drawn_again(panel: ChartPanel) -> None:
    """Metrics without anything new cost no drawing; one new sample, another limit or another hold does."""
    held = (hold(HoldCause.USER, 1.0, 2.0),)

    def draws(count: int, holds: tuple[HoldMark, ...], budget_bytes: int) -> bool:
        before = panel.charts[0].plot.drawn[0][1]
        panel.show_metrics(samples(count), holds, LIMITS, budget_bytes, None)
        return panel.charts[0].plot.drawn[0][1] is not before

    assert draws(20, (), 400 * MIB)
    assert not draws(20, (), 400 * MIB)
    assert draws(21, (), 400 * MIB)
    assert draws(21, (), 500 * MIB)
    assert draws(21, held, 500 * MIB)
    assert not draws(21, held, 500 * MIB)


def test_all_charts_show_the_same_time(panel: ChartPanel) -> None:
    """The time axis is one: each window has the same ends in all four charts."""
    _feed(panel, samples(8000))
    for words, window_s in WINDOWS:
        _window(panel, words).click()
        scales = [chart.plot.scale_shown for chart in panel.charts]
        assert len({(scale.start_s, scale.end_s) for scale in scales}) == 1
        expected = (0.0, samples(8000)[-1].at_s) if window_s is None else (-window_s, 0.0)
        assert (scales[0].start_s, scales[0].end_s) == expected


def test_another_window_is_told_so_that_its_metrics_can_be_read(panel: ChartPanel) -> None:
    """The choice is reachable by keyboard and says which window to read."""
    told = QSignalSpy(panel.window_changed)
    assert panel.window_s == 120.0
    button = _window(panel, "Whole run")
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert panel.window_s is None
    assert told.at(0) == [None]
    _window(panel, "10 min").click()
    assert told.at(1) == [600.0]
    assert all(button.accessibleName().startswith("Show ") for button in panel.findChildren(QPushButton))


def test_the_crosshair_shows_the_values_of_one_moment_in_all_charts(panel: ChartPanel) -> None:
    """With the pointer over one chart, all four show the values of the nearest sample, and what held then."""
    records = samples(480)
    _feed(panel, records, (hold(HoldCause.MEMORY, 0.0, None),))
    plot = _chart(panel, "Queue depth").plot
    middle = QPoint(plot.width() // 2, plot.height() // 2)
    QTest.mouseMove(plot.viewport(), middle)
    wait_until(lambda: all(chart.plot.crosshair.reading for chart in panel.charts))
    readings = [chart.plot.crosshair.reading for chart in panel.charts]
    times = {reading.at_s for reading in readings if reading}
    assert len(times) == 1
    sample = min(records, key=lambda record: abs(record.at_s - records[-1].at_s - times.copy().pop()))
    words = [" ".join(reading.words).replace("\u00a0", " ") for reading in readings if reading]
    assert f"{round(sample.queue_depth)} pages" in words[0]
    assert f"all processes {round(sample.rss_tree_bytes / MIB)} MB" in words[1]
    assert f"{round(sample.permits_held)} pages" in words[2]
    assert f"now {sample.pages_per_s:.1f} pages/s" in words[3]
    assert all("held: memory" in line for line in words)


def test_the_crosshair_goes_with_the_pointer(panel: ChartPanel) -> None:
    """When the pointer leaves, no chart keeps its crosshair."""
    _feed(panel, samples(480))
    plot = _chart(panel, "Memory").plot
    QTest.mouseMove(plot.viewport(), QPoint(plot.width() // 2, 40))
    wait_until(lambda: _chart(panel, "Throughput").plot.crosshair.reading)
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    wait_until(lambda: not any(chart.plot.crosshair.reading for chart in panel.charts))


def test_the_crosshair_can_be_walked_by_keyboard(panel: ChartPanel) -> None:
    """Arrow keys, Home, End and Escape move the crosshair of a focused chart, and a screen reader is told."""
    records = samples(480)
    _feed(panel, records)
    chart = _chart(panel, "Queue depth")
    chart.setFocus()

    def at_s() -> float | None:
        reading = chart.plot.crosshair.reading
        return None if reading is None else reading.at_s

    QTest.keyClick(chart, Qt.Key.Key_Home)
    wait_until(lambda: at_s() is not None)
    assert at_s() == pytest.approx(-119.75)
    assert chart.accessibleDescription().startswith("At 0:00, ")
    QTest.keyClick(chart, Qt.Key.Key_Right)
    wait_until(lambda: (at_s() or -200.0) > -119.0)
    QTest.keyClick(chart, Qt.Key.Key_End)
    wait_until(lambda: at_s() == 0.0)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    wait_until(lambda: at_s() != 0.0)
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    wait_until(lambda: at_s() is None)


def test_the_values_are_said_in_words(panel: ChartPanel) -> None:
    """Each chart has a name, shows its newest value large, and tells it to a screen reader with its limits."""
    records = samples(481)
    _feed(panel, records, budget_bytes=400 * MIB, slope=1.0 * MIB)
    said = {
        chart.kind.title: chart.accessibleDescription().replace("\u00a0", " ").replace(",", "")
        for chart in panel.charts
    }
    last = records[-1]
    assert f"Now {last.queue_depth:.0f} pages" in said["Queue depth"]
    assert "high mark 192" in said["Queue depth"]
    assert f"Now {last.rss_tree_bytes / MIB:.0f} MB" in said["Memory"]
    assert "rising by 60 MB a minute" in said["Memory"]
    assert "budget 400 MB" in said["Memory"]
    assert f"{last.permits_held:.0f} of 288" in said["Permits held"]
    assert "12.0 pages/s on average" in said["Throughput"]
    assert all(chart.accessibleName().endswith(", chart") for chart in panel.charts)


def test_a_screen_reader_is_not_flooded(panel: ChartPanel) -> None:
    """The description follows every few seconds, not with each of four redraws a second."""
    chart = _chart(panel, "Queue depth")
    told: set[str] = set()
    for count in range(400, 400 + 40):  # ten seconds
        panel.show_metrics(samples(count), (), LIMITS, 400 * MIB, None)
        told.add(chart.accessibleDescription())
    assert 2 <= len(told) <= 3


def test_limits_are_drawn_where_they_are(panel: ChartPanel) -> None:
    """Each limit of the flow is a line with its words, and follows a change of the limits."""
    _feed(panel, samples(480))
    lines = _chart(panel, "Queue depth").plot.limits.lines
    assert [(line.value, line.words) for line in lines] == [
        (256, "full 256"),
        (192, "high mark 192"),
        (64, "low mark 64"),
    ]
    assert len({line.style for line in lines}) == 3
    assert [line.value for line in _chart(panel, "Permits held").plot.limits.lines] == [288]
    _feed(panel, samples(480), limits=FlowLimits.build(workers=2, max_queue=512))
    assert _chart(panel, "Queue depth").plot.limits.lines[0].value == 512
    assert _chart(panel, "Queue depth").plot.scale_shown.top > 512


def test_a_budget_far_above_does_not_press_the_curve_to_the_ground(panel: ChartPanel) -> None:
    """A near budget is drawn to scale; one far above is named at the upper edge, and an unknown one is not drawn."""
    memory = _chart(panel, "Memory")
    _feed(panel, samples(480), budget_bytes=400 * MIB)
    assert memory.plot.scale_shown.top > 400 * MIB
    assert memory.plot.limits.lines[0].value == 400 * MIB
    _feed(panel, samples(480), budget_bytes=16_000 * MIB)
    assert memory.plot.scale_shown.top < 400 * MIB
    assert memory.plot.limits.lines[0].words.endswith("far above this scale")
    _feed(panel, samples(480), budget_bytes=0)
    assert memory.plot.limits.lines == ()


def test_holds_are_shaded_and_named_and_can_be_left_out(panel: ChartPanel) -> None:
    """Each cause in the window is shaded in all charts and named with its share; one click hides the shading."""
    marks = (hold(HoldCause.WATERMARK, 60.0, 90.0), hold(HoldCause.USER, 100.0, None))
    _feed(panel, samples(481), marks)
    for chart in panel.charts:
        assert {band.cause for band in chart.plot.holds.bands} == {HoldCause.WATERMARK, HoldCause.USER}
    assert [entry.words.replace("\u00a0", " ") for entry in panel._legend.entries] == ["queue full 25 %", "paused 17 %"]
    with_holds = _image(panel, "Queue depth")
    panel.holds_box.click()
    assert all(chart.plot.holds.bands == () for chart in panel.charts)
    assert not panel._legend.isVisible()
    QApplication.processEvents()
    assert _image(panel, "Queue depth") != with_holds


def test_a_time_without_holds_says_so(panel: ChartPanel) -> None:
    """No shading is explained too: it means that admission was never held."""
    _feed(panel, samples(480))
    assert panel._no_holds.isVisible()
    assert not panel._legend.isVisible()


def test_nothing_is_drawn_while_nobody_can_see_it(panel: ChartPanel) -> None:
    """Hidden charts only keep what they are given, and draw it once when they are shown."""
    _feed(panel, samples(480))
    panel.hide()
    before = [chart.plot.drawn[0][1].sum() for chart in panel.charts]
    _feed(panel, samples(600))
    assert [chart.plot.drawn[0][1].sum() for chart in panel.charts] == before
    panel.show()
    QApplication.processEvents()
    assert _chart(panel, "Queue depth").plot.drawn[0][1][-1] == samples(600)[-1].queue_depth


def test_without_samples_the_charts_are_empty_and_say_so(panel: ChartPanel) -> None:
    """Before the first sample and after another case was opened there are no values, and nothing fails."""
    _feed(panel, ())
    _feed(panel, samples(480))
    panel.clear()
    QApplication.processEvents()
    for chart in panel.charts:
        assert chart.value_label.text() == "no values yet"
        assert len(chart.plot.drawn[0][0]) == 0
        QTest.keyClick(chart, Qt.Key.Key_Left)
    panel.choose_window(None)
    _feed(panel, samples(1))
    assert _chart(panel, "Queue depth").value_label.text().startswith("128")


def test_the_charts_take_over_another_theme(panel: ChartPanel, themes: Themes) -> None:
    """Curves, words and lines are drawn in the new colours at once, without new samples."""
    _feed(panel, samples(480))
    assert _has(_image(panel, "Queue depth"), themes.current.limit)
    themes.set_appearance(Appearance.DARK)
    QApplication.processEvents()
    image = _image(panel, "Queue depth")
    assert _has(image, DARK.limit)
    assert _has(image, DARK.muted)


def test_a_narrow_panel_puts_the_charts_below_one_another(panel: ChartPanel) -> None:
    """Where two columns would be too narrow there is one, and the other way round."""
    _feed(panel, samples(480))
    assert len({chart.x() for chart in panel.charts}) == 2
    panel.resize(560, 900)
    QApplication.processEvents()
    assert len({chart.x() for chart in panel.charts}) == 1
    panel.resize(1000, 640)
    QApplication.processEvents()
    assert len({chart.x() for chart in panel.charts}) == 2


def test_the_wheel_scrolls_what_is_around_the_charts(panel: ChartPanel) -> None:
    """Neither wheel nor drag changes what a chart shows: time is chosen by the buttons alone."""
    _feed(panel, samples(480))
    plot = _chart(panel, "Queue depth").plot
    before = plot.scale_shown
    middle = QPoint(plot.width() // 2, plot.height() // 2)
    QTest.mousePress(plot.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
    QTest.mouseMove(plot.viewport(), middle + QPoint(40, 0))
    QTest.mouseRelease(plot.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
    assert plot.scale_shown == before
    assert _chart(panel, "Queue depth").hasFocus()


def test_a_closed_panel_is_gone(themes: Themes, application: QApplication) -> None:
    """Nothing keeps the charts alive when their window is closed: not the themes, and not pyqtgraph."""
    made: Any = ChartPanel(themes=themes)
    made.resize(800, 600)
    made.show()
    _feed(made, samples(480))
    gone = weakref.ref(made), weakref.ref(made.charts[0].plot)
    made.close()
    made.deleteLater()
    del made
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_a_curve_is_painted_at_its_values_and_tinted_below(panel: ChartPanel, themes: Themes) -> None:
    """At the height of a value stands the curve's colour; above it is the bare card, and below it a tint."""
    flat = tuple(replace(sample, queue_depth=128) for sample in samples(480))
    _feed(panel, flat)
    image, plot = _image(panel, "Queue depth"), _chart(panel, "Queue depth").plot
    corner, scale = plot.mapFromScene(plot._box.mapToScene(QPointF(0, 0))), plot.scale_shown
    x, y = corner.x() + round(scale.width_px * 0.6), corner.y() + round(scale.y(128.0))
    colour, card = QColor(themes.current.series), image.pixelColor(x, y - 6)

    def distance(one: QColor, other: QColor) -> int:
        return abs(one.red() - other.red()) + abs(one.green() - other.green()) + abs(one.blue() - other.blue())

    assert min(distance(image.pixelColor(x, y + up), colour) for up in (-1, 0, 1)) < distance(card, colour) // 2
    assert 0 < distance(image.pixelColor(x, y + 6), card) < distance(card, colour) // 2
