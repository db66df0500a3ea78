"""Showing and waiting in tests of windows: for a condition, with events handled meanwhile, and never for ever."""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

Widget = TypeVar("Widget", bound=QWidget)


class Show(Protocol):
    """The fixture `show`: shows a widget until the test ends."""

    def __call__(self, widget: Widget, width: int = 900, height: int = 600) -> Widget:
        """Return the widget, on screen."""
        ...


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
