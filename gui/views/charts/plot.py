"""The drawn part of a chart: curves between two axes, over the bands of holds and under the crosshair.

Covers drawing what it is given, and telling where the pointer is. It keeps its curves and gives them other points.
"""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFont, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsView, QGraphicsWidget, QWidget

from gui.views.charts.axes import LEFT_WIDTH_PX, TimeAxis
from gui.views.charts.curves import CurveLayer, Stroke
from gui.views.charts.kinds import Kind
from gui.views.charts.layers import CrosshairLayer, HoldLayer, LimitLayer, LimitLine, LimitWordsLayer, Scale
from gui.views.charts.samples import Floats
from gui.views.colours import Theme


class Plot(pg.GraphicsView):  # type: ignore[misc]  # pyqtgraph ships no types
    """Curves, axes and layers of one chart.

    Signals:
        pointed (object): The pointer is over this time, as a float in the plot's own time, or has left (None).
    """

    pointed = Signal(object)

    def __init__(self, kind: Kind, parent: QWidget | None = None) -> None:
        """Draw nothing yet.

        Args:
            kind: What it shows.
            parent: The chart.
        """
        super().__init__(parent, background=None)
        # Every redraw changes nearly everything, so that working out what changed would only cost.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.viewport().setAutoFillBackground(False)  # the card behind shows through
        self._scale = Scale()
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0)
        self._box.disableAutoRange()
        self._left, self._bottom = kind.axis(), TimeAxis()
        self._left.setWidth(LEFT_WIDTH_PX)
        self._left.name(kind.unit)
        self._arrange()
        self.holds, self.limits = HoldLayer(self._box), LimitLayer(self._box)
        self.words, self.crosshair = LimitWordsLayer(self._box), CrosshairLayer(self._box)
        self._curves = CurveLayer(
            self._box, [Stroke(tone=curve.tone, style=curve.style, filled=curve.filled) for curve in kind.curves]
        )
        self._layers = (self.holds, self.limits, self._curves, self.words, self.crosshair)
        self._box.sigResized.connect(self._rescale)

    def _arrange(self) -> None:
        inside = QGraphicsWidget()
        grid = QGraphicsGridLayout(inside)
        grid.setContentsMargins(0, 7, 16, 0)
        grid.setSpacing(0)
        grid.addItem(self._left, 0, 0)
        grid.addItem(self._box, 0, 1)
        grid.addItem(self._bottom, 1, 1)
        grid.setColumnStretchFactor(1, 100)
        grid.setRowStretchFactor(0, 100)
        self._left.linkToView(self._box)
        self._bottom.linkToView(self._box)
        # Below the curves, so that their grid lines do not cross them.
        self._left.setZValue(-200)
        self._bottom.setZValue(-200)
        self.setCentralItem(inside)

    @property
    def drawn(self) -> tuple[tuple[Floats, Floats], ...]:
        """The points of each curve as they are drawn."""
        return tuple(self._curves.points)

    @property
    def scale_shown(self) -> Scale:
        """What part of time and of values is shown."""
        return self._scale

    def dress(self, theme: Theme, font: QFont) -> None:
        """Take over colours and font."""
        for axis in (self._left, self._bottom):
            axis.dress(theme, font)
        for layer in self._layers:
            layer.dress(theme, font)

    def count_from(self, *, now: bool) -> None:
        """Say what the time axis calls 0: the present moment, or the start."""
        self._bottom.count_from(now=now)

    def show_points(self, points: Sequence[tuple[Floats, Floats]], *, start_s: float, end_s: float, top: float) -> None:
        """Draw other points.

        Args:
            points: Times and values of each curve.
            start_s: Where the time axis begins.
            end_s: Where it ends.
            top: Where the axis of values ends; it begins at 0.
        """
        self._curves.show_points(points)
        self._box.setRange(xRange=(start_s, end_s), yRange=(0.0, top), padding=0, update=False)
        self._scale = Scale(start_s=start_s, end_s=end_s, top=top)
        self._rescale()

    def show_limits(self, lines: Sequence[LimitLine]) -> None:
        """Draw other limits."""
        self.limits.show_lines(lines)
        self.words.show_lines(lines)

    def _rescale(self) -> None:
        """Tell the layers what is shown, on as many pixels as there are now."""
        area = self._box.rect()
        old = self._scale
        self._scale = Scale(
            start_s=old.start_s,
            end_s=old.end_s,
            top=old.top,
            width_px=max(1.0, area.width()),
            height_px=max(1.0, area.height()),
        )
        for layer in self._layers:
            layer.set_scale(self._scale)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Override: tell where the pointer is; the scene need not know."""
        x = self._box.mapFromScene(self.mapToScene(event.position().toPoint())).x()
        self.pointed.emit(self._scale.at_s(min(max(0.0, x), self._scale.width_px)))
        event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Override: leave it to the chart, which takes the focus."""
        event.ignore()

    def leaveEvent(self, _event: QEvent) -> None:
        """Override: tell that the pointer has left."""
        self.pointed.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Override: leave it to whatever scrolls around the chart."""
        event.ignore()

    def minimumSizeHint(self) -> QSize:
        """Override: small enough for a laptop."""
        return QSize(180, 84)

    def sizeHint(self) -> QSize:
        """Override: four of them fit a window."""
        return QSize(420, 170)
