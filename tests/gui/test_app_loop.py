"""The window's event loop: long timers, an orderly end, and nothing left behind."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable

import pytest
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from gui.app.loop import EventLoop, run


@pytest.fixture
def new_loop() -> Callable[..., EventLoop]:
    """Return a maker of event loops on the one application; `run` closes them."""
    instance = QApplication.instance() or QApplication([])
    assert isinstance(instance, QApplication)
    application = instance
    return lambda **options: EventLoop(application, **options)


def test_the_result_of_the_main_coroutine_is_returned(new_loop: Callable[..., EventLoop]) -> None:
    """What the main coroutine returns comes out, and the loop is closed."""

    async def main() -> int:
        await asyncio.sleep(0)
        return 7

    loop = new_loop()
    assert run(loop, main()) == 7
    assert loop.is_closed()


def test_an_error_of_the_main_coroutine_comes_out_and_the_loop_is_closed(new_loop: Callable[..., EventLoop]) -> None:
    """An error leaves `run` as it is, after the same shutdown."""

    async def main() -> None:
        raise LookupError

    loop = new_loop()
    with pytest.raises(LookupError):
        run(loop, main())
    assert loop.is_closed()


@pytest.mark.parametrize("delay_s", [math.inf, 1e12, 30 * 24 * 3600.0])
def test_a_timer_longer_than_qt_can_count_can_be_set_and_cancelled(
    new_loop: Callable[..., EventLoop], delay_s: float
) -> None:
    """A very long or infinite delay is accepted, does not fire at once, and is cancelled like any other."""

    async def main() -> list[str]:
        fired: list[str] = []
        handle = asyncio.get_running_loop().call_later(delay_s, fired.append, "long")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(delay_s), 0.01)
        handle.cancel()
        return fired

    assert run(new_loop(), main()) == []


def test_a_long_timer_goes_in_stages_and_fires_when_it_is_due(new_loop: Callable[..., EventLoop]) -> None:
    """A timer of many stages fires once, and after a shorter one that needs fewer."""

    async def main() -> list[str]:
        fired: list[str] = []
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_later(0.3, fired.append, "long")
        loop.call_later(0.35, done.set)
        loop.call_later(0.05, fired.append, "short")
        await done.wait()
        return fired

    assert run(new_loop(longest_timer_s=0.01), main()) == ["short", "long"]


def test_a_long_timer_that_is_cancelled_between_stages_does_not_fire(new_loop: Callable[..., EventLoop]) -> None:
    """Cancelling the handle ends all later stages."""

    async def main() -> list[str]:
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        handle = loop.call_later(0.1, fired.append, "cancelled")
        loop.call_later(0.03, handle.cancel)
        await asyncio.sleep(0.3)
        return fired

    assert run(new_loop(longest_timer_s=0.01), main()) == []


def test_callbacks_run_in_their_order_and_cancelled_ones_do_not(new_loop: Callable[..., EventLoop]) -> None:
    """Many callbacks that are due at once come in the order in which they were asked for, those from threads too."""

    async def main() -> list[int]:
        ran: list[int] = []
        loop = asyncio.get_running_loop()
        handles = [loop.call_soon(ran.append, number) for number in range(100)]
        for handle in handles[::3]:
            handle.cancel()
        loop.call_soon_threadsafe(ran.append, 100)
        while 100 not in ran:
            await asyncio.sleep(0)
        return ran

    assert run(new_loop(), main()) == [number for number in range(100) if number % 3] + [100]


def test_callbacks_without_end_leave_qt_its_turns(new_loop: Callable[..., EventLoop]) -> None:
    """A callback that asks for itself again and again does not keep Qt's own events away."""

    async def main() -> bool:
        over = False
        loop = asyncio.get_running_loop()

        def stop() -> None:
            nonlocal over
            over = True

        def again() -> None:
            if not over:
                loop.call_soon(again)

        again()
        QTimer.singleShot(20, stop)
        while not over:
            await asyncio.sleep(0)
        return over

    assert run(new_loop(), main())


def test_a_loop_of_qt_within_a_callback_does_not_stop_the_others(new_loop: Callable[..., EventLoop]) -> None:
    """What a dialog of the system does: while it is open, within a callback, tasks and other callbacks go on."""

    async def main() -> list[str]:
        ran: list[str] = []
        loop = asyncio.get_running_loop()
        dialog = QEventLoop()

        def answer() -> None:
            ran.append("within")
            dialog.quit()

        def ask() -> None:
            loop.call_later(0.01, loop.call_soon, answer)
            dialog.exec()
            ran.append("answered")

        loop.call_soon(ask)
        loop.call_soon(ran.append, "waiting")
        while "answered" not in ran:
            await asyncio.sleep(0.01)
        return ran

    assert run(new_loop(), main()) == ["waiting", "within", "answered"]


def test_quitting_the_application_does_not_cut_the_main_coroutine_off(new_loop: Callable[..., EventLoop]) -> None:
    """`QApplication.quit` ends Qt's loop, and the coroutine still runs to its own end."""

    async def main() -> str:
        QTimer.singleShot(0, QApplication.quit)
        await asyncio.sleep(0.05)
        return "drained"

    assert run(new_loop(), main()) == "drained"


def test_tasks_and_generators_left_behind_are_ended(new_loop: Callable[..., EventLoop]) -> None:
    """Tasks that the coroutine left are cancelled, and open asynchronous generators are closed."""
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("task")

    async def generator() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            ended.append("generator")

    async def main() -> tuple[asyncio.Task[None], AsyncIterator[int]]:
        task = asyncio.get_running_loop().create_task(endless())
        values = generator()
        await anext(values)
        return task, values

    kept = run(new_loop(), main())
    assert sorted(ended) == ["generator", "task"]
    assert kept[0].cancelled()


def test_threads_are_joined_at_the_end(new_loop: Callable[..., EventLoop]) -> None:
    """A call that still runs on a thread is waited for, and no thread of the loop is left."""
    release = threading.Event()
    finished: list[str] = []

    def slow() -> None:
        release.wait()
        finished.append(threading.current_thread().name)

    async def main() -> None:
        asyncio.get_running_loop().run_in_executor(None, slow)
        threading.Timer(0.02, release.set).start()

    run(new_loop(), main())
    assert len(finished) == 1
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("window")]
