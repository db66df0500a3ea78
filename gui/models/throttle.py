"""Many wishes, few acts: a call that happens at most once per interval, however often it is asked for."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Throttle(QObject):
    """Calls once, a fixed time after the first wish; wishes in between are covered by that call."""

    def __init__(self, call: Callable[[], None], *, delay_ms: int, parent: QObject) -> None:
        """Wait for the first wish.

        Args:
            call: What to do.
            delay_ms: From the first wish to the call.
            parent: With it, the throttle ends too, and a call that is due no longer happens.
        """
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(delay_ms)
        self._timer.timeout.connect(call)

    @property
    def waiting(self) -> bool:
        """Whether a call is due."""
        return self._timer.isActive()

    def ask(self) -> None:
        """Wish for a call."""
        if not self._timer.isActive():
            self._timer.start()

    def drop(self) -> None:
        """Forget the call that is due."""
        self._timer.stop()
