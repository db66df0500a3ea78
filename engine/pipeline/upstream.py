"""The watch over sources: holds admission while one is away (a share, a drive), and lets go when it is back.

A document that cannot be reached, or is gone together with the folder that it was found below, says nothing against
itself: it begins the hold and is tried again afterwards. While the hold stands the folders are looked at, on a thread
of their own, since a dead share can block for minutes.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from enum import StrEnum

from engine.models.outcome import Reason

LOOK_S = 2.0
"""Time between two looks at a source that is away."""

Identity = tuple[int, int]
"""Device and inode of a folder: another one under the same path is another medium, or an empty mount point."""


class Blame(StrEnum):
    """What a document's failure says about its source."""

    DOCUMENT = "document"  # Nothing: the failure is the document's own.
    SOURCE = "source"  # Its source is away. It waits until that is back, and this was no try.
    MOMENT = "moment"  # It was out of reach and its source is there again. This was a try, and there may be others.


class SourceWatch:
    """Begins and ends the `upstream` hold.

    Args:
        roots: Folders below which documents lie, as bytes. One that is missing from the start is waited for, too.
        change: Begins (True) or ends (False) the hold.
        thread: A thread for looking, which may block.
    """

    def __init__(self, roots: Sequence[bytes], change: Callable[[bool], None], thread: Executor) -> None:
        self._roots = tuple(roots)
        self._change = change
        self._thread = thread
        self._known: dict[bytes, Identity | None] = {}
        self._away: set[bytes] = set()
        self._alarm = asyncio.Event()

    async def begin(self) -> None:
        """Take note of which folders are there, and of which medium."""
        loop = asyncio.get_running_loop()
        self._known = await loop.run_in_executor(self._thread, lambda: {root: _identity(root) for root in self._roots})

    async def blame(self, reason: Reason, location: bytes) -> Blame:
        """Tell whether a document failed because its source is or was away; while it is, the hold stands.

        Args:
            reason: Why it failed.
            location: Its absolute path.
        """
        if reason not in _MAY_BE_AWAY:
            return Blame.DOCUMENT
        roots = [root for root in self._known if location.startswith(os.path.join(root, b""))]  # noqa: PTH118  # bytes
        if self._away.intersection(roots):
            return Blame.SOURCE
        loop = asyncio.get_running_loop()
        missing, is_there = await loop.run_in_executor(
            self._thread, lambda: (self._missing(roots), os.path.lexists(location))
        )
        if missing:
            self._hold(missing)
        # Others may have found it away in the meantime, and it may be back already: what failed, failed for that.
        if self._away.intersection(roots):
            return Blame.SOURCE
        if reason is Reason.SOURCE_UNREACHABLE:
            # A share whose folder is still remembered by the system looks as if it were there.
            self._hold(roots)
            return Blame.MOMENT
        return Blame.MOMENT if is_there else Blame.DOCUMENT

    async def run(self) -> None:
        """Look after sources that are away, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._alarm.wait()
            await asyncio.sleep(LOOK_S)
            if not await loop.run_in_executor(self._thread, self._missing, tuple(self._away)):
                self._away.clear()
                self._alarm.clear()
                self._change(False)

    def _hold(self, roots: Iterable[bytes]) -> None:
        self._away.update(roots)
        if self._away and not self._alarm.is_set():
            self._alarm.set()
            self._change(True)

    def _missing(self, roots: Iterable[bytes]) -> list[bytes]:
        """Return those folders that are not there, or are another medium than at the start; blocking."""
        missing = []
        for root in roots:
            known, found = self._known[root], _identity(root)
            if found is None or (known is not None and found != known):
                missing.append(root)
        return missing


_MAY_BE_AWAY = frozenset({Reason.SOURCE_UNREACHABLE, Reason.SOURCE_VANISHED})


def _identity(root: bytes) -> Identity | None:
    try:
        found = os.stat(root)  # noqa: PTH116  # bytes, as the file system spells it
    except OSError:
        return None
    return found.st_dev, found.st_ino
