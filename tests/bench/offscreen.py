"""The real window, put together as the program does it, drawn into memory, and closed again.

Covers building the window for a measurement and waiting for what it shows. What is measured is the business of
`window` and `start`.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before Qt is loaded

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from engine import Directories
from gui.app.faults import Faults
from gui.app.loop import EventLoop, run
from gui.app.start import new_application
from gui.app.tasks import TaskOwner
from gui.app.ways import ways_into_engine
from gui.views.icons import Icons
from gui.views.theme import Themes
from gui.window.main_window import MainWindow
from gui.window.seams import CaseOpener

T = TypeVar("T")


@asynccontextmanager
async def shown_window(
    application: QApplication, directories: Directories, open_case: CaseOpener | None = None
) -> AsyncIterator[MainWindow]:
    """Show the window over an engine, and close it safely afterwards.

    Args:
        application: What it is shown in.
        directories: Where it looks for settings and recent cases.
        open_case: How it opens a case; None for the program's own way.
    """
    faults = Faults()
    themes = Themes(application)
    async with TaskOwner(faults.report) as tasks:
        engine = ways_into_engine(directories)
        if open_case is not None:
            engine = replace(engine, open_case=open_case)
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
