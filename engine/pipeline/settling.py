"""Files that somebody is still writing: a look that says whether one has come to rest.

A document that is just being copied looks damaged, or changes while it is read. It is left alone until it stands
still, so that half a file neither becomes a dead letter nor passes for the whole.
"""

import asyncio
import os
import stat
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from engine.models.document import Failure, Probe
from engine.models.outcome import Reason

STILL_S = 10.0
"""How long a file must stand still, on our own clock, before it is no longer taken for one that is being copied."""

CLOCKS_APART_S = 300.0
"""A file whose date is further than this from our time is none that was written to just now, even where a file server's
clock differs from ours."""

MOST_LOOKS = 64
"""Looks after which a file that never comes to rest (a scanner may append to it all day) is given up: half an hour."""

_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a file looked like, to be compared with the next look."""

    number: int
    """Which look this is, from 1."""
    version: tuple[int, int]
    """Size in bytes and time of the last change in nanoseconds."""
    since_s: float
    """When it was first seen like this, on the monotonic clock."""
    delay_s: float
    """Seconds until the next look."""


class Settling:
    """Looks at files that may still be written to.

    Args:
        thread: A thread for looking, which may block.
        wall_s: The wall clock, in seconds since 1970, by which file systems date changes.
        now: The monotonic clock.
    """

    def __init__(self, thread: Executor, wall_s: Callable[[], float], now: Callable[[], float]) -> None:
        self._thread = thread
        self._wall_s = wall_s
        self._now = now

    async def look(self, location: bytes, found: Probe | Failure, last: Look | None) -> Look | Probe | Failure:
        """Return what was found where that is final, or what the file looks like where it has to be left alone.

        Args:
            location: The document's absolute path.
            found: What the probe just made found.
            last: What the file looked like at the probe before, if that was not final either.
        """
        changed = isinstance(found, Failure) and found.reason is Reason.SOURCE_CHANGED
        if not changed and not _may_be_half(found):
            return found
        loop = asyncio.get_running_loop()
        version = await loop.run_in_executor(self._thread, _version, location)
        if version is None:
            return found
        now_s = self._now()
        # A share's clock may differ from ours, so that a date tells only whether to look again, and not when to stop.
        recent = abs(self._wall_s() - version[1] / 1e9) < CLOCKS_APART_S
        stands = last is not None and last.version == version
        since_s = last.since_s if last is not None and stands else now_s
        left_s = since_s + (STILL_S if recent else 0.0) - now_s
        # A copy may carry the date of its original from its first byte on: then only two looks can tell.
        if left_s <= 0 and (stands or (last is None and not changed)):
            return found
        number = 1 if last is None else last.number + 1
        if number > MOST_LOOKS:
            return Failure(reason=Reason.SOURCE_CHANGED)  # half a file must not pass for the whole
        delay_s = min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2.0 ** (number - 1))
        if stands:
            delay_s = min(delay_s, left_s)
        return Look(number=number, version=version, since_s=since_s, delay_s=delay_s)


def _may_be_half(found: Probe | Failure) -> bool:
    return found.reason in _HALF if isinstance(found, Failure) else found.repaired


_HALF = frozenset({Reason.EMPTY_FILE, Reason.NOT_A_PDF, Reason.CORRUPT_DOCUMENT, Reason.READ_FAILED})


def _version(location: bytes) -> tuple[int, int] | None:
    """Return a file's size and time of change, or None where there is no regular file any more; blocking."""
    try:
        found = os.lstat(location)
    except (OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None
