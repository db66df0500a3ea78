"""The main window: two pages, the actions, dropping, and the way from signals to what they do.

Covers joining. What happens to a case is in `control`, when it is shown in `refresh`, what is asked before and after
in `opening`, `saving` and `leaving`.

What only an open case needs, the charts above all, takes longer to load than all the rest: it is loaded and made once
the window has been painted, or when it is asked for, whichever comes first.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine import CaseInfo, Snapshot, recent_cases
from gui.models.figures import counted
from gui.models.words import RUN_STATES
from gui.views.empty_page import EmptyPage
from gui.views.icons import Icons, app_icon
from gui.views.labels import Tone
from gui.views.messages import MessageBar, Question, announce
from gui.views.theme import Themes
from gui.window.actions import Actions
from gui.window.control import CaseControl
from gui.window.leaving import Leaving
from gui.window.loading import load_run_page
from gui.window.opening import Opening, local_paths
from gui.window.refresh import Refresh
from gui.window.saving import Saving
from gui.window.seams import Engine, Tasks
from gui.window.sentences import case_name

if TYPE_CHECKING:
    from gui.views.limits_panel import LimitsPanel
    from gui.window.run_page import RunPage
    from gui.window.side_panel import SidePanel

APPLICATION = "Sluicegate"


class MainWindow(QMainWindow):
    """The window over one case at a time.

    It does not close by itself: closing it asks where a run goes on and stops safely; then `until_closed` returns.

    Args:
        engine: The ways into the engine.
        tasks: Owner of all tasks that the window starts.
        themes: Says which colours are in force.
        icons: Icons in these colours.
        about: What the About dialog says, in plain text.
    """

    def __init__(self, *, engine: Engine, tasks: Tasks, themes: Themes, icons: Icons, about: str = APPLICATION) -> None:
        super().__init__()
        self.setObjectName("main_window")
        self.setWindowTitle(APPLICATION)
        self.setAcceptDrops(True)
        self.setMinimumSize(QSize(820, 560))
        self.resize(QSize(1280, 920).boundedTo(self.screen().availableSize()))
        self._engine = engine
        self._tasks = tasks
        self._themes = themes
        self._icons = icons
        self._about = about
        self._painted = asyncio.Event()
        self._ready = asyncio.Event()
        self.control = CaseControl(engine=engine, tasks=tasks, parent=self)
        self.opening = Opening(control=self.control, engine=engine, tasks=tasks, window=self)
        self.saving = Saving(control=self.control, tasks=tasks, window=self)
        self.leaving = Leaving(control=self.control, tasks=tasks, window=self)
        self.messages = MessageBar(themes=themes, icons=icons)
        self.empty_page = EmptyPage(themes=themes, icons=icons)
        self.actions_ = Actions(self, icons)
        self._build()
        self._connect()
        self.refresh = Refresh(
            control=self.control,
            show_title=self._show_title,
            show_all=self._show_all,
            show_charts=self._show_charts,
            visible=self._seen,
            parent=self,
        )
        self._tasks.start(self._load(), name="read recent cases")
        self._tasks.start(self._get_ready(), name="get ready for a case")

    @cached_property
    def run_page(self) -> "RunPage":
        """The page of an open case."""
        from gui.window.run_page import RunPage  # noqa: PLC0415  # loads the charts; see the top of this module

        page = RunPage(tasks=self._tasks, themes=self._themes, icons=self._icons)
        page.copied.connect(self._tell_copied)
        self.pages.addWidget(page)
        return page

    @cached_property
    def limits_panel(self) -> "LimitsPanel":
        """The limits of the flow."""
        from gui.views.limits_panel import LimitsPanel  # noqa: PLC0415  # see the top of this module

        panel = LimitsPanel()
        panel.applied.connect(self.control.apply)
        return panel

    @cached_property
    def limits_dock(self) -> "SidePanel":
        """The side of the window with the limits."""
        from gui.window.side_panel import SidePanel  # noqa: PLC0415  # see the top of this module

        dock = SidePanel("Limits of the flow", self.limits_panel, self)
        dock.hide()  # before it is added: a window that shows already would show it
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        dock.visibilityChanged.connect(self._limits_shown)
        return dock

    async def _get_ready(self) -> None:
        """Make what an open case needs, in steps between which the window answers."""
        await self._painted.wait()
        await load_run_page()
        self.run_page  # noqa: B018  # made by being asked for, as the next
        await asyncio.sleep(0)
        self.limits_dock  # noqa: B018
        self._ready.set()

    def _build(self) -> None:
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty_page)
        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(middle)
        self.actions_.fill_menu(self.menuBar())
        self.toolbar = self.addToolBar("Run")
        self.toolbar.setObjectName("toolbar")
        self.actions_.fill_toolbar(self.toolbar)
        self.toolbar.hide()

    def _connect(self) -> None:
        actions, control, opening = self.actions_, self.control, self.opening
        actions.open_folder.triggered.connect(opening.choose_folder)
        actions.open_files.triggered.connect(opening.choose_files)
        actions.open_case.triggered.connect(opening.choose_case)
        actions.sample.triggered.connect(opening.sample)
        actions.export_audit.triggered.connect(self.saving.export_audit)
        actions.export_text.triggered.connect(self.saving.export_text)
        actions.close_case.triggered.connect(self.leaving.close_case)
        actions.quit.triggered.connect(self.close)
        actions.pause.triggered.connect(control.pause_or_resume)
        actions.stop.triggered.connect(control.stop)
        actions.limits.toggled.connect(self._show_limits)
        actions.about.triggered.connect(self._show_about)
        page = self.empty_page
        page.folder_wanted.connect(opening.choose_folder)
        page.files_wanted.connect(opening.choose_files)
        page.sample_wanted.connect(opening.sample)
        page.case_wanted.connect(opening.choose_case)
        page.recent_chosen.connect(opening.open_case)
        control.opened.connect(self._case_opened)
        control.closing.connect(self._case_closing)
        control.closed.connect(self._case_closed)
        control.refused.connect(self._limits_refused)
        control.said.connect(self.messages.show_message)
        control.busy.connect(self.messages.show_passing)

    def take(self, paths: Sequence[Path]) -> None:
        """Open these sources or this case without a question, with the proposals taken; returns at once."""
        self.opening.take(paths, ask=False)

    def show_fault(self, sentence: str) -> None:
        """Tell that something inside the program failed."""
        self.messages.show_message(sentence, Tone.BAD)

    def stop_and_go(self) -> None:
        """Stop safely and close without a question, because the system asks for it."""
        self.leaving.stop_and_go()

    async def until_ready(self) -> None:
        """Wait until everything is loaded and made that an open case needs."""
        await self._ready.wait()

    async def until_closed(self) -> None:
        """Wait until the window was closed and everything behind it is stopped, then hide it."""
        await self.leaving.done.wait()
        self.hide()

    # --- what the engine says ---

    def _case_opened(self, info: CaseInfo) -> None:
        session = self.control.session
        if session is None:
            return
        self.messages.clear()
        self.run_page.begin(session)
        self.limits_panel.show_limits(session.settings.flow)
        self.pages.setCurrentWidget(self.run_page)
        self.toolbar.show()
        self.run_page.setFocus()
        announce(self, f"Case {info.request_id} is open")

    def _case_closing(self) -> None:
        self.run_page.ask_no_more()
        self.actions_.show(self.control.abilities)

    def _case_closed(self) -> None:
        self.run_page.end()
        self.actions_.show(self.control.abilities)
        self.pages.setCurrentWidget(self.empty_page)
        self.toolbar.hide()
        self.limits_dock.hide()
        self.setWindowTitle(APPLICATION)
        self._tasks.start(self._load(), name="read recent cases")

    def _limits_refused(self, sentence: str) -> None:
        session = self.control.session
        if session is not None:
            self.limits_panel.show_limits(session.settings.flow)
        self.limits_panel.refuse(sentence)

    async def _load(self) -> None:
        directories = self._engine.directories
        self.empty_page.show_recent(await asyncio.to_thread(recent_cases, directories))

    def _show_title(self, snapshot: Snapshot) -> None:
        session = self.control.session
        if session is not None:
            state = RUN_STATES[snapshot.state].short
            title = f"{case_name(session.info)} – {state} – {APPLICATION}"  # noqa: RUF001  # a dash between parts
            if title != self.windowTitle():
                self.setWindowTitle(title)
                announce(self, f"The run: {state}")
        self.actions_.show(self.control.abilities_in(snapshot))

    def _show_all(self, snapshot: Snapshot) -> None:
        self.run_page.show_all(snapshot)

    def _show_charts(self) -> None:
        self.run_page.show_charts()

    def _seen(self) -> bool:
        return self.isVisible() and not self.isMinimized()

    # --- what people do ---

    def _tell_copied(self, copied: int, selected: int) -> None:
        more = "" if copied == selected else f" of {counted(selected, 'selected row')}; the others were not shown yet"
        self.messages.show_passing(f"Copied {counted(copied, 'row')}{more}")

    def _show_limits(self, wanted: bool) -> None:  # noqa: FBT001  # a slot
        self.limits_dock.setVisible(wanted)

    def _limits_shown(self, shown: bool) -> None:  # noqa: FBT001  # a slot
        if self._seen():  # minimising hides the dock too, which nobody asked for
            self.actions_.limits.setChecked(shown)
        if shown:
            self.limits_panel.setFocus()

    def _show_about(self) -> None:
        about = Question(
            title=f"About {APPLICATION}",
            text=APPLICATION,
            detail=self._about,
            answers=["&Close"],
            escape=0,
            parent=self,
        )
        about.setIconPixmap(app_icon().pixmap(QSize(64, 64)))
        self._tasks.start(about.ask(), name="about")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Override: accept local files and folders."""
        if local_paths(event.mimeData().urls()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.empty_page.zone.set_active(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Override: nothing hovers any more."""
        self.empty_page.zone.set_active(False)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Override: take what was dropped, and return at once, because the other program waits until we do."""
        self.empty_page.zone.set_active(False)
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.opening.take(local_paths(event.mimeData().urls()))

    def event(self, event: QEvent) -> bool:
        """Override: see the first paint; leave the space bar to what has the focus and uses it, such as a button."""
        kind = event.type()
        if kind == QEvent.Type.Paint:
            self._painted.set()
        elif (
            kind == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Space
            and isinstance(self.focusWidget(), (QAbstractButton, QComboBox, QLineEdit, QAbstractSpinBox))
        ):
            event.accept()
            return True
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Override: show at once what was not shown while hidden."""
        super().showEvent(event)
        self.refresh.now()

    def changeEvent(self, event: QEvent) -> None:
        """Override: show at once what was not shown while minimised."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange and self._seen():
            self.refresh.now()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Override: do not close before the case is closed; `until_closed` tells when."""
        event.ignore()
        self.leaving.close_window()
