"""Small drawn samples of lines and hatchings, each with its words."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine import HoldCause
from gui.views.charts.layers import hold_brushes
from gui.views.colours import Theme

_SWATCH_PX = 18
_GAP_PX = 5
_BETWEEN_PX = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a legend: a curve, or a cause of hold."""

    words: str
    tone: str = ""
    """For a curve: the name of the theme's colour."""
    style: Qt.PenStyle = Qt.PenStyle.SolidLine
    cause: HoldCause | None = None


class Legend(QWidget):
    """Entries side by side; those that do not fit are left out, and all of them stand in the tooltip."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        """Start empty."""
        super().__init__(parent)
        self._theme = theme
        self.entries: tuple[Entry, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_entries(self, entries: tuple[Entry, ...]) -> None:
        """Show other entries."""
        if entries != self.entries:
            self.entries = entries
            self.setAccessibleName(", ".join(entry.words for entry in entries))
            self.updateGeometry()
            self.update()

    def dress(self, theme: Theme) -> None:
        """Take over colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Override: as wide as all entries."""
        return QSize(sum(self._width(entry) for entry in self.entries), self.fontMetrics().height() + 4)

    def minimumSizeHint(self) -> QSize:
        """Override: it may shrink to nothing."""
        return QSize(0, self.fontMetrics().height() + 4)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Override: draw from left to right, as much as fits."""
        painter = QPainter(self)
        x, middle = 0, self.height() / 2
        for entry in self.entries:
            width = self._width(entry)
            if x + width - _BETWEEN_PX > self.width():
                break
            self._paint_swatch(painter, entry, x, middle)
            painter.setPen(QColor(self._theme.muted))
            room = QRectF(x + _SWATCH_PX + _GAP_PX, 0, width, self.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, entry.words)
            x += width

    def _paint_swatch(self, painter: QPainter, entry: Entry, x: int, middle: float) -> None:
        if entry.cause is None:
            painter.setPen(QPen(QColor(getattr(self._theme, entry.tone)), 2, entry.style))
            painter.drawLine(QPointF(x, middle), QPointF(x + _SWATCH_PX, middle))
            return
        area = QRectF(x + 2, middle - 6, 14, 12)
        for brush in hold_brushes(self._theme, entry.cause):
            painter.fillRect(area, brush)
        painter.setPen(QPen(QColor(self._theme.holds[entry.cause]), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area)

    def _width(self, entry: Entry) -> int:
        return _SWATCH_PX + _GAP_PX + self.fontMetrics().horizontalAdvance(entry.words) + _BETWEEN_PX
