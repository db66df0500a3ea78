"""The safe stop: what Ctrl+C and a request to end do to a run.

The first request stops the run safely: nothing new is admitted, what is in flight is finished and committed. The second
cancels it: what was committed stays. After the second, the system's own handling is back, so that a third ends
the process at once; even that loses nothing that was committed. What is said about it goes through `say`.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

REPEAT_AFTER_S = 0.5
"""A request that follows the first one faster is the same one: `timeout`, container managers and wrappers around a
command hand one Ctrl+C or one end of service over twice."""

STOPPING = (
    "Stopping safely: nothing new is started, and what is in flight is finished and stored. "
    "Once more (Ctrl+C) cancels that too."
)
CANCELLING = "Cancelling: the pages in flight stay pending; what was stored stays stored."


def _watched() -> tuple[signal.Signals, ...]:
    """Return the signals of this system that ask a program to end."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


class SafeStop:
    """Counts the requests to end and passes them on: to the run's stop, then to its cancellation.

    All state changes in `request`, which is synchronous and runs on the event loop.
    """

    def __init__(self, *, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.requested = False
        """Whether somebody asked for an end."""
        self.cancelled = False
        """Whether somebody asked a second time."""
        self._say = say
        self._clock = clock
        self._first_at_s = 0.0
        self._stop: Callable[[], object] | None = None
        self._cancel: Callable[[], object] | None = None
        self._release: Callable[[], None] = lambda: None

    def bind(self, *, stop: Callable[[], object], cancel: Callable[[], object]) -> None:
        """Say what a request does from now on; before this, the first one is only remembered.

        Args:
            stop: Stops the run safely.
            cancel: Cancels it.
        """
        self._stop, self._cancel = stop, cancel

    def request(self) -> None:
        """Take one request to end."""
        now_s = self._clock()
        if not self.requested:
            self.requested, self._first_at_s = True, now_s
            self._say(STOPPING)
            if self._stop is not None:
                self._stop()
        elif not self.cancelled and now_s - self._first_at_s >= REPEAT_AFTER_S:
            self.cancelled = True
            self._say(CANCELLING)
            self._release()
            if self._cancel is not None:
                self._cancel()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals that ask for an end as requests while the block runs, on the running event loop.

        A signal that is ignored, as `nohup` and background jobs set it, stays ignored.
        """
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in _watched()}
        taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        self._release = lambda: _give_back(loop, dict.fromkeys(taken, signal.SIG_DFL))
        for number in taken:
            try:
                loop.add_signal_handler(number, self.request)
            except NotImplementedError:  # Windows: its loops take no signals, and wake up for Python's own handlers
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.request))
        try:
            yield
        finally:
            _give_back(loop, {number: before[number] for number in taken})


@contextmanager
def interrupted_by_end() -> Iterator[None]:
    """Take every request to end as the keyboard's interruption while the block runs, so that it can clean up.

    For work on the main thread without an event loop. A signal that is ignored stays ignored.
    """
    before = {number: signal.getsignal(number) for number in _watched()}
    taken = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def _give_back(loop: asyncio.AbstractEventLoop, handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        with suppress(NotImplementedError):  # as above
            loop.remove_signal_handler(number)
        signal.signal(number, handler)
