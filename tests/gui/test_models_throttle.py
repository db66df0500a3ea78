"""Many wishes, few acts."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from gui.models.throttle import Throttle
from tests.support.windows import wait_until


def test_many_wishes_make_one_call(application: QApplication) -> None:
    """However often it is asked within the delay, it calls once; a later wish calls again."""
    calls: list[None] = []
    owner = QObject()
    throttle = Throttle(lambda: calls.append(None), delay_ms=1, parent=owner)
    for _ in range(100):
        throttle.ask()
    assert (throttle.waiting, calls) == (True, [])
    wait_until(lambda: not throttle.waiting)
    assert len(calls) == 1
    throttle.ask()
    wait_until(lambda: not throttle.waiting)
    assert len(calls) == 2


def test_a_dropped_wish_is_not_granted(application: QApplication) -> None:
    """After a drop nothing is due."""
    calls: list[None] = []
    owner = QObject()
    throttle = Throttle(lambda: calls.append(None), delay_ms=0, parent=owner)
    throttle.ask()
    throttle.drop()
    application.processEvents()
    assert (throttle.waiting, calls) == (False, [])


def test_a_throttle_ends_with_its_owner(application: QApplication) -> None:
    """When the owner is gone, a call that was due does not reach for it any more."""
    calls: list[None] = []
    owner = QObject()
    Throttle(lambda: calls.append(None), delay_ms=0, parent=owner).ask()
    del owner
    application.processEvents()
    assert calls == []
