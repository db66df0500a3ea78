"""A real window for tests, offscreen, that fails the test when anything in it went wrong unseen."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from gui.app.faults import Faults
from gui.app.tasks import TaskOwner
from gui.views.icons import Icons
from gui.views.theme import Themes
from gui.window.main_window import MainWindow
from gui.window.seams import Engine
from tests.support.scripted_session import until

_LEFT, _NO_KEYS = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier

Kind = TypeVar("Kind", bound=QWidget)


@dataclass
class Stage:
    """A window and the owner of its tasks."""

    window: MainWindow
    tasks: TaskOwner

    async def dialog(self, kind: type[Kind]) -> Kind:
        """Wait for the one dialog of a kind, and return it."""
        await until(lambda: self.window.findChildren(kind))
        [found] = self.window.findChildren(kind)
        return found

    async def settle(self) -> None:
        """Wait until no task of the window is left but runs."""
        await until(lambda: not set(self.tasks.running) - {"run"})

    def header(self) -> str:
        """Return all that the header says."""
        labels = self.window.run_page.header.findChildren(QLabel)
        return "\n".join(label.text() for label in labels).replace("\u00a0", " ")

    def said(self) -> list[str]:
        """Return the messages that stand."""
        return [text.replace("\u00a0", " ") for text in self.window.messages.texts]


@asynccontextmanager
async def staged(engine: Engine) -> AsyncIterator[Stage]:
    """Show a window for as long as the context lasts, then close it without a question.

    Args:
        engine: What the window works with.
    """
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    told: list[str] = []
    faults = Faults()
    faults.show = told.append
    themes = Themes(application)
    with faults.installed(asyncio.get_running_loop()):
        try:
            async with TaskOwner(faults.report) as tasks:
                window = MainWindow(engine=engine, tasks=tasks, themes=themes, icons=Icons(themes))
                window.show()
                try:
                    yield Stage(window, tasks)
                finally:
                    window.stop_and_go()
                    await window.until_closed()
        finally:
            window.deleteLater()
            themes.deleteLater()
            del window
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert told == []


def mime_of(*paths: Path) -> QMimeData:
    """Return what a file manager drags for these paths."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


def drag_over(window: MainWindow, mime: QMimeData) -> bool:
    """Drag something over a window, and return whether the window would take it."""
    with warnings.catch_warnings():
        # From PySide6 6.12 on the position is to be a QPointF, which 6.11 does not take.
        warnings.simplefilter("ignore", DeprecationWarning)
        event = QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, mime, _LEFT, _NO_KEYS)
    event.ignore()
    QCoreApplication.sendEvent(window, event)
    return event.isAccepted()


def drop(window: MainWindow, mime: QMimeData) -> bool:
    """Drag something over a window and drop it, and return whether it was taken."""
    assert drag_over(window, mime)
    event = QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, mime, _LEFT, _NO_KEYS)
    QCoreApplication.sendEvent(window, event)
    return event.isAccepted()
