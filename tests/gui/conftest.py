"""What the window's tests share: one application, nothing left behind, and Qt's warnings as failures."""

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QMessageLogContext, QSize, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.views.icons import Icons
from gui.views.theme import Appearance, Themes
from tests.support.windows import Show, Widget

HARMLESS = (
    "This plugin does not support propagateSizeHints",  # offscreen windows have no manager to tell a size to,
    "This plugin does not support raise",  # nor one to bring them to the front
)


@pytest.fixture(scope="session")
def application() -> QApplication:
    """Return the one application."""
    existing = QApplication.instance()
    made = existing if isinstance(existing, QApplication) else QApplication([])
    # What the imports made stays for ever; without it, every look for what a test left behind is many times faster.
    gc.collect()
    gc.freeze()
    return made


@pytest.fixture(autouse=True)
def qt_messages() -> Iterator[list[str]]:
    """Fail a test in which Qt warns, or that leaves windows or running timers behind."""
    messages: list[str] = []

    def note(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not text.startswith(HARMLESS):
            messages.append(text)

    windows_before = _windows()
    previous = qInstallMessageHandler(note)
    yield messages
    _settle_deletions()
    qInstallMessageHandler(previous)
    windows = [repr(window) for window in _windows() if window not in windows_before]
    timers = [f"{timer.parent()!r}, {timer.interval()} ms" for timer in _running_timers()]
    for timer in _running_timers():
        timer.stop()  # so that only the test that left it fails
    assert not messages, f"Qt warned: {messages}"
    assert not windows, f"windows left behind: {windows}"
    assert not timers, f"running timers left behind, of: {timers}"


@pytest.fixture
def themes(application: QApplication) -> Iterator[Themes]:
    """Return the themes, light to begin with."""
    made = Themes(application, Appearance.LIGHT)
    yield made
    made.deleteLater()


@pytest.fixture
def icons(themes: Themes) -> Icons:
    """Return the icons in those themes."""
    return Icons(themes)


@pytest.fixture
def show(application: QApplication) -> Iterator[Show]:
    """Return a function that shows a widget, offscreen, until the test ends."""
    shown: list[QWidget] = []

    def show_one(widget: Widget, width: int = 900, height: int = 600) -> Widget:
        shown.append(widget)
        widget.resize(QSize(width, height))
        widget.show()
        assert QTest.qWaitForWindowExposed(widget)
        application.processEvents()
        return widget

    yield show_one
    for widget in shown:
        if isValid(widget):
            widget.close()
            widget.deleteLater()


def _settle_deletions() -> None:
    if QApplication.instance() is not None:
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    if _windows() or _running_timers():
        gc.collect()


def _windows() -> list[QWidget]:
    return QApplication.topLevelWidgets() if QApplication.instance() is not None else []


def _running_timers() -> list[QTimer]:
    # `type` first: asking every object whether it is an instance takes long.
    return [thing for thing in gc.get_objects() if type(thing) is QTimer and isValid(thing) and thing.isActive()]
