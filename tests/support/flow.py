"""What the tests of the flow share: letting tasks run, cancelling them, and a stage under full control."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from engine.flow.bucket import TokenBucket
from engine.flow.gate import WatermarkGate
from engine.flow.permits import Permits
from engine.flow.queue import BoundedQueue
from engine.flow.stage import Stage
from engine.models.flow import StageStatistics
from tests.support.clock import ManualClock

T = TypeVar("T")
R = TypeVar("R")

ROUNDS = 30
"""Rounds of the loop after which tasks that can go on have done so; the longest chain of wakes is far shorter."""


async def settle(rounds: int = ROUNDS) -> None:
    """Let every task run until it waits for something that only the test can give."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    """Let tasks run until a condition holds; fail where it does not come about."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition did not come about")


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and see that it ends as cancelled."""
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that must not wait for anything, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise AssertionError("it waited")


async def oldest_of(queue: BoundedQueue[T]) -> T:
    """Take the oldest item of a queue."""
    (item,) = await queue.get_batch(1)
    return item


def one_by_one(process: Callable[[T], Awaitable[R]]) -> Callable[[Sequence[T]], Awaitable[list[R]]]:
    """Return what processes items together by processing each of them in turn."""

    async def process_all(items: Sequence[T]) -> list[R]:
        return [await process(item) for item in items]

    return process_all


class Rig:
    """A stage whose items are their own weights, or (name, weight) pairs, and whose workers wait for the test.

    Args:
        workers: Size of the crew.
        free: Whether items are processed without waiting for `let`.
        complete: Whether permits come back upon delivery.
    """

    def __init__(
        self,
        *,
        max_queue: int = 8,
        hi: int = 6,
        lo: int = 2,
        permits: int = 20,
        rate_per_s: float | None = None,
        burst: int = 10,
        workers: int = 1,
        free: bool = False,
        complete: bool = True,
    ) -> None:
        self.clock = ManualClock()
        self.queue: BoundedQueue[Any] = BoundedQueue(max_queue)
        self.permits = Permits(permits)
        self.bucket = TokenBucket(rate_per_s=rate_per_s, burst=burst, clock=self.clock)
        self.gate = WatermarkGate(hi=hi, lo=lo, clock=self.clock)
        self.started: list[Any] = []
        self.delivered: list[Any] = []
        self.at_once_busy = 0
        self._free = free
        self._complete = complete
        self._go = asyncio.Semaphore(0)
        self.stage: Stage[Any, Any] = Stage(
            name="rig",
            queue=self.queue,
            permits=self.permits,
            bucket=self.bucket,
            gate=self.gate,
            workers=workers,
            process=one_by_one(self._process),
            deliver=self._deliver,
            weight=weigh,
            clock=self.clock,
        )

    @property
    def now(self) -> StageStatistics:
        """The stage's figures."""
        return self.stage.statistics()

    @property
    def holding_nothing(self) -> bool:
        """Whether neither permits are out nor items or producers wait."""
        now = self.now
        return (
            now.permits_held == 0
            and now.queue_depth == 0
            and len(self.queue) == 0
            and now.blocked_on is None
            and self.permits.waiting == self.bucket.waiting == 0
            and self.queue.statistics().waiting_to_put == 0
        )

    def let(self, items: int = 1) -> None:
        """Let workers finish that many items."""
        for _ in range(items):
            self._go.release()

    async def _process(self, item: Any) -> Any:
        self.started.append(item)
        self.at_once_busy = max(self.at_once_busy, self.now.workers_busy)
        if not self._free:
            await self._go.acquire()
        return item

    async def _deliver(self, item: Any, _result: Any) -> None:
        self.delivered.append(item)
        if self._complete:
            self.stage.complete(weigh(item))


def weigh(item: Any) -> int:
    """Return the weight of an item: its second part, or itself."""
    return int(item[1]) if isinstance(item, tuple) else int(item)
