"""Pulls from the session and shows it: the one place where the window follows the engine.

Covers when something is shown: numbers four times a second, charts twice, since they take longest and a shortest window
of two minutes moves by about two pixels in that time. While the window is hidden or minimised only its title follows.
What is pulled is plain records; how they look is the business of the views.
"""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from engine import Snapshot
from gui.window.control import CaseControl

PERIOD_MS = 250
CHARTS_PERIOD_MS = 500


class Refresh(QObject):
    """The two timers.

    Args:
        control: Has the session.
        show_title: Shows a snapshot in title and actions; called even while the window is hidden.
        show_all: Shows a snapshot, and tables with it.
        show_charts: Reads the metrics and draws them.
        visible: Tells whether anybody can see the window.
        parent: The window.
    """

    def __init__(
        self,
        *,
        control: CaseControl,
        show_title: Callable[[Snapshot], None],
        show_all: Callable[[Snapshot], None],
        show_charts: Callable[[], None],
        visible: Callable[[], bool],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._control = control
        self._show_title = show_title
        self._show_all = show_all
        self._show_charts = show_charts
        self._visible = visible
        self._shown: Snapshot | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD_MS)
        self._timer.timeout.connect(self.tick)
        self._charts_timer = QTimer(self)
        self._charts_timer.setInterval(CHARTS_PERIOD_MS)
        self._charts_timer.timeout.connect(self.tick_charts)
        control.opened.connect(self.start)
        control.closed.connect(self.stop)
        control.changed.connect(self.now)

    @property
    def active(self) -> bool:
        """Whether the timers run: as long as a case is open."""
        return self._timer.isActive() or self._charts_timer.isActive()

    def start(self) -> None:
        """Follow the session that was opened."""
        self._timer.start()
        self._charts_timer.start()
        self.now()

    def stop(self) -> None:
        """Follow nothing."""
        self._timer.stop()
        self._charts_timer.stop()
        self._shown = None

    def now(self) -> None:
        """Show the state at once, because a person did something or looks again."""
        self._shown = None
        self.tick()

    def tick(self) -> None:
        """Show the state, unless nobody sees it or a case at rest is shown as it is already."""
        snapshot = self._control.snapshot()
        if snapshot is None:
            return
        self._show_title(snapshot)
        running = self._control.running
        if not self._visible() or not (running or snapshot != self._shown):
            return
        at_once = self._shown is None or not running
        self._shown = snapshot
        self._show_all(snapshot)
        if at_once:
            self._show_charts()

    def tick_charts(self) -> None:
        """Draw the charts, where a run goes on and somebody sees it."""
        if self._control.running and self._visible():
            self._show_charts()
