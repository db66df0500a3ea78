"""Rows for the tables: every request is answered or dropped, and none reaches the wrong case."""

import asyncio
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject

from gui.app.tasks import TaskOwner
from gui.window.rows import MOST_WAITING, RowFeed
from tests.support.scripted_session import until


class Table:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.put: list[tuple[int, list[Any]]] = []
        self.dropped: list[int] = []

    def put_rows(self, first: int, rows: Sequence[Any]) -> None:
        """Note rows."""
        self.put.append((first, list(rows)))

    def drop_request(self, first: int) -> None:
        """Note a dropped request."""
        self.dropped.append(first)


async def _numbers(first: int, limit: int) -> Sequence[int]:
    await asyncio.sleep(0)
    return range(first, first + limit)


async def test_every_request_is_answered_once_or_dropped() -> None:
    """With more requests than can wait, the oldest are dropped and all others answered, the newest first."""
    failures: list[str] = []
    table = Table()
    async with TaskOwner(lambda name, _: failures.append(name)) as tasks:
        feed = RowFeed("rows", table, tasks=tasks, parent=QObject())
        feed.connect_to(_numbers)
        asked = [1 + 256 * number for number in range(MOST_WAITING + 3)]
        for first in asked:
            feed.request(first, 2)
        await until(lambda: not tasks.running)
    assert table.dropped == asked[:3]
    assert [first for first, _ in table.put] == asked[:2:-1]
    assert table.put[0] == (asked[-1], [asked[-1], asked[-1] + 1])
    assert failures == []


async def test_without_a_case_requests_are_dropped() -> None:
    """A table that asks while no case is open does not wait for ever."""
    table = Table()
    async with TaskOwner(lambda *_: None) as tasks:
        feed = RowFeed("rows", table, tasks=tasks, parent=QObject())
        feed.request(1, 10)
        assert tasks.running == ()
    assert table.dropped == [1]


async def test_rows_of_a_case_that_was_closed_are_not_shown() -> None:
    """An answer that comes after the case changed is thrown away."""
    table = Table()
    answer: asyncio.Event = asyncio.Event()

    async def slow(first: int, _limit: int) -> Sequence[int]:
        await answer.wait()
        return [first]

    async with TaskOwner(lambda *_: None) as tasks:
        feed = RowFeed("rows", table, tasks=tasks, parent=QObject())
        feed.connect_to(slow)
        feed.request(1, 1)
        await asyncio.sleep(0)
        feed.connect_to(_numbers)
        answer.set()
        await until(lambda: not tasks.running)
    assert table.put == []


async def test_a_failing_request_is_reported_dropped_and_not_the_last() -> None:
    """A failure drops what was asked, so that the table may ask again, and is answered."""
    failures: list[str] = []
    table = Table()

    async def broken(_first: int, _limit: int) -> Sequence[int]:
        await asyncio.sleep(0)
        raise OSError

    async with TaskOwner(lambda name, _: failures.append(name)) as tasks:
        feed = RowFeed("rows", table, tasks=tasks, parent=QObject())
        feed.connect_to(broken)
        feed.request(257, 1)
        feed.request(1, 1)
        await until(lambda: failures)
        feed.connect_to(_numbers)
        feed.request(1, 1)
        await until(lambda: table.put)
    assert sorted(table.dropped) == [1, 257]
    assert failures == ["rows"]
    assert table.put == [(1, [1])]


async def test_what_the_table_asks_for_when_told_of_a_failure_is_answered() -> None:
    """A table that asks for its next block while it is told that one failed gets that block."""
    failures: list[str] = []

    class Asking(Table):
        def drop_request(self, first: int) -> None:
            super().drop_request(first)
            feed.request(513, 1)

    async def broken_once(first: int, limit: int) -> Sequence[int]:
        if first == 1:
            await asyncio.sleep(0)
            raise OSError
        return await _numbers(first, limit)

    table = Asking()
    async with TaskOwner(lambda name, _: failures.append(name)) as tasks:
        feed = RowFeed("rows", table, tasks=tasks, parent=QObject())
        feed.connect_to(broken_once)
        feed.request(1, 1)
        await until(lambda: failures and not tasks.running)
    assert failures == ["rows"]
    assert table.dropped == [1]
    assert table.put == [(513, [513])]
