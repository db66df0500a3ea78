"""Answers the tables' requests for rows from the session.

Covers one table at a time: one request is under way, the newest of those that wait is next, and those that a fast
scroll left behind are dropped. What the rows are, the session knows; how they look, the table.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from PySide6.QtCore import QObject

from gui.window.seams import Tasks

MOST_WAITING = 8
"""A table asks for at most half as many at once."""

Fetch = Callable[[int, int], Awaitable[Sequence[Any]]]
"""Returns rows from a number, counted from 1, at most so many."""


class RowTable(Protocol):
    """What asks for rows and takes them."""

    def put_rows(self, first: int, rows: Sequence[Any]) -> None:
        """Show these rows, the first of which has the number `first`."""
        ...

    def drop_request(self, first: int) -> None:
        """Do not wait for the rows from `first` on."""
        ...


class RowFeed(QObject):
    """Feeds one table.

    The mutable state is the source of rows, the requests that wait, and whether one is being answered; it changes
    only in the synchronous parts below.

    Args:
        name: What the task is called in reports.
        table: Where the rows go.
        tasks: Owner of the task.
        parent: The window.
    """

    def __init__(self, name: str, table: RowTable, *, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._name = name
        self._table = table
        self._tasks = tasks
        self._fetch: Fetch | None = None
        self._waiting: list[tuple[int, int]] = []
        self._busy = False

    def connect_to(self, fetch: Fetch | None) -> None:
        """Answer from here on with these rows, or with none; forget what was asked before."""
        self._fetch = fetch
        self._waiting.clear()

    def request(self, first: int, limit: int) -> None:
        """Get rows for the table; returns at once."""
        if self._fetch is None:
            self._table.drop_request(first)
            return
        self._waiting.append((first, limit))
        if len(self._waiting) > MOST_WAITING:
            self._table.drop_request(self._waiting.pop(0)[0])
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and not self._busy:
            self._busy = self._tasks.start(self._answer(), name=self._name) is not None

    async def _answer(self) -> None:
        try:
            while self._waiting and (fetch := self._fetch) is not None:
                first, limit = self._waiting.pop()
                try:
                    rows = await fetch(first, limit)
                except BaseException:  # a cancellation, too: nobody waits for what is dropped
                    # The list is taken first: a table that is told of a drop may ask for something else at once.
                    dropped, self._waiting = [(first, limit), *self._waiting], []
                    for asked, _ in dropped:
                        self._table.drop_request(asked)
                    raise
                if fetch is self._fetch:  # another case may have been opened meanwhile
                    self._table.put_rows(first, rows)
        finally:
            self._busy = False
            self._go_on()
