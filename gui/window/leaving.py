"""The way out of a case and of the window: ask once where a run goes on, stop safely, then go.

Covers the question and the order of steps. What a safe stop is, the session knows.
"""

import asyncio

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from gui.views.messages import Question, announce
from gui.window.control import CaseControl
from gui.window.seams import Tasks


class Leaving(QObject):
    """Closes the case, and the window after it.

    Args:
        control: Closes the case.
        tasks: Owner of the tasks.
        window: The window that the question belongs to.
    """

    def __init__(self, *, control: CaseControl, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._control = control
        self._tasks = tasks
        self._window = window
        self._asking = False
        self._question: Question | None = None
        self._leaving = False
        self.done: asyncio.Event = asyncio.Event()
        """Set once the case is closed and the window may go."""

    def close_case(self) -> None:
        """Close the case, after a question where a run goes on."""
        if not self._leaving and not self._asking:
            self._asking = self._tasks.start(self._close_case(), name="close case") is not None

    def close_window(self) -> None:
        """Close the case and let the window go, after a question where a run goes on; asks only once at a time."""
        if self._question is not None:
            self._question.activateWindow()
        elif not self._leaving and not self._asking:
            self._asking = self._tasks.start(self._close_window(), name="close window") is not None

    def stop_and_go(self) -> None:
        """Stop safely and let the window go without a question: the system asks for it."""
        if self._question is not None:
            self._question.done(0)
        if not self._leaving:
            self._leaving = True
            self._tasks.start(self._go(), name="close window")

    async def _close_case(self) -> None:
        if await self._agreed("Close case", "Close the case"):
            self._say_stopping()
            await self._control.close()

    async def _close_window(self) -> None:
        if await self._agreed("Quit", "Quit") and not self._leaving:
            self._leaving = True
            await self._go()

    async def _go(self) -> None:
        try:
            self._say_stopping()
            await self._control.close()
        finally:
            self.done.set()

    def _say_stopping(self) -> None:
        if self._control.running:
            sentence = "Stopping safely: pages in flight are finished and committed…"
            self._control.busy.emit(sentence)
            announce(self._window, sentence)

    async def _agreed(self, title: str, deed: str) -> bool:
        if not self._control.running:
            self._asking = False
            return True
        self._question = Question(
            title=title,
            text="A run is going on. Stop it?",
            detail=(
                "Pages that are being worked on are finished and committed; nothing is lost. The case can be resumed "
                "at the same place later."
            ),
            answers=(f"&Stop and {deed[0].lower()}{deed[1:]}", "&Keep running"),
            escape=1,
            parent=self._window,
        )
        try:
            return await self._question.ask() == 0
        finally:
            self._question = None
            self._asking = False
