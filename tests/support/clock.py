"""A clock that tests turn by hand; it fulfils `engine.flow.clock.Clock`."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count


class ManualTimer:
    """A call that a manual clock was asked for."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Take the request back."""
        self.callback = None


class ManualClock:
    """Time stands still until a test moves it.

    Args:
        start_s: What the clock shows first; not 0, so that a rule that forgets to subtract is found out.
    """

    def __init__(self, start_s: float = 5000.0) -> None:
        self._now_s = start_s
        self._timers: list[tuple[float, int, ManualTimer]] = []
        self._numbers = count()

    def monotonic(self) -> float:
        """Return what the clock shows."""
        return self._now_s

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> ManualTimer:
        """Call back when the clock has been moved by `delay_s`."""
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (self._now_s + delay_s, next(self._numbers), timer))
        return timer

    async def sleep(self, delay_s: float) -> None:
        """Return when the clock has been moved by `delay_s`."""
        if delay_s <= 0:
            await asyncio.sleep(0)
            return
        over = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not over.done():
                over.set_result(None)

        timer = self.call_later(delay_s, wake)
        try:
            await over
        finally:
            timer.cancel()

    @property
    def pending(self) -> int:
        """How many calls are still to be made."""
        return sum(timer.callback is not None for _due_s, _number, timer in self._timers)

    @property
    def next_in_s(self) -> float | None:
        """Time until the next call, or None where there is none."""
        self._drop_cancelled()
        return self._timers[0][0] - self._now_s if self._timers else None

    def advance(self, seconds: float) -> None:
        """Move the clock and make the calls that fall due on the way, each at its time."""
        until_s = self._now_s + seconds
        while self._timers and self._timers[0][0] <= until_s + 1e-12:
            due_s, _number, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                self._now_s = max(self._now_s, due_s)
                timer.callback()
        self._now_s = until_s

    def wake_early(self, by_s: float) -> None:
        """Make the next call `by_s` seconds before its time, as coarse timers do."""
        self._drop_cancelled()
        due_s, _number, timer = heapq.heappop(self._timers)
        self._now_s = max(self._now_s, due_s - by_s)
        assert timer.callback is not None
        timer.callback()

    def _drop_cancelled(self) -> None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
