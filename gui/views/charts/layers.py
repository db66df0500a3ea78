"""What a chart draws besides its curves: bands of holds, lines of limits, and the crosshair with its values.

Covers painting in the pixels of the plot. A layer is one item however much it shows, so that it costs one paint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from engine import HoldCause
from gui.views.charts.holds import Band
from gui.views.colours import LIGHT, Theme

HATCHES = {
    HoldCause.WATERMARK: Qt.BrushStyle.BDiagPattern,
    HoldCause.USER: Qt.BrushStyle.VerPattern,
    HoldCause.MEMORY: Qt.BrushStyle.DiagCrossPattern,
    HoldCause.DISK: Qt.BrushStyle.HorPattern,
    HoldCause.UPSTREAM: Qt.BrushStyle.FDiagPattern,
    HoldCause.STORAGE: Qt.BrushStyle.CrossPattern,
}
"""A hatching for each cause, since colour alone would not tell them apart for everyone."""

_FILL_ALPHA = 32
_HATCH_ALPHA = 200
_RIBBON_PX = 6
"""Height of the hatched ribbon of a cause: hatching a whole band costs twenty times as much as tinting it."""
_WORDS_GROUND_ALPHA = 205


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What part of time and of values a plot shows, and on how many pixels."""

    start_s: float = 0.0
    end_s: float = 1.0
    top: float = 1.0
    """The value at the upper edge; the lower edge is 0."""
    width_px: float = 1.0
    height_px: float = 1.0

    def x(self, at_s: float) -> float:
        """Return where a time lies, in pixels from the left."""
        return (at_s - self.start_s) / (self.end_s - self.start_s) * self.width_px

    def y(self, value: float) -> float:
        """Return where a value lies, in pixels from the top."""
        return self.height_px - value / self.top * self.height_px

    def at_s(self, x_px: float) -> float:
        """Return the time at a place."""
        return self.start_s + x_px / max(1.0, self.width_px) * (self.end_s - self.start_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """A limit, drawn as a line across the chart with its words on it."""

    value: float
    words: str
    style: Qt.PenStyle
    tone: str = "limit"
    """Name of the theme's colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a chart says about one moment."""

    at_s: float
    words: tuple[str, ...]
    """Lines of the label."""
    dots: tuple[tuple[float, str], ...]
    """Values to mark on the curves, each with the name of the theme's colour."""


class Layer(QGraphicsItem):
    """A part of a chart that is painted in pixels of the plot."""

    def __init__(self, parent: QGraphicsItem, depth: float) -> None:
        """Lie over or under the curves.

        Args:
            parent: The view box.
            depth: Below 0 for under the curves.
        """
        super().__init__(parent)
        self.setZValue(depth)
        self._scale = Scale()
        self._theme: Theme = LIGHT
        self._font = QFont()

    def dress(self, theme: Theme, font: QFont) -> None:
        """Take over colours and font."""
        self._theme, self._font = theme, font
        self.update()

    def set_scale(self, scale: Scale) -> None:
        """Take over what is shown."""
        if scale != self._scale:
            self.prepareGeometryChange()
            self._scale = scale

    def boundingRect(self) -> QRectF:
        """Override: the whole plot."""
        return QRectF(0, 0, self._scale.width_px, self._scale.height_px)

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Override: paint in pixels."""
        painter.setFont(self._font)
        self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        raise NotImplementedError  # each kind of layer has its own; this one is never put into a chart


class HoldLayer(Layer):
    """The bands of holds."""

    def __init__(self, parent: QGraphicsItem) -> None:
        """Start without bands."""
        super().__init__(parent, -20)
        self.bands: tuple[Band, ...] = ()
        """In seconds since the start of the metrics."""
        self._origin_s = 0.0

    def show_bands(self, bands: tuple[Band, ...], origin_s: float) -> None:
        """Show other bands.

        Args:
            bands: In seconds since the start of the metrics.
            origin_s: What the time axis calls 0.
        """
        self.bands, self._origin_s = bands, origin_s
        self.update()

    def _paint(self, painter: QPainter) -> None:
        # One ribbon below the other, so that holds at the same time are all seen.
        lanes = {cause: lane for lane, cause in enumerate(dict.fromkeys(band.cause for band in self.bands))}
        painter.setPen(Qt.PenStyle.NoPen)
        # Many at a time: one call of the painter costs more than one rectangle.
        for (cause, share), alike in groupby(self.bands, key=lambda band: (band.cause, band.share)):
            spans = [self._span(band) for band in alike]
            top = lanes[cause] * (_RIBBON_PX + 1)
            ribbons = [QRectF(left, top, width, _RIBBON_PX) for left, width in spans]
            tint, hatching = hold_brushes(self._theme, cause)
            painter.setOpacity(share)
            painter.setBrush(tint)
            painter.drawRects([QRectF(left, 0, width, self._scale.height_px) for left, width in spans] + ribbons)
            painter.setBrush(hatching)
            painter.drawRects(ribbons)
        painter.setOpacity(1.0)

    def _span(self, band: Band) -> tuple[float, float]:
        """Return where a band begins and how wide it is, in pixels; one shorter than a pixel still shows."""
        left = self._scale.x(band.start_s - self._origin_s)
        return left, max(1.0, self._scale.x(band.end_s - self._origin_s) - left)


class LimitLayer(Layer):
    """The lines of limits, under the curves."""

    def __init__(self, parent: QGraphicsItem, depth: float = -5) -> None:
        """Start without lines."""
        super().__init__(parent, depth)
        self.lines: tuple[LimitLine, ...] = ()

    def show_lines(self, lines: Sequence[LimitLine]) -> None:
        """Show other lines."""
        if tuple(lines) != self.lines:
            self.lines = tuple(lines)
            self.update()

    def _y(self, line: LimitLine) -> float:
        return round(max(1.0, self._scale.y(line.value))) + 0.5

    def _paint(self, painter: QPainter) -> None:
        for line in self.lines:
            painter.setPen(QPen(QColor(getattr(self._theme, line.tone)), 1, line.style))
            painter.drawLine(QPointF(0, self._y(line)), QPointF(self._scale.width_px, self._y(line)))


class LimitWordsLayer(LimitLayer):
    """The words of limits, over the curves and readable on them; one that finds no room stands in the caption only."""

    def __init__(self, parent: QGraphicsItem) -> None:
        """Start without words."""
        super().__init__(parent, 10)

    def _paint(self, painter: QPainter) -> None:
        metrics = QFontMetricsF(self._font)
        ground = QColor(self._theme.surface)
        ground.setAlpha(_WORDS_GROUND_ALPHA)
        free_from = 0.0
        for line in sorted(self.lines, key=lambda line: -line.value):
            y, height = self._y(line), metrics.height()
            top = y - height - 2 if y - height - 2 >= free_from else y + 2
            if top < free_from or top + height > self._scale.height_px:
                continue
            box = QRectF(4, top, metrics.horizontalAdvance(line.words) + 8, height)
            painter.fillRect(box, ground)
            painter.setPen(QColor(getattr(self._theme, line.tone)))
            painter.drawText(QPointF(box.left() + 4, box.top() + metrics.ascent()), line.words)
            free_from = box.bottom()


class CrosshairLayer(Layer):
    """A line at one moment, a dot on each curve, and a small label with the values."""

    def __init__(self, parent: QGraphicsItem) -> None:
        """Start hidden."""
        super().__init__(parent, 50)
        self.reading: Reading | None = None

    def show_reading(self, reading: Reading | None) -> None:
        """Show another moment, or nothing."""
        if reading != self.reading:
            self.reading = reading
            self.update()

    def _paint(self, painter: QPainter) -> None:
        if self.reading is None:
            return
        theme, x = self._theme, self._scale.x(self.reading.at_s)
        painter.setPen(QPen(QColor(theme.muted), 1))
        painter.drawLine(QPointF(round(x) + 0.5, 0), QPointF(round(x) + 0.5, self._scale.height_px))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for value, tone in self.reading.dots:
            painter.setPen(QPen(QColor(theme.surface), 1))
            painter.setBrush(QColor(getattr(theme, tone)))
            painter.drawEllipse(QPointF(x, max(0.0, self._scale.y(value))), 3.5, 3.5)
        self._paint_label(painter, x, self.reading.words)

    def _paint_label(self, painter: QPainter, x: float, words: tuple[str, ...]) -> None:
        metrics = QFontMetricsF(self._font)
        width = max(metrics.horizontalAdvance(line) for line in words) + 14
        height = metrics.lineSpacing() * len(words) + 8
        left = x + 8 if x + 8 + width <= self._scale.width_px else x - 8 - width
        box = QRectF(max(0.0, left), 6, width, height)
        painter.setPen(QColor(self._theme.border))
        painter.setBrush(QColor(self._theme.raised))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(QColor(self._theme.text))
        for place, line in enumerate(words):
            painter.drawText(
                QPointF(box.left() + 7, box.top() + 4 + metrics.ascent() + place * metrics.lineSpacing()), line
            )


def hold_brushes(theme: Theme, cause: HoldCause) -> tuple[QBrush, QBrush]:
    """Return the tint and the hatching of a cause, to be painted one over the other."""
    fill, hatch = QColor(theme.holds[cause]), QColor(theme.holds[cause])
    fill.setAlpha(_FILL_ALPHA)
    hatch.setAlpha(_HATCH_ALPHA)
    return QBrush(fill), QBrush(hatch, HATCHES[cause])
