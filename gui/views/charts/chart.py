"""One chart with its words: title, newest value, what to know about it, and the drawing below.

Covers turning samples into what the plot draws and into sentences for a screen reader; it can be walked with the
arrow keys. Which time window is shown is decided by the panel.
"""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from engine import HoldMark
from gui.models.figures import clock, duration
from gui.models.record_table import plain_tooltip
from gui.models.words import HOLDS
from gui.views.charts.holds import Band, causes_at
from gui.views.charts.kinds import Facts, Kind
from gui.views.charts.layers import Reading
from gui.views.charts.legend import Entry, Legend
from gui.views.charts.plot import Plot
from gui.views.charts.samples import Samples, thinned
from gui.views.colours import Theme
from gui.views.labels import ElidedLabel, PlainLabel, resize_font

_DESCRIBED_EVERY_S = 5.0
"""A screen reader is told the values no more often than this."""


class Chart(QFrame):
    """One chart.

    Signals:
        pointed (object): The user looks at this time (seconds since the start of the metrics), or no more (None).
    """

    pointed = Signal(object)

    def __init__(self, kind: Kind, theme: Theme, parent: QWidget | None = None) -> None:
        """Show no values yet.

        Args:
            kind: What it shows.
            theme: Its colours.
            parent: The panel.
        """
        super().__init__(parent)
        self.setProperty("card", True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"{kind.title}, chart")
        self.setToolTip(plain_tooltip(kind.explanation))
        self.kind = kind
        self.plot = Plot(kind)
        self.value_label = PlainLabel("no values yet")
        self.caption_label = ElidedLabel()
        self._legend = Legend(theme)
        self._samples = Samples.of((), None)
        self._facts: Facts | None = None
        self._marks: Sequence[HoldMark] = ()
        self._origin_s = 0.0
        self._at_s: float | None = None
        self._described_s: float | None = None
        self._arrange()
        self.dress(theme)
        self.plot.pointed.connect(self._point)

    def _arrange(self) -> None:
        title = PlainLabel(self.kind.title)
        resize_font(title, 1.0, weight=QFont.Weight.DemiBold)
        resize_font(self.value_label, 1.25, weight=QFont.Weight.DemiBold)
        resize_font(self.caption_label, 0.92)
        if len(self.kind.curves) > 1:
            self._legend.show_entries(
                tuple(Entry(words=curve.title, tone=curve.tone, style=curve.style) for curve in self.kind.curves)
            )
        top = QHBoxLayout()
        top.addWidget(title)
        top.addStretch(1)
        top.addWidget(self.value_label)
        second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self.caption_label, 1)
        second.addWidget(self._legend)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 8)
        column.setSpacing(2)
        column.addLayout(top)
        column.addLayout(second)
        column.addSpacing(4)
        column.addWidget(self.plot, 1)

    def dress(self, theme: Theme) -> None:
        """Take over colours."""
        small = QFont(self.font())
        small.setPointSizeF(max(7.0, small.pointSizeF() * 0.85))
        self.plot.dress(theme, small)
        self._legend.dress(theme)

    def show_samples(
        self,
        samples: Samples,
        facts: Facts,
        marks: Sequence[HoldMark],
        *,
        start_s: float,
        end_s: float,
        origin_s: float,
    ) -> None:
        """Draw samples.

        Args:
            samples: What to draw.
            facts: What the limits are.
            marks: The holds, for the words of the crosshair.
            start_s: Where the window begins, in seconds since the start of the metrics.
            end_s: Where it ends.
            origin_s: What the time axis calls 0.
        """
        self._samples, self._facts, self._marks, self._origin_s = samples, facts, marks, origin_s
        self.plot.count_from(now=origin_s != 0)
        points = [thinned(samples.times_s, samples.values(curve.read)) for curve in self.kind.curves]
        greatest = max((float(values.max()) for _, values in points if len(values)), default=0.0)
        top = self.kind.top(facts, greatest)
        self.plot.show_points(
            [(times_s - origin_s, values) for times_s, values in points],
            start_s=start_s - origin_s,
            end_s=end_s - origin_s,
            top=top,
        )
        self.plot.show_limits(self.kind.lines(facts, top))
        self._say()
        self.show_moment(self._at_s)

    def show_bands(self, found: tuple[Band, ...]) -> None:
        """Shade the times in which admission was held."""
        self.plot.holds.show_bands(found, self._origin_s)

    def show_moment(self, at_s: float | None) -> None:
        """Show the crosshair at the sample nearest to a time, or hide it."""
        self._at_s = at_s
        place = None if at_s is None else self._samples.nearest(at_s)
        if place is None:
            self.plot.crosshair.show_reading(None)
            return
        sample = self._samples.records[place]
        curves = self.kind.curves
        named = len(curves) > 1
        words = [
            f"{curve.title} {curve.words(curve.read(sample))}" if named else curve.words(curve.read(sample))
            for curve in curves
        ]
        held = [HOLDS[cause].short for cause in causes_at(self._marks, sample.at_s)]
        words.extend([f"held: {', '.join(held)}"] if held else [])
        last = self._samples.records[-1].at_s
        ago = "" if sample.at_s == last else f", {duration(last - sample.at_s)} ago"
        self.plot.crosshair.show_reading(
            Reading(
                at_s=sample.at_s - self._origin_s,
                words=(f"at {clock(sample.at_s)}{ago}", *words),
                dots=tuple((curve.read(sample), curve.tone) for curve in curves),
            )
        )
        if self.hasFocus():
            self.setAccessibleDescription(f"At {clock(sample.at_s)}{ago}: {'; '.join(words)}.")

    def _say(self) -> None:
        last, facts = self._samples.last, self._facts
        if last is None or facts is None:
            self.value_label.show_text("no values yet")
            return
        value, more = self.kind.value(last, facts), self.kind.caption(last, facts)
        self.value_label.show_text(value)
        self.caption_label.show_text(more)
        due = self._described_s is None or abs(last.at_s - self._described_s) >= _DESCRIBED_EVERY_S
        if due and self._at_s is None:
            self._described_s = last.at_s
            limits = "; ".join(line.words for line in self.plot.limits.lines)
            self.setAccessibleDescription(f"Now {value}, {more}." + (f" Limits: {limits}." if limits else ""))

    def _point(self, plot_s: float | None) -> None:
        self.pointed.emit(None if plot_s is None else plot_s + self._origin_s)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Override: walk through the samples with the arrow keys, Home and End; Escape hides the crosshair."""
        records = self._samples.records
        if not records:
            super().keyPressEvent(event)
            return
        step = max(1, len(records) // 60)
        here = None if self._at_s is None else self._samples.nearest(self._at_s)
        here = len(records) - 1 if here is None else here
        places = {
            Qt.Key.Key_Left: max(0, here - step),
            Qt.Key.Key_Right: min(len(records) - 1, here + step),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(records) - 1,
        }
        key = Qt.Key(event.key())
        if key in places:
            self.pointed.emit(records[places[key]].at_s)
        elif key is Qt.Key.Key_Escape and self._at_s is not None:
            self.pointed.emit(None)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Override: take the focus, so that the arrow keys work."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)
