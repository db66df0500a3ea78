"""The curves of a chart, with the tints below them: one item, painted in the pixels of the plot.

pyqtgraph's own item for a curve works out bounds and transformations at every redraw, which costs more than to draw
it. Which points are drawn is the business of `samples`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem

from gui.views.charts.layers import Layer
from gui.views.charts.samples import Floats
from gui.views.colours import Theme

_FILL_ALPHA = 30
_NO_POINTS: Floats = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """How a curve is drawn."""

    tone: str
    """Name of the theme's colour."""
    style: Qt.PenStyle = Qt.PenStyle.SolidLine
    filled: bool = False
    """Whether the area below it is tinted."""


class CurveLayer(Layer):
    """All curves of a chart, in order, each above the tints of all."""

    def __init__(self, parent: QGraphicsItem, strokes: Sequence[Stroke]) -> None:
        """Start without points.

        Args:
            parent: The view box.
            strokes: How each curve is drawn.
        """
        super().__init__(parent, 0)
        self._strokes = tuple(strokes)
        self.points: Sequence[tuple[Floats, Floats]] = [(_NO_POINTS, _NO_POINTS)] * len(self._strokes)
        """Times and values of each curve."""
        self._pens: list[QPen] = []
        self._tints: list[QColor] = []

    def dress(self, theme: Theme, font: QFont) -> None:
        """Override: make pens of the colours."""
        super().dress(theme, font)
        # Width 1: Qt draws wider lines many times slower.
        self._pens = [QPen(QColor(getattr(theme, stroke.tone)), 1, stroke.style) for stroke in self._strokes]
        self._tints = [pen.color() for pen in self._pens]
        for tint in self._tints:
            tint.setAlpha(_FILL_ALPHA)

    def show_points(self, points: Sequence[tuple[Floats, Floats]]) -> None:
        """Draw other points."""
        self.points = points
        self.update()

    def _paint(self, painter: QPainter) -> None:
        places = [self._place(times_s, values) for times_s, values in self.points]
        # A curve comes in from a sample before the time that is shown, and may run along either edge.
        painter.setClipRect(self.boundingRect().adjusted(0, -1, 0, 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.setPen(Qt.PenStyle.NoPen)
        for stroke, tint, (x, y) in zip(self._strokes, self._tints, places, strict=True):
            if stroke.filled and len(x):
                painter.setBrush(tint)
                painter.drawPolygon(self._area(x, y))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for pen, (x, y) in zip(self._pens, places, strict=True):
            if len(x):
                painter.setPen(pen)
                painter.drawPolyline(arrayToQPolygonF(x, y))

    def _place(self, times_s: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return where points lie, in pixels; what `Scale` says of single ones, for all at once."""
        scale = self._scale
        x = (times_s - scale.start_s) * (scale.width_px / (scale.end_s - scale.start_s))
        return x, scale.height_px - values * (scale.height_px / scale.top)

    def _area(self, x: Floats, y: Floats) -> QPolygonF:
        """Return the area between a curve and the lower edge."""
        ground = self._scale.height_px
        area: QPolygonF = arrayToQPolygonF(
            np.concatenate((x[:1], x, x[-1:])), np.concatenate(((ground,), y, (ground,)))
        )
        return area
