"""The clock: time as the flow's rules see it, handed in wherever a rule depends on time.

Covers reading the monotonic clock, sleeping, and being called later. Wall-clock time, which jumps, has no place in
the flow. A clock that tests turn by hand is in `tests.support.clock`.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

LONGEST_S = 3600.0
"""Longest single timer: a loop that keeps milliseconds in 32 bits refuses one of months, or an endless one."""


class Timer(Protocol):
    """A call that was asked for and has not happened yet."""

    def cancel(self) -> None:
        """Take the request back; nothing happens where the call was already made."""
        ...


class Clock(Protocol):
    """Time for one event loop."""

    def monotonic(self) -> float:
        """Return seconds since some moment; never goes backwards."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds, not earlier."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call back in about `delay_s` seconds; possibly earlier, so that the callback must read the clock again."""
        ...


class SystemClock:
    """The real clock; needs a running event loop for everything but reading it."""

    def __repr__(self) -> str:
        return f"<SystemClock {self.monotonic():.3f} s>"

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds, not earlier; 0 or less lets other tasks run once."""
        until_s = self.monotonic() + delay_s
        await asyncio.sleep(min(max(delay_s, 0.0), LONGEST_S))
        # Qt's timers are coarse and wake up to 5 % early, so that one sleep may not be enough.
        while (rest_s := until_s - self.monotonic()) > 0:  # noqa: ASYNC110  # it waits for time, not for an event
            await asyncio.sleep(min(max(rest_s, 0.001), LONGEST_S))

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call back in `delay_s` seconds, or after `LONGEST_S` if that is sooner."""
        return asyncio.get_running_loop().call_later(min(max(delay_s, 0.0), LONGEST_S), callback)
