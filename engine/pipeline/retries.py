"""Retries: what is to be tried again, each not before its time.

Covers the order and the waiting. Which failures are tried again, and how long after, is the business of `retry`.
"""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(order=True, slots=True)
class _Retry(Generic[T]):
    ready_s: float
    number: int
    item: T = field(compare=False)


class RetryHeap(Generic[T]):
    """Items by the time from which they may be tried again; first come, first served among equal times.

    Args:
        now: The monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._heap: list[_Retry[T]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, item: T, delay_s: float) -> None:
        """Keep an item for at least `delay_s` seconds from now."""
        heapq.heappush(self._heap, _Retry(self._now() + delay_s, next(self._numbers), item))

    def take_due(self) -> T | None:
        """Take the first item whose time has come; None where there is none."""
        if self._heap and self._heap[0].ready_s <= self._now():
            return heapq.heappop(self._heap).item
        return None

    async def wait(self, changed: asyncio.Event) -> None:
        """Wait until `changed` is set, at the latest when the first item's time has come; the caller looks again."""
        if not self._heap:
            await changed.wait()
            return
        # Only between a failure and its retry: a rare timer, not one per page.
        delay_s = max(0.0, self._heap[0].ready_s - self._now())
        timer = asyncio.get_running_loop().call_later(delay_s, changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()
