"""The real window, put together as the program does it, drawn into memory, and closed again.

Covers building the window for a measurement and waiting for what it shows. What is measured is the business of
`window` and `start`.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before Qt is loaded

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from engine import Directories, write_sample_batch
from gui.app.faults import Faults
from gui.app.loop import EventLoop, run
from gui.app.start import new_application
from gui.app.tasks import TaskOwner
from gui.views.icons import Icons
from gui.views.theme import Themes
from gui.window.main_window import MainWindow
from gui.window.seams import CaseOpener, Engine

T = TypeVar("T")


@asynccontextmanager
async def shown_window(
    application: QApplication, directories: Directories, open_case: CaseOpener
) -> AsyncIterator[MainWindow]:
    """Show the window over an engine, and close it safely afterwards."""
    faults = Faults()
    themes = Themes(application)
    async with TaskOwner(faults.report) as tasks:
        engine = Engine(directories=directories, open_case=open_case, write_sample_batch=write_sample_batch)
        window = MainWindow(engine=engine, tasks=tasks, themes=themes, icons=Icons(themes))
        window.show()
        try:
            yield window
        finally:
            window.stop_and_go()
            await window.until_closed()
    window.deleteLater()
    themes.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def run_on_qt(main: Callable[[QApplication], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on Qt's loop, to its end."""
    application = new_application()
    return run(EventLoop(application), main(application))
