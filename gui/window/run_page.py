"""The page of an open case: header, charts, both tables and the status line, fed from one session.

Covers arranging the views and handing them what was pulled. When that happens is the business of `refresh`.
"""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QScrollArea, QSplitter, QTabWidget, QVBoxLayout, QWidget

from engine import Counts, Snapshot
from gui.models.dead_letter_table import DeadLetterTable
from gui.models.details import Details, dead_letter_details, document_details
from gui.models.document_table import DocumentTable
from gui.models.figures import count
from gui.models.throttle import Throttle
from gui.views.charts.panel import ChartPanel
from gui.views.detail_pane import TableWithDetails
from gui.views.header import RunHeader
from gui.views.icons import IconName, Icons
from gui.views.status_line import StatusLine
from gui.views.tables import RecordView
from gui.views.theme import Themes
from gui.window.rows import RowFeed
from gui.window.seams import CaseSession, Tasks

ROWS_PERIOD_MS = 1000
"""Rows that show already are read anew at most so often; new ones are read at once."""


class RunPage(QWidget):
    """Shows one session.

    Signals:
        copied: Rows were copied; carries how many, and how many were selected.

    `rows_due` reads the rows that show anew, some time after the counts changed.
    """

    copied = Signal(int, int)

    def __init__(self, *, tasks: Tasks, themes: Themes, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._themes = themes
        self._counts: Counts | None = None
        self._has_dead = False
        self._budget_bytes = 0
        self._session: CaseSession | None = None
        self.header = RunHeader(themes=themes, icons=icons)
        self.charts = ChartPanel(themes=themes)
        self.status = StatusLine(themes=themes, icons=icons)
        self.documents = DocumentTable(self)
        self.dead_letters = DeadLetterTable(self)
        self.documents_view = RecordView(
            self.documents,
            name="Documents",
            empty_title="No documents yet",
            empty_text="Every file that is found stands here, those left out included.",
            themes=themes,
            icons=icons,
        )
        self.dead_letters_view = RecordView(
            self.dead_letters,
            name="Dead letters",
            empty_title="No dead letters",
            empty_text="Pages and documents that could not be processed stand here, each with its reason.",
            themes=themes,
            icons=icons,
        )
        self._feeds = (
            RowFeed("read documents", self.documents, tasks=tasks, parent=self),
            RowFeed("read dead letters", self.dead_letters, tasks=tasks, parent=self),
        )
        self.documents.requested.connect(self._feeds[0].request)
        self.dead_letters.requested.connect(self._feeds[1].request)
        self.rows_due = Throttle(self._show_rows, delay_ms=ROWS_PERIOD_MS, parent=self)
        self._arrange()
        self.charts.window_changed.connect(self.show_charts)
        self.tabs.currentChanged.connect(self._show_rows)
        themes.changed.connect(self._dress_tabs)
        for view in (self.documents_view, self.dead_letters_view):
            view.copied.connect(self.copied)

    def _arrange(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)  # the style sheet draws one line below; Fusion's would be a second one
        self.tabs.setAccessibleName("Tables")
        self.tabs.addTab(self._with_details(self.documents_view, document_details), "Docu&ments")
        self.tabs.addTab(self._with_details(self.dead_letters_view, dead_letter_details), "D&ead letters")
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(9)
        self.splitter.addWidget(self._scrolled_charts())
        self.splitter.addWidget(self.tabs)
        self.splitter.setStretchFactor(0, 5)
        self.splitter.setStretchFactor(1, 4)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(10)
        column.addWidget(self.header)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.status)

    def _with_details(self, view: RecordView, describe: Callable[[Any], Details]) -> TableWithDetails:
        table = TableWithDetails(view, describe, icons=self._icons)
        for area in table.pane.findChildren(QScrollArea):  # the keyboard reaches it, to scroll
            area.setAccessibleName("Details of the selected row")
        return table

    def _scrolled_charts(self) -> QScrollArea:
        """Return the charts in a frame that scrolls where the window is too low for them."""
        area = QScrollArea()
        area.setWidget(self.charts)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setMinimumHeight(120)
        # Without this the area would never get narrower than two columns, and the panel never go down to one.
        self.charts.setMinimumWidth(360)
        return area

    def begin(self, session: CaseSession) -> None:
        """Show a session from now on, and nothing of the one before."""
        self.end()
        self._session = session
        self._feeds[0].connect_to(session.document_rows)
        self._feeds[1].connect_to(session.dead_letter_rows)
        self.tabs.setCurrentIndex(0)

    def ask_no_more(self) -> None:
        """Read no more rows, because the session is being closed; what is shown stays."""
        for feed in self._feeds:
            feed.connect_to(None)

    def end(self) -> None:
        """Show no session any more."""
        self._session = None
        self._counts = None
        self.rows_due.drop()
        self.ask_no_more()
        self.documents.clear()
        self.dead_letters.clear()
        self.charts.clear()

    def show_all(self, snapshot: Snapshot) -> None:
        """Show the session as it is now, all but its charts.

        Args:
            snapshot: What was pulled from it.
        """
        self.header.show_snapshot(snapshot)
        self.status.show_snapshot(snapshot)
        self._show_counts(snapshot.counts)
        self._budget_bytes = snapshot.memory_budget_bytes

    def show_charts(self, _window_s: float | None = None) -> None:
        """Draw the metrics of the session as they are now."""
        session = self._session
        if session is None:
            return
        metrics, window_s = session.metrics, self.charts.window_s
        self.charts.show_metrics(
            metrics.read(window_s, ChartPanel.POINTS),
            metrics.holds(window_s),
            session.settings.flow,
            self._budget_bytes,
            metrics.rss_slope_bytes_per_s(),
        )

    def _show_counts(self, counts: Counts) -> None:
        if counts == self._counts:
            return
        self._counts = counts
        dead = sum(counts.reasons.values())
        files = counts.documents.enumerated + counts.skipped
        self.documents.set_row_count(files)
        self.dead_letters.set_row_count(dead)
        self.rows_due.ask()
        self._name_tab(0, f"Docu&ments ({count(files)})" if files else "Docu&ments")
        self._name_tab(1, f"D&ead letters ({count(dead)})" if dead else "D&ead letters")
        if bool(dead) != self._has_dead:
            self._dress_tabs()

    def _name_tab(self, tab: int, words: str) -> None:
        """Name a tab, where it is not named so: Qt paints the tables anew for each name that it is given."""
        if words != self.tabs.tabText(tab):
            self.tabs.setTabText(tab, words)

    def _show_rows(self, _tab: int = 0) -> None:
        self.documents_view.refresh()
        self.dead_letters_view.refresh()

    def _dress_tabs(self, _theme: Any = None) -> None:
        """Let the dead letters be seen where there are any."""
        self._has_dead = self.dead_letters.rowCount() > 0
        self.tabs.setTabIcon(0, self._icons.icon(IconName.DOCUMENT, "muted"))
        self.tabs.setTabIcon(1, self._icons.icon(IconName.DEAD_LETTER, "bad" if self._has_dead else "muted"))
