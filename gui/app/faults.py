"""What becomes of errors that nobody caught: a line in the log and a sentence in the window.

Errors in slots and Qt overrides reach `sys.excepthook`; those of lost tasks and callbacks reach only the loop's
handler; those of threads a third hook. All three are installed here. Errors that the engine raises on purpose are
shown by the window where they occur and come here only from tasks.
"""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from engine import EngineError

_log = logging.getLogger(__name__)


class Faults:
    """Receives errors that nobody caught, logs them and tells the person in front of the window.

    Attributes:
        show: Called with the sentence; replace it once there is a window. Until then it goes to standard error.
    """

    def __init__(self, log_place: str = "") -> None:
        self._where = f" Details are in the log: {log_place}" if log_place else ""
        self._showing = False
        self.show: Callable[[str], None] = lambda sentence: print(sentence, file=sys.stderr)  # noqa: T201  # no window

    @contextmanager
    def installed(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Catch what nobody caught, for as long as the context lasts."""
        hooks = sys.excepthook, threading.excepthook
        sys.excepthook = self._on_uncaught
        threading.excepthook = self._on_thread
        loop.set_exception_handler(self._on_loop)
        try:
            yield
        finally:
            sys.excepthook, threading.excepthook = hooks
            loop.set_exception_handler(None)

    def report(self, name: str, error: BaseException | None) -> None:
        """Log an error and show a sentence about it.

        Args:
            name: What failed, in our own words.
            error: The error, or None where only a message is known.
        """
        if isinstance(error, EngineError):
            _log.warning("%s: %s", name, type(error).__name__)
            self._show(error.user_message)
            return
        _log.error("%s failed", name, exc_info=error)
        kind = type(error).__name__ if error is not None else "unknown"
        self._show(
            f"Something inside the program failed ({name}: {kind}). What was committed is safe, and the case can be "
            f"opened again.{self._where}"
        )

    def _show(self, sentence: str) -> None:
        if self._showing:  # showing it is what failed: the log has it, and another round would never end
            return
        self._showing = True
        try:
            self.show(sentence)
        finally:
            self._showing = False

    def _on_uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.report("window", error)

    def _on_thread(self, arguments: threading.ExceptHookArgs) -> None:
        # A thread may not touch the window; what waits for the thread reports in its own words.
        _log.error("thread failed", exc_info=arguments.exc_value)

    def _on_loop(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.report("background work", context.get("exception"))
