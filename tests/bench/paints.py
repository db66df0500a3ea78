"""Counts paints; apart, since the smallest window that is measured loads nothing but Qt and a plot."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget


class PaintCount(QObject):
    """Counts how often widgets are painted.

    Args:
        widgets: The widgets.
    """

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self.painted = 0
        self._then: Callable[[], None] | None = None
        for widget in widgets:
            widget.installEventFilter(self)

    def painted_since(self, count: int) -> bool:
        """Return whether anything was painted since there were so many paints."""
        return self.painted > count

    def when_painted(self, then: Callable[[], None]) -> None:
        """Call a function once everything that is painted with the next paint is there."""
        self._then = then

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802  # Override
        """Override: count and let pass."""
        if event.type() == QEvent.Type.Paint:
            self.painted += 1
            if self._then is not None:
                QTimer.singleShot(0, self._then)
                self._then = None
        return False
