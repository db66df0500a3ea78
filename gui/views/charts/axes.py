"""Axes that people can read: times as a clock shows them, sizes in MB, and upper ends that stand still.

Covers where ticks stand and what they say. Which range is shown is decided by the chart.
"""

import math
from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF

from gui.models.figures import clock, count
from gui.views.colours import LIGHT, Theme

MIB = 1024 * 1024
_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_TICK_LENGTH_PX = 0
LEFT_WIDTH_PX = 58
_OVERHANG_PX = 16
_TICK_DISTANCE_PX = 34


class Axis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph ships no types
    """An axis without a line, with muted figures and grid lines at its main ticks."""

    def __init__(self, side: str, words: Callable[[float], str], steps: Callable[[float, float], float]) -> None:
        """Prepare an axis.

        Args:
            side: `left` or `bottom`.
            words: What a tick says.
            steps: The distance of ticks, from the length of the axis in its own units and in pixels.
        """
        super().__init__(side, maxTickLength=_TICK_LENGTH_PX)
        self.enableAutoSIPrefix(False)
        self._words = words
        self._steps = steps
        self._name = ""
        self._look = {"color": LIGHT.muted, "font-size": "8pt"}

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:  # noqa: N803  # pyqtgraph's names
        """Override: one level of ticks."""
        length = abs(maxVal - minVal)
        return [(self._steps(length, size), 0.0)] if length > 0 and size > 0 else []

    def tickStrings(self, values: Sequence[float], _scale: float, _spacing: float) -> list[str]:
        """Override: say each tick in our words."""
        return [self._words(value) for value in values]

    def boundingRect(self) -> QRectF:
        """Override: leave room for figures at both ends; with grid lines, pyqtgraph leaves none and drops them."""
        return QRectF(super().boundingRect()).adjusted(-_OVERHANG_PX, -_OVERHANG_PX, _OVERHANG_PX, _OVERHANG_PX)

    def name(self, name: str) -> None:
        """Say what the axis shows, with its unit."""
        if name != self._name:
            self._name = name
            self.setLabel(name, **self._look)

    def dress(self, theme: Theme, font: QFont) -> None:
        """Take over colours and font."""
        self._look = {"color": theme.muted, "font-size": f"{font.pointSizeF():.1f}pt"}
        self.setLabel(self._name, **self._look)
        self.setPen(QColor(theme.grid))
        self.setTextPen(QColor(theme.muted))
        self.setTickFont(font)
        self.setGrid(255)


class TimeAxis(Axis):
    """The axis of time: either up to now, or from the start of the metrics."""

    def __init__(self) -> None:
        """Count from the start."""
        super().__init__("bottom", clock, _time_step)
        self.setStyle(tickTextOffset=4)

    def count_from(self, *, now: bool) -> None:
        """Call 0 the present moment, or the start."""
        self._words = _before_now if now else clock
        self.name("time before now (min:s)" if now else "time since the start (min:s)")

    def dress(self, theme: Theme, font: QFont) -> None:
        """Override: take no more room than figures and name need."""
        super().dress(theme, font)
        self.setHeight(round(2.1 * QFontMetricsF(font).height()) + 4)


def count_axis() -> Axis:
    """Return an axis of pages or of pages a second."""
    return Axis("left", lambda value: count(value) if value == round(value) else f"{value:g}", _step)


def size_axis() -> Axis:
    """Return an axis of memory, in MB."""
    return Axis("left", lambda value: count(value / MIB), lambda length, size: _step(length / MIB, size) * MIB)


def _before_now(value_s: float) -> str:
    return f"\u2212{clock(-value_s)}" if value_s < 0 else "now"


def nice_ceiling(value: float) -> float:
    """Return the next round number that is not below a value, so that an axis does not move with every sample."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-9))


def _step(length: float, size_px: float) -> float:
    """Return a round distance of ticks, such that there is at least one beside 0."""
    wanted = length / max(1.0, size_px / _TICK_DISTANCE_PX)
    power = 10.0 ** math.floor(math.log10(wanted))
    steps = [step * power for step in (0.5, 1, 2, 2.5, 5, 10)]
    step = next(step for step in steps if step >= wanted * (1 - 1e-9))
    return step if step <= length else max(step for step in steps if step <= length)


def _time_step(length_s: float, size_px: float) -> float:
    wanted = length_s / max(1.0, size_px / 70)
    return next((step for step in _TIME_STEPS_S if step >= wanted), math.ceil(wanted / 86400) * 86400)
