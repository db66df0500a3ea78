"""Waiting in tests of windows: for a condition, with events handled meanwhile, and never for ever."""

import time
from collections.abc import Callable

from PySide6.QtTest import QTest


def wait_until(condition: Callable[[], object], limit_s: float = 20.0) -> None:
    """Handle events until a condition holds.

    Args:
        condition: What is waited for.
        limit_s: Fails after this time; a bound for a hang, not a measure of speed.
    """
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition never held"
        QTest.qWait(2)
