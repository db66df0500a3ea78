"""The watch over sources: holds admission while one is away (a share, a drive), and lets go when it is back.

A document that cannot be reached, or is gone together with the folder that it was found below, says nothing against
itself: it begins the hold and is tried again afterwards. While the hold stands the folders are looked at, on a thread
of their own, since a dead share can block for minutes.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from enum import StrEnum

import psutil

from engine.models.outcome import Reason

LOOK_S = 2.0
"""Time between two looks at a source that is away."""

_REMEMBERED = 64
"""How many of the documents that were missed in a folder are looked for to tell that it is back."""

Identity = tuple[int, int]
"""Device and inode of a folder: another one under the same path is another medium, or an empty mount point."""

_EMPTY: Identity = (-1, -1)
"""Stands for a folder with nothing in it when the run began: if documents are known below it, their drive is away."""


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
        self._away: dict[bytes, set[bytes]] = {}
        """Folders that are away, and some of the documents that were missed in each."""
        self._alarm = asyncio.Event()

    async def begin(self) -> None:
        """Take note of which folders are there, and of which medium; of media mounted below them, too."""
        loop = asyncio.get_running_loop()

        def look() -> dict[bytes, Identity | None]:
            folders = (*self._roots, *_mounted_below(self._roots))
            return {folder: _EMPTY if _is_empty(folder) else _identity(folder) for folder in folders}

        self._known = await loop.run_in_executor(self._thread, look)

    async def blame(self, reason: Reason, location: bytes) -> Blame:
        """Tell whether a document failed because its source is or was away; while it is, the hold stands.

        Args:
            reason: Why it failed.
            location: Its absolute path.
        """
        if reason not in _MAY_BE_AWAY:
            return Blame.DOCUMENT
        roots = [root for root in self._known if location.startswith(os.path.join(root, b""))]  # noqa: PTH118  # bytes
        if self._is_away(roots, location):
            return Blame.SOURCE
        loop = asyncio.get_running_loop()
        missing, is_there = await loop.run_in_executor(
            self._thread, lambda: (self._missing(roots), os.path.lexists(location))
        )
        if missing:
            self._hold(missing, location)
        # Others may have found it away in the meantime, and it may be back already: what failed, failed for that.
        if self._is_away(roots, location):
            return Blame.SOURCE
        if reason is Reason.SOURCE_UNREACHABLE:
            # A share whose folder is still remembered by the system looks as if it were there.
            self._hold(roots, location)
            return Blame.MOMENT
        return Blame.MOMENT if is_there else Blame.DOCUMENT

    async def run(self) -> None:
        """Look after sources that are away, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._alarm.wait()
            await asyncio.sleep(LOOK_S)
            away = {folder: frozenset(missed) for folder, missed in self._away.items()}
            if await loop.run_in_executor(self._thread, self._are_back, away):
                self._away.clear()
                self._alarm.clear()
                self._change(False)

    def _is_away(self, folders: Iterable[bytes], location: bytes) -> bool:
        """Whether one of these folders is known to be away; the document that was missed is remembered."""
        away = [folder for folder in folders if folder in self._away]
        for folder in away:
            self._miss(folder, location)
        return bool(away)

    def _hold(self, folders: Iterable[bytes], location: bytes) -> None:
        for folder in folders:
            self._away.setdefault(folder, set())
            self._miss(folder, location)
        if self._away and not self._alarm.is_set():
            self._alarm.set()
            self._change(True)

    def _miss(self, folder: bytes, location: bytes) -> None:
        if len(self._away[folder]) < _REMEMBERED:
            self._away[folder].add(location)

    def _are_back(self, away: Mapping[bytes, Iterable[bytes]]) -> bool:
        """Whether all these folders are there again: the same ones, or others with what was missed in them; blocking.

        A drive that is plugged in again, or a share that is mounted again, need not be the same device for the system.
        An empty mount point is another folder, too, and nothing of what was missed is in it. One that was empty from
        the start is taken as it is once anything lies in it.
        """
        for folder, missed in away.items():
            known, found = self._known[folder], _identity(folder)
            if found is None:
                return False
            if found != known:
                is_other = _is_empty(folder) if known == _EMPTY else known is not None
                if is_other and not any(map(os.path.lexists, missed)):
                    return False
                self._known[folder] = found
        return True

    def _missing(self, roots: Iterable[bytes]) -> list[bytes]:
        """Return those folders that are not there, or are another medium than at the start; blocking."""
        missing = []
        for root in roots:
            known, found = self._known[root], _identity(root)
            if found is None or (known is not None and found != known):
                missing.append(root)
        return missing


def _mounted_below(roots: Iterable[bytes]) -> list[bytes]:
    """Return the folders below these on which something is mounted; blocking."""
    try:
        mounts = [os.fsencode(partition.mountpoint) for partition in psutil.disk_partitions(all=True)]
    except (OSError, RuntimeError):  # where the system does not tell, only the roots are watched
        return []
    return [mount for mount in mounts for root in roots if mount.startswith(os.path.join(root, b""))]  # noqa: PTH118  # bytes


_MAY_BE_AWAY = frozenset({Reason.SOURCE_UNREACHABLE, Reason.SOURCE_VANISHED})


def _is_empty(folder: bytes) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _identity(root: bytes) -> Identity | None:
    try:
        found = os.stat(root)  # noqa: PTH116  # bytes, as the file system spells it
    except OSError:
        return None
    return found.st_dev, found.st_ino
