"""The four charts together: one time window, one crosshair, and the shading of holds.

Covers arranging and what they have in common. It draws when it is given metrics and can be seen; it has no timer of
its own for that, since the window pulls everything at one pace.
"""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from engine import FlowLimits, HoldMark, MetricSample
from gui.models.throttle import Throttle
from gui.models.words import HOLDS
from gui.views.charts.chart import Chart
from gui.views.charts.holds import bands, share_held
from gui.views.charts.kinds import KINDS, Facts
from gui.views.charts.legend import Entry, Legend
from gui.views.charts.samples import MOST_POINTS, Samples
from gui.views.colours import Theme
from gui.views.labels import ElidedLabel, caption
from gui.views.theme import Themes

WINDOWS: tuple[tuple[str, float | None], ...] = (("2 min", 120.0), ("10 min", 600.0), ("Whole run", None))
"""The time windows to choose from, in seconds; None for all there is."""

_ONE_COLUMN_BELOW_PX = 640
_CROSSHAIR_DELAY_MS = 30


class ChartPanel(QWidget):
    """Queue depth, memory, permits and throughput over one time axis.

    Signals:
        window_changed (object): Another time window was chosen, in seconds as a float, or None for the whole run.
    """

    window_changed = Signal(object)
    POINTS = MOST_POINTS
    """How many samples are worth asking for."""

    def __init__(self, *, themes: Themes, parent: QWidget | None = None) -> None:
        """Show empty charts.

        Args:
            themes: Says which colours are in force.
            parent: The page it is on.
        """
        super().__init__(parent)
        self.setAccessibleName("Live charts")
        theme = themes.current
        self.charts = tuple(Chart(kind, theme) for kind in KINDS)
        self._legend = Legend(theme)
        self._no_holds = ElidedLabel("never held in this time")
        self._given: tuple[Sequence[MetricSample], Sequence[HoldMark], Facts] | None = None
        self._drawn_is_old = False
        self._window_s: float | None = WINDOWS[0][1]
        self._columns = 0
        self._pointed_s: float | None = None
        self._moving = Throttle(self._move_crosshair, delay_ms=_CROSSHAIR_DELAY_MS, parent=self)
        self._choices = QButtonGroup(self)
        self.holds_box = QCheckBox("Shade h&olds")
        self._grid = QGridLayout()
        self._arrange()
        for chart in self.charts:
            chart.pointed.connect(self._point)
        themes.changed.connect(self._dress)

    @property
    def window_s(self) -> float | None:
        """The time window to read metrics for, in seconds, or None for the whole run."""
        return self._window_s

    def show_metrics(
        self,
        samples: Sequence[MetricSample],
        holds: Sequence[HoldMark],
        limits: FlowLimits,
        budget_bytes: int,
        slope: float | None,
    ) -> None:
        """Draw metrics, unless they are drawn already; while nobody can see the charts, they are only kept.

        Args:
            samples: Samples of at least the chosen window, oldest first.
            holds: Holds of that time.
            limits: The limits in force.
            budget_bytes: The memory budget.
            slope: How memory has moved since the warm-up, in bytes per second, or None while that is not known.
        """
        facts = Facts(limits=limits, budget_bytes=budget_bytes, slope_bytes_per_s=slope)
        given = (samples, holds, facts)
        if given == self._given and not self._drawn_is_old:  # drawing costs far more than comparing
            return
        self._given = given
        self._draw()

    def clear(self) -> None:
        """Show empty charts, for another case."""
        if self._given is not None:
            self._given = ((), (), self._given[2])
            self._draw()

    def choose_window(self, window_s: float | None) -> None:
        """Show another time window."""
        place = [seconds for _, seconds in WINDOWS].index(window_s)
        self._choices.button(place).setChecked(True)

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(6)
        label = caption("Time shown")
        bar.addWidget(label)
        self._choices.setExclusive(True)
        for place, (words, _) in enumerate(WINDOWS):
            button = QPushButton(words)
            button.setCheckable(True)
            button.setChecked(place == 0)
            button.setProperty("choice", True)
            button.setAccessibleName(f"Show {words.lower()}")
            self._choices.addButton(button, place)
            bar.addWidget(button)
        self._choices.idToggled.connect(self._choose)
        bar.addSpacing(12)
        self.holds_box.setChecked(True)
        self.holds_box.setToolTip("Shade the times in which no more pages were let in")
        self.holds_box.toggled.connect(self._draw)
        bar.addWidget(self.holds_box)
        bar.addSpacing(6)
        bar.addWidget(self._legend, 1)
        bar.addWidget(self._no_holds, 1)
        self._legend.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(bar)
        self._grid.setSpacing(10)
        column.addLayout(self._grid, 1)
        self._lay_out(2)
        stops: list[QWidget] = [*self._choices.buttons(), self.holds_box, *self.charts]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def _lay_out(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for place, chart in enumerate(self.charts):
            self._grid.addWidget(chart, place // columns, place % columns)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1 if columns > 1 else 0)

    def _draw(self) -> None:
        self._drawn_is_old = not self.isVisible()
        if self._given is None or self._drawn_is_old:
            return
        records, marks, facts = self._given
        samples = Samples.of(records, self._window_s)
        last_s = samples.last.at_s if samples.last else 0.0
        if self._window_s is None:
            start_s = float(samples.times_s[0]) if samples.last else 0.0
            end_s, origin_s = max(last_s, start_s + 10.0), 0.0
        else:
            start_s, end_s, origin_s = last_s - self._window_s, last_s, last_s
        shaded = bands(marks, start_s, end_s) if self.holds_box.isChecked() else ()
        for chart in self.charts:
            chart.show_samples(samples, facts, marks, start_s=start_s, end_s=end_s, origin_s=origin_s)
            chart.show_bands(shaded)
        self._explain_holds(marks, start_s, end_s)

    def _explain_holds(self, marks: Sequence[HoldMark], start_s: float, end_s: float) -> None:
        shares = share_held(marks, start_s, end_s)
        entries = tuple(
            Entry(words=f"{words.short} {max(1, round(shares[cause] * 100))}\u00a0%", cause=cause)
            for cause, words in HOLDS.items()
            if cause in shares
        )
        shown = self.holds_box.isChecked()
        self._legend.show_entries(entries)
        self._legend.setToolTip("Share of the time shown in which each cause held admission")
        self._legend.setVisible(shown and bool(entries))
        self._no_holds.setVisible(shown and not entries)

    def _choose(self, place: int, chosen: bool) -> None:  # noqa: FBT001  # a Qt slot
        if chosen:
            self._window_s = WINDOWS[place][1]
            self._draw()
            self.window_changed.emit(self._window_s)

    def _point(self, at_s: float | None) -> None:
        self._pointed_s = at_s
        self._moving.ask()

    def _move_crosshair(self) -> None:
        for chart in self.charts:
            chart.show_moment(self._pointed_s)

    def _dress(self, theme: Theme) -> None:
        for chart in self.charts:
            chart.dress(theme)
        self._legend.dress(theme)

    def showEvent(self, event: QShowEvent) -> None:
        """Override: draw what came while it was hidden."""
        super().showEvent(event)
        if self._drawn_is_old:
            self._draw()

    def hideEvent(self, event: QHideEvent) -> None:
        """Override: forget where the pointer was."""
        super().hideEvent(event)
        self._moving.drop()
        self._pointed_s = None

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Override: one column where it is narrow."""
        super().resizeEvent(event)
        self._lay_out(1 if event.size().width() < _ONE_COLUMN_BELOW_PX else 2)
