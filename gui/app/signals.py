"""Signals of the operating system as requests to stop safely.

Covers SIGINT (Ctrl+C), SIGTERM (a service manager, a logout) and, where there are such, SIGHUP (the terminal went)
and SIGBREAK (a console window closes). What a safe stop is, the window knows.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from PySide6.QtCore import QTimer

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
_WAKE_MS = 200


@contextmanager
def stop_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the loop for each of these signals, for as long as the context lasts.

    A signal that is ignored, as `nohup` and background jobs set it, stays ignored.

    Args:
        loop: The running loop. On Unix it is woken through its self-pipe, at once.
        stop: Asks for a safe stop; called on the loop, and again for every further signal.
    """
    numbers = [signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    try:
        for number in numbers:
            loop.add_signal_handler(number, stop)
    except NotImplementedError:  # Windows: no self-pipe for signals
        with _polled(numbers, stop):
            yield
        return
    try:
        yield
    finally:
        for number in numbers:
            with contextlib.suppress(ValueError):
                loop.remove_signal_handler(number)


@contextmanager
def _polled(numbers: list[signal.Signals], stop: Callable[[], None]) -> Iterator[None]:
    """Handle signals where Qt is not woken by them: Python runs its handlers only between two of its instructions."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, on_signal) for number in numbers}
    wake = QTimer()
    wake.setInterval(_WAKE_MS)
    wake.timeout.connect(_instruction)
    wake.start()
    try:
        yield
    finally:
        wake.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _instruction() -> None:
    """Run Python for a moment, so that it looks for signals."""
