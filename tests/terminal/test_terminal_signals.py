"""The safe stop: the counting of requests, and real signals on a real loop."""

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from engine.terminal.signals import CANCELLING, REPEAT_AFTER_S, STOPPING, SafeStop

if os.name == "nt":
    pytest.skip("signals are sent as POSIX systems do", allow_module_level=True)


class Desk:
    """Keeps what a safe stop did, with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.done: list[str] = []
        self.stop = SafeStop(say=self.done.append, clock=lambda: self.now_s)

    def bind(self) -> None:
        """Let requests be kept as `stop` and `cancel`."""
        self.stop.bind(stop=self.note("stop"), cancel=self.note("cancel"))

    def note(self, word: str) -> Callable[[], None]:
        """Return a call that keeps a word."""
        return lambda: self.done.append(word)


def test_once_stops_and_twice_cancels() -> None:
    """The first request stops safely, the second cancels, and each is told."""
    desk = Desk()
    desk.bind()
    desk.stop.request()
    assert desk.done == [STOPPING, "stop"]
    desk.now_s += REPEAT_AFTER_S
    desk.stop.request()
    assert desk.done == [STOPPING, "stop", CANCELLING, "cancel"]


def test_one_request_handed_over_twice_is_one() -> None:
    """A wrapper that passes the same Ctrl+C on as well does not turn a safe stop into a cancellation."""
    desk = Desk()
    desk.bind()
    for _ in range(3):
        desk.stop.request()
        desk.now_s += REPEAT_AFTER_S / 4
    assert desk.done == [STOPPING, "stop"]
    assert not desk.stop.cancelled


def test_a_third_request_changes_nothing_here() -> None:
    """After the second, the system's own handling is in force; a late one is not counted again."""
    desk = Desk()
    desk.bind()
    for _ in range(3):
        desk.stop.request()
        desk.now_s += REPEAT_AFTER_S
    assert desk.done.count("cancel") == 1


def test_a_request_before_the_run_is_remembered() -> None:
    """Whoever starts the run can see that an end was asked for while the case was being opened."""
    desk = Desk()
    desk.stop.request()
    assert desk.stop.requested
    assert desk.done == [STOPPING]


@pytest.mark.one_loop("asyncio")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_every_way_of_asking_arrives_as_a_request(number: signal.Signals) -> None:
    """Ctrl+C, the end of a service and a closed terminal all stop the run safely, and the handlers come back."""
    arrived = asyncio.Event()
    stop = SafeStop(say=lambda _: None)
    stop.bind(stop=arrived.set, cancel=lambda: None)
    before = signal.signal(number, signal.default_int_handler)  # the tests may run under nohup, which ignores one
    try:
        with stop.listening():
            os.kill(os.getpid(), number)
            await arrived.wait()
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


@pytest.mark.one_loop("asyncio")
async def test_an_ignored_signal_stays_ignored() -> None:
    """A run under `nohup` outlives its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = SafeStop(say=lambda _: None)
        with stop.listening():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert not stop.requested
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.one_loop("asyncio")
async def test_after_the_second_request_the_system_handles_the_third() -> None:
    """Nobody is locked in: once cancelled, the next Ctrl+C ends the process whatever it is waiting for."""
    desk = Desk()
    with desk.stop.listening():
        desk.stop.request()
        assert signal.getsignal(signal.SIGINT) not in {signal.SIG_DFL, signal.SIG_IGN}
        desk.now_s += REPEAT_AFTER_S
        desk.stop.request()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL
