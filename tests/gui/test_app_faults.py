"""Errors that nobody caught reach the log and the window, and carry no text of documents."""

import asyncio
import gc
import json
import logging
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from engine import StorageError
from gui.app.faults import Faults
from gui.app.logs import log_files
from gui.app.tasks import TaskOwner
from tests.support.scripted_session import until

PERSONAL = "SSN 123-45-6789"


def _break() -> None:
    raise ValueError(PERSONAL)


@pytest.mark.one_loop("qasync")
async def test_an_error_in_a_slot_is_told(tmp_path: Path) -> None:
    """What a Qt slot raises is a sentence without the error's message, and stands in the log with its place."""
    told: list[str] = []
    faults = Faults("the log")
    faults.show = told.append
    with log_files(tmp_path), faults.installed(asyncio.get_running_loop()):
        QTimer.singleShot(0, _break)
        await until(lambda: told)
    assert "ValueError" in told[0]
    assert "the log" in told[0]
    assert PERSONAL not in told[0]
    [line] = [json.loads(text) for text in (tmp_path / "sluicegate.log").read_text().splitlines()]
    assert line["level"] == "ERROR"
    assert any(place.endswith("_break") for place in line["trace"])
    assert PERSONAL not in json.dumps(line)


async def test_an_error_in_a_callback_of_the_loop_is_told() -> None:
    """What a callback raises is told, and the loop goes on."""
    told: list[str] = []
    faults = Faults()
    faults.show = told.append
    with faults.installed(asyncio.get_running_loop()):
        asyncio.get_running_loop().call_soon(_break)
        await until(lambda: told)
    assert len(told) == 1


async def test_an_error_of_a_lost_future_is_told() -> None:
    """An exception that nobody fetched is told when its future is dropped."""
    told: list[str] = []
    faults = Faults()
    faults.show = told.append
    loop = asyncio.get_running_loop()
    with faults.installed(loop):
        future = loop.create_future()
        future.set_exception(ValueError(PERSONAL))
        del future
        gc.collect()
        await until(lambda: told)
    assert PERSONAL not in told[0]


async def test_an_error_of_the_engine_from_a_task_is_told_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """The engine's errors carry finished sentences, which are shown as they are and logged by kind only."""
    told: list[str] = []
    faults = Faults()
    faults.show = told.append

    async def store() -> None:
        await asyncio.sleep(0)
        raise StorageError("The disk is full.")

    with caplog.at_level(logging.WARNING):
        async with TaskOwner(faults.report) as tasks:
            tasks.start(store(), name="export")
            await until(lambda: told)
    assert told == ["The disk is full."]
    assert caplog.messages == ["export: StorageError"]


async def test_an_error_on_a_thread_is_logged_and_touches_no_window(caplog: pytest.LogCaptureFixture) -> None:
    """A thread may not touch the window, so that its error goes to the log alone."""
    told: list[str] = []
    faults = Faults()
    faults.show = told.append
    with faults.installed(asyncio.get_running_loop()):
        thread = threading.Thread(target=_break)
        thread.start()
        thread.join()
    assert told == []
    assert caplog.messages == ["thread failed"]


async def test_a_window_that_cannot_show_it_is_not_asked_again() -> None:
    """Where showing is what fails, there is one attempt and no endless round."""
    attempts: list[str] = []
    faults = Faults()

    def show(sentence: str) -> None:
        attempts.append(sentence)
        faults.report("showing", ValueError())

    faults.show = show
    faults.report("window", ValueError())
    assert len(attempts) == 1


async def test_the_hooks_are_given_back() -> None:
    """After the context everything is as it was before."""
    loop = asyncio.get_running_loop()
    before = sys.excepthook, threading.excepthook
    with Faults().installed(loop):
        assert sys.excepthook is not before[0]
    assert (sys.excepthook, threading.excepthook) == before
