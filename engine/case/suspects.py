"""Suspects: what was in work for long, and what becomes of that when the program ended without telling how.

A run notes what stays in work, and forgets it when it ends. Where it could not say that it ended, the lock beside the
case tells whether the application died: then every suspect is convicted, and the next run strikes it. Where the
application let go of the case in order (its disk was full, say), nothing of that was a page's fault.

A suspect that is convicted stands in the table as its negative, so that it is struck even where the program that
opened the case next did not begin a run.
"""

from collections.abc import Iterator
from typing import Any, Final

import apsw

_A_READ: Final = 500


def suspect(connection: apsw.Connection, place: int) -> None:
    """Remember that a page or a document is in work for long."""
    connection.execute("INSERT OR IGNORE INTO suspects VALUES (?)", (place,))


def clear(connection: apsw.Connection, place: int) -> None:
    """Forget that a page or a document was in work for long."""
    connection.execute("DELETE FROM suspects WHERE place = ?", (place,))


def forget_unconvicted(connection: apsw.Connection) -> None:
    """Forget what was in work for long, but for what is to be struck for it."""
    connection.execute("DELETE FROM suspects WHERE place > 0")


def forget_all(connection: apsw.Connection) -> None:
    """Forget all that was in work for long, once."""
    connection.execute("DELETE FROM suspects")


def judge(connection: apsw.Connection, *, died: bool) -> None:
    """Convict what was in work for long, or forget it; for a case that was just opened, inside a transaction.

    Args:
        connection: The writer.
        died: Whether the application that had the case last died with it.
    """
    if died:
        connection.execute("INSERT OR IGNORE INTO suspects SELECT -place FROM suspects WHERE place > 0")
    forget_unconvicted(connection)


def convicted(connection: apsw.Connection) -> Iterator[int]:
    """Yield the places that are to be struck and have no terminal record; the journal must have been flushed."""
    after = 0
    while rows := _convicted_after(connection, after):
        yield from rows
        after = rows[-1]


def _convicted_after(connection: apsw.Connection, after: int) -> list[int]:
    rows: list[Any] = connection.execute(_CONVICTED, (-after, _A_READ)).fetchall()
    return [place for (place,) in rows]


_CONVICTED: Final = (
    "SELECT -place FROM suspects WHERE place < ? "
    "AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.place = -suspects.place) ORDER BY place DESC LIMIT ?"
)
