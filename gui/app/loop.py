"""The asyncio event loop on top of Qt's, with the corrections that a long-running window needs.

Covers the loop's class and running one main coroutine on it to its orderly end. Which tasks the window starts is
the business of `tasks`; what happens with errors that nobody caught is that of `faults`.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import qasync
from PySide6.QtCore import QObject, QTimerEvent
from PySide6.QtWidgets import QApplication

T = TypeVar("T")

LONGEST_TIMER_S = 24 * 24 * 3600.0
"""Longest time that is given to a Qt timer: it takes signed 32-bit milliseconds, a little under 25 days."""

THREADS = 8
"""Most threads for what would block the loop, such as writing the settings file."""


class _Due(QObject):
    """Callbacks that are due at once, in the order in which they came, a turn of Qt's loop for all that wait.

    What a callback adds comes in a later turn, as on asyncio's own loop, so that drawing is never kept away.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handles: deque[asyncio.Handle] = deque()
        self._timer = 0

    def add(self, handle: asyncio.Handle) -> None:
        """Let a callback run in the next turn."""
        self._handles.append(handle)
        self._wake()

    def timerEvent(self, event: QTimerEvent) -> None:
        """Override: run what waited when the turn began."""
        # Another timer takes this one's place before anything is run: Qt does not call a timer within its own event,
        # and a callback may enter a loop of Qt's, as a dialog of the system's does.
        self.killTimer(event.timerId())
        self._timer = 0
        try:
            for _ in range(len(self._handles)):
                if not self._handles:  # a loop within has run the rest
                    break
                handle = self._handles.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001  # as every event loop does
        finally:
            if self._handles:
                self._wake()

    def drop(self) -> None:
        """Forget what waits."""
        self._handles.clear()

    def _wake(self) -> None:
        if not self._timer:
            self._timer = self.startTimer(0)


class EventLoop(qasync.QEventLoop):  # type: ignore[misc]  # qasync ships no types
    """qasync's event loop, with what version 0.28.0 lacks.

    - A timer may be as long as it likes: qasync hands the delay to Qt as 32-bit milliseconds, so that an infinite
      or very long one raises OverflowError. Here it goes in several stages.
    - The default executor is a thread pool of the standard library, and `shutdown_default_executor` ends it. qasync
      starts ten QThreads at the first use, and its base class looks for them under another name at shutdown.
    - Callbacks that are due at once share a timer. qasync starts and ends one for each, which costs as much as the
      callback.
    - Asynchronous generators are known to the loop, so that `shutdown_asyncgens` closes them. qasync enters Qt's loop
      without the hooks that asyncio's own `run_forever` sets.

    Args:
        application: The Qt application whose loop it is.
        longest_timer_s: Longest delay given to one Qt timer.
    """

    def __init__(self, application: QApplication, *, longest_timer_s: float = LONGEST_TIMER_S) -> None:
        self._longest_timer_s = longest_timer_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="window")
        self._due = _Due()
        super().__init__(application)
        self.set_default_executor(self._threads)

    def run_forever(self) -> None:
        """Override: run Qt's loop, with the hooks that tell this one of asynchronous generators."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        try:
            super().run_forever()
        finally:
            sys.set_asyncgen_hooks(*hooks)

    def close(self) -> None:
        """Override: end the loop, and forget what was still due."""
        self._due.drop()
        super().close()

    def _add_callback(self, handle: asyncio.Handle, delay: float = 0) -> asyncio.Handle:
        """Override: start the timer of a callback, in stages where it is longer than Qt can count."""
        if delay <= 0:
            self._due.add(handle)
        elif delay > self._longest_timer_s:
            stage = asyncio.Handle(self._next_stage, (handle, self.time() + delay), self)
            super()._add_callback(stage, self._longest_timer_s)
        else:
            super()._add_callback(handle, delay)
        return handle

    def _next_stage(self, handle: asyncio.Handle, due_s: float) -> None:
        if not handle.cancelled():
            self._add_callback(handle, due_s - self.time())

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # Override
        """Override: end the thread pool without blocking the loop.

        Args:
            timeout: Most seconds to wait for its threads; None for as long as it takes.
        """
        ended: asyncio.Future[None] = self.create_future()

        def end() -> None:
            self._threads.shutdown(wait=True)
            self.call_soon_threadsafe(_settle, ended)

        thread = threading.Thread(target=end, name="window-shutdown", daemon=True)
        thread.start()
        await asyncio.wait_for(ended, timeout)
        thread.join()  # its last act was to wake this coroutine


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def run(loop: EventLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, then everything that must be shut down, and close the loop.

    Only the end of the coroutine ends the loop: when something calls `QApplication.quit`, the loop is entered
    again, so that the coroutine can still drain and commit. (qasync 0.28.0 gives up with RuntimeError then.)

    Args:
        loop: An event loop that is not running.
        main: What to run.

    Returns:
        What the coroutine returned.
    """
    try:
        task: asyncio.Task[T] = loop.create_task(main, name="main")
        task.add_done_callback(lambda _: loop.stop())
        while not task.done():
            loop.run_forever()
        return task.result()
    finally:
        try:
            _cancel_remaining(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


def _cancel_remaining(loop: EventLoop) -> None:
    remaining = asyncio.all_tasks(loop)
    if not remaining:
        return
    for task in remaining:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*remaining, return_exceptions=True))
    for task in remaining:
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler({"message": "error while shutting down", "exception": error, "task": task})
