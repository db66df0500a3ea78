"""The watch over sources: holds admission while one is away (a share, a drive), and lets go when it is back.

A document that cannot be reached, or is gone together with the folder that it was found below, says nothing against
itself: it begins the hold and is tried again afterwards. While the hold stands the folders are looked at, on a thread
of their own, since a dead share can block for minutes.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from engine.models.outcome import Reason

LOOK_S = 2.0
"""Time between two looks at a source that is away."""

Identity = tuple[int, int]
"""Device and inode of a folder: another one under the same path is another medium, or an empty mount point."""


class SourceWatch:
    """Begins and ends the `upstream` hold.

    Args:
        roots: Folders below which documents lie, as bytes. One that is not there at the start is not waited for.
        change: Begins (True) or ends (False) the hold.
        thread: A thread for looking, which may block.
    """

    def __init__(self, roots: Sequence[bytes], change: Callable[[bool], None], thread: Executor) -> None:
        self._roots = tuple(roots)
        self._change = change
        self._thread = thread
        self._known: dict[bytes, Identity] = {}
        self._away = asyncio.Event()

    async def begin(self) -> None:
        """Take note of which folders are there."""
        loop = asyncio.get_running_loop()
        self._known = await loop.run_in_executor(self._thread, self._look)

    async def is_to_blame(self, reason: Reason, location: bytes) -> bool:
        """Tell whether a document failed because its source is away; if so, the hold begins.

        Args:
            reason: Why it failed.
            location: Its absolute path.
        """
        if reason is Reason.SOURCE_UNREACHABLE:
            away = True
        elif reason is Reason.SOURCE_VANISHED:
            loop = asyncio.get_running_loop()
            away = await loop.run_in_executor(self._thread, self._root_is_away, location)
        else:
            away = False
        if away and not self._away.is_set():
            self._away.set()
            self._change(True)
        return away

    async def run(self) -> None:
        """Look after sources that are away, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._away.wait()
            await asyncio.sleep(LOOK_S)
            if await loop.run_in_executor(self._thread, self._look) == self._known:
                self._away.clear()
                self._change(False)

    def _root_is_away(self, location: bytes) -> bool:
        return any(
            location.startswith(os.path.join(root, b"")) and _identity(root) != known  # noqa: PTH118  # bytes
            for root, known in self._known.items()
        )

    def _look(self) -> dict[bytes, Identity]:
        """Return the folders that are there; after the start, only of those that were there then."""
        found = {root: _identity(root) for root in self._known or self._roots}
        return {root: identity for root, identity in found.items() if identity is not None}


def _identity(root: bytes) -> Identity | None:
    try:
        found = os.stat(root)  # noqa: PTH116  # bytes, as the file system spells it
    except OSError:
        return None
    return found.st_dev, found.st_ino
