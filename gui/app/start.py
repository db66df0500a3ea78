"""Starts the window and runs it to its end.

Covers the application object, the order in which everything is put together and taken apart, and the exit code. The
window itself is in `gui.window`.
"""

import gc
import logging
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6 import __version__ as pyside_version
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from engine import Directories, __version__
from gui.app.faults import Faults
from gui.app.logs import log_files
from gui.app.loop import EventLoop, run
from gui.app.signals import stop_on_signals
from gui.app.tasks import TaskOwner
from gui.app.ways import ways_into_engine
from gui.views.icons import Icons, app_icon
from gui.views.theme import Themes
from gui.window.main_window import APPLICATION, MainWindow
from gui.window.seams import Engine

_log = logging.getLogger(__name__)


def run_window(paths: Sequence[Path] = (), *, directories: Directories | None = None) -> int:
    """Show the window, and return when it was closed and everything behind it has ended.

    Args:
        paths: Sources to run on at once, or a case to open.
        directories: Where the program keeps its own files; None for the usual places.

    Returns:
        The exit code of the program.
    """
    directories = directories or Directories.default()
    application = new_application()
    with log_files(directories.logs) as log_file:
        faults = Faults(str(log_file) if log_file else "")
        engine = ways_into_engine(directories)
        loop = EventLoop(application)
        with faults.installed(loop):
            return run(loop, _main(application, engine, paths, faults, loop))


def new_application() -> QApplication:
    """Return the application object, named and dressed; high-DPI and the system's colour scheme are Qt's defaults."""
    QCoreApplication.setApplicationName("sluicegate")
    QCoreApplication.setOrganizationName("sluicegate")
    QCoreApplication.setApplicationVersion(__version__)
    application = QApplication(sys.argv[:1])
    application.setApplicationDisplayName(APPLICATION)
    application.setDesktopFileName("sluicegate")
    application.setWindowIcon(app_icon())
    # Closing the last window must not end the loop: pages in flight are still being committed.
    application.setQuitOnLastWindowClosed(False)
    return application


async def _main(
    application: QApplication, engine: Engine, paths: Sequence[Path], faults: Faults, loop: EventLoop
) -> int:
    async with TaskOwner(faults.report) as tasks:
        themes = Themes(application)
        window = MainWindow(
            engine=engine, tasks=tasks, themes=themes, icons=Icons(themes), about=about_text(engine.directories)
        )
        faults.show = window.show_fault
        with stop_on_signals(loop, window.stop_and_go):
            application.commitDataRequest.connect(window.stop_and_go)
            window.show()
            tasks.start(_set_aside(window), name="set aside what was loaded")
            _log.info("started, version %s", __version__)
            if paths:
                window.take([path.absolute() for path in paths])
            await window.until_closed()
        faults.show = Faults().show
    _log.info("ended")
    gc.unfreeze()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return 0


async def _set_aside(window: MainWindow) -> None:
    """Spare what stays as long as the window does from every look for garbage, each of which would stop the window."""
    await window.until_ready()
    gc.freeze()


def about_text(directories: Directories) -> str:
    """Return what the About dialog says."""
    return (
        f"{APPLICATION} {__version__}\n\n"
        "Turns a folder of PDFs into text under true backpressure, and proves that every page was accounted for.\n\n"
        "Licence: GNU Affero General Public License, version 3 or later.\n"
        f"Python {platform.python_version()}, PySide6 {pyside_version}.\n"
        f"Log: {directories.logs}\nCases: {directories.cases}"
    )
