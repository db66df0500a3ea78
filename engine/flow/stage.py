"""The stage: a bounded queue, permits, a token bucket, a gate and workers around one `process` callable.

Covers admission, the workers' life, and giving back what was taken whatever is cancelled when. It knows nothing of
what an item is. What an outcome becomes, and when it counts as done, is the business of the stage's owner.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Generic, TypeVar

from engine.flow.blockage import Blockage
from engine.flow.bucket import TokenBucket
from engine.flow.clock import Clock
from engine.flow.gate import WatermarkGate
from engine.flow.line import FlowClosed
from engine.flow.permits import Permits
from engine.flow.queue import BoundedQueue, QueueClosed
from engine.models.flow import StageStatistics
from engine.settings import FlowLimits

T = TypeVar("T")
R = TypeVar("R")

_LATENCY_SHARE = 0.1
"""How much the newest hand-over counts in the recent means."""
_TOGETHER_S = 1.0
"""How long a worker should need for what it takes at once: its results come together, and are lost together."""


class Stage(Generic[T, R]):
    """Admits items at the speed at which its workers, and the commits behind them, get through.

    An item takes permits, then tokens, and passes the gate last, in the same synchronous step in which it enters the
    queue: a gate that is held stops the very next admission. Producers come in one after the other, in the order in
    which they called; nothing is ever dropped. Who waits at the gate holds neither permits nor tokens, so that in a
    lasting hold all permits come back. An item that is heavier than a limit (it was on its way when the limit was
    lowered) goes alone.

    The permits of an item are the stage's to return until `deliver` is called with its result; from then on they are
    the owner's, who returns them by `complete` when the result is safe, whatever becomes of that call.

    Args:
        name: Names the worker tasks.
        queue: Where items wait; its depth is reported to the gate.
        permits: The right to be in flight.
        bucket: The right to start now.
        gate: Everything that can hold admission.
        workers: How many items are processed at once.
        process: Turns items into as many results; a bad item is a result, too, and not an exception.
        deliver: Takes over an item's result; while it waits, so does the worker.
        weight: What an item counts, always the same for the same item.
        together: Gives the most weight that a worker takes at once of what waits: less where it lately needed more
            than a second for that. One item always goes.
        clock: Tells the time.
    """

    # Mutable state: that of the four primitives, `_crew`, `_idle`, `_group` and the counters. It changes in
    # synchronous methods, or between two awaits of `_work` and `_handle`; whatever was taken before an await is
    # given back when that await ends in any exception, cancellation included.

    def __init__(  # noqa: PLR0913  # four primitives, two callables: it is where they are joined
        self,
        *,
        name: str,
        queue: BoundedQueue[T],
        permits: Permits,
        bucket: TokenBucket,
        gate: WatermarkGate,
        workers: int,
        process: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        deliver: Callable[[T, R], Awaitable[None]],
        clock: Clock,
        weight: Callable[[T], int] = lambda _item: 1,
        together: Callable[[], int] = lambda: 1,
    ) -> None:
        self.name = name
        self._queue = queue
        self._permits = permits
        self._bucket = bucket
        self._gate = gate
        self._process = process
        self._deliver = deliver
        self._weight = weight
        self._together = together
        self._clock = clock
        queue.on_depth = gate.observe
        self._turn = asyncio.Lock()
        self._blockage = Blockage(clock)
        self._closed = False
        self._workers = workers
        self._numbers = count(1)
        self._crew: set[int] = set()  # workers that are to take another item
        self._idle: dict[int, asyncio.Task[None]] = {}  # those of them that wait for one
        self._group: asyncio.TaskGroup | None = None
        self._crew_gone = asyncio.Event()
        self._has_run = False
        self._busy = 0
        self._delivering = 0
        self._admitted = 0
        self._handed_over = 0
        self._completed = 0
        self._dropped = 0
        self._latency_s: float | None = None
        self._pace_s: float | None = None  # for each unit of weight

    def __repr__(self) -> str:
        holds = ", ".join(hold.cause for hold in self._gate.holds)
        return (
            f"<Stage {self.name}: {self._queue.depth}/{self._queue.max_queue} queued, "
            f"{self._permits.held}/{self._permits.total} permits, {self._busy}/{self._workers} workers busy, "
            f"{len(self._blockage)} producers waiting, {f'held by {holds}' if holds else 'open'}"
            f"{', closed' if self._closed else ''}>"
        )

    @property
    def gate(self) -> WatermarkGate:
        """What holds admission."""
        return self._gate

    @property
    def in_flight(self) -> int:
        """Weight that is queued, being processed or handed over and not complete: what a pause has to wait for.

        The permits that are out may be more for a while: a producer that waits for tokens has its permits already.
        """
        return self._admitted - self._completed - self._dropped

    @property
    def starved(self) -> bool:
        """Whether workers have nothing to take, or soon will because a producer waits for permits.

        Then what is handed over is wanted complete. A producer that waits for permits while the queue is well filled
        keeps nobody from working.
        """
        depth = self._queue.depth
        return not depth or (depth <= self._gate.lo and self._permits.waiting > 0)

    async def admit(self, item: T) -> None:
        """Bring an item into the queue, after everybody who came earlier; when cancelled, it is not in it.

        Do not wait here while holding permits of this stage: they may be what is waited for.

        Raises:
            FlowClosed: When the stage is closed; the item was not admitted.
        """
        if not self.try_admit(item):
            await self._admit_in_turn(item, self._weight(item))

    def try_admit(self, item: T) -> bool:
        """Bring an item into the queue if that needs no waiting and overtakes nobody; return whether it is in.

        Raises:
            FlowClosed: When the stage is closed; the item was not admitted.
        """
        if self._closed:
            raise FlowClosed
        weight = self._weight(item)
        if self._blockage or not (self._gate.should_admit() and self._queue.has_space(weight)):
            return False
        # In one synchronous step the order is free, and given back tokens leave no trace in the statistics.
        if not self._bucket.try_take(weight, oversize=True):
            return False
        if not self._permits.try_acquire(weight, oversize=True):
            self._bucket.give_back(weight)
            return False
        return self._enter(item, weight)

    def complete(self, weight: int) -> None:
        """Return the permits of a delivered item, or of a part of it.

        Raises:
            ValueError: When more come back than are out.
        """
        self._permits.release(weight)
        self._completed += weight

    async def run(self) -> None:
        """Run the workers until the stage is closed and its queue is drained.

        When this is cancelled or an item's processing fails, the stage is closed: items that no worker took or
        finished are dropped, unprocessed, and their permits returned.

        Raises:
            ExceptionGroup: With what `process` or `deliver` raised.
        """
        if self._has_run:
            raise RuntimeError("a stage runs once")
        self._has_run = True
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                try:
                    self._staff()
                    await self._crew_gone.wait()
                finally:
                    self._group = None  # from here on nobody is hired
        finally:
            self._abandon()

    def close(self) -> None:
        """Admit nothing more, turn waiting producers away, and let `run` end once the queue is drained."""
        self._closed = True
        self._permits.close()
        self._bucket.close()
        self._queue.close()
        self._gate.nudge()

    def resize(self, workers: int) -> None:
        """Change how many items are processed at once; a surplus worker ends after its item.

        Raises:
            ValueError: When `workers` is below 1.
        """
        if workers < 1:
            raise ValueError(f"workers is {workers}, and must be at least 1")
        self._workers = workers
        self._staff()

    def apply(self, limits: FlowLimits) -> None:
        """Take over all limits at once, for what waits now, too."""
        self._permits.resize(limits.permits)
        self._queue.resize(limits.max_queue)
        self._gate.set_marks(hi=limits.hi, lo=limits.lo)
        self._bucket.reconfigure(rate_per_s=limits.rate_per_s, burst=limits.burst)
        self.resize(limits.workers)

    def statistics(self) -> StageStatistics:
        """Return the stage's figures now."""
        queue = self._queue.statistics()
        return StageStatistics(
            queue_depth=queue.depth,
            max_queue=queue.max_queue,
            hi=self._gate.hi,
            lo=self._gate.lo,
            permits_held=self._permits.held,
            permits=self._permits.total,
            tokens=self._bucket.tokens,
            workers=self._workers,
            workers_busy=self._busy,
            workers_delivering=self._delivering,
            holds=self._gate.holds,
            producer_blocked_s=self._blockage.total_s,
            blocked_on=self._blockage.on,
            blocked_for_s=self._blockage.for_s,
            consumer_latency_ms=(self._latency_s or 0.0) * 1000,
            admitted=self._admitted,
            uncommitted=self._handed_over - self._completed,
            completed=self._completed,
            max_queue_depth=queue.max_depth,
            max_permits_held=self._permits.max_held,
        )

    async def _admit_in_turn(self, item: T, weight: int) -> None:
        wait = self._blockage.begin()
        try:
            async with self._turn:
                while True:
                    self._blockage.move(wait, "permit")
                    await self._permits.acquire(weight, oversize=True)
                    try:
                        self._blockage.move(wait, "token")
                        await self._bucket.take(weight, oversize=True)
                    except BaseException:  # a cancellation, too: what was taken goes back
                        self._permits.release(weight)
                        raise
                    if self._enter(item, weight):
                        return
                    if self._gate.should_admit():
                        self._blockage.move(wait, "queue")
                        await self._queue.wait_space(weight)
                    else:
                        self._blockage.move(wait, "gate")
                        await self._gate.wait_open(unless=lambda: self._closed)
        finally:
            self._blockage.end(wait)

    def _enter(self, item: T, weight: int) -> bool:
        """Pass the gate and enter the queue with permits and tokens in hand; where that fails, give them back."""
        if not self._closed and self._gate.should_admit() and self._queue.try_put(item, weight):
            self._admitted += weight
            return True
        self._permits.release(weight)
        self._bucket.give_back(weight)
        return False

    def _staff(self) -> None:
        """Hire or dismiss until the crew has its size; an idle worker goes at once, a busy one after its item."""
        if self._group is None:
            return
        while len(self._crew) < self._workers:
            number = next(self._numbers)
            self._crew.add(number)
            self._group.create_task(self._work(number), name=f"{self.name} worker {number}")
        idle_first = sorted(self._crew, key=lambda number: number not in self._idle)
        for number in idle_first[: len(self._crew) - self._workers]:
            self._crew.remove(number)
            if number in self._idle:
                self._idle.pop(number).cancel()

    async def _work(self, number: int) -> None:
        try:
            while number in self._crew and (taken := await self._next(number)):
                await self._handle(taken)
        except BaseException as error:  # whatever ends a worker: the crew has one less
            dismissed = number not in self._crew and isinstance(error, asyncio.CancelledError)
            if not dismissed:  # the stage is coming to its end, and its group takes nobody any more
                self._crew.discard(number)
                self._group = None
            raise
        self._crew.discard(number)
        if not self._crew:
            self._crew_gone.set()

    async def _next(self, number: int) -> list[T]:
        """Wait for the next items; return none once the queue is closed and drained."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine runs in a task
        self._idle[number] = task
        try:
            return await self._queue.get_batch(self._taken_at_once)
        except QueueClosed:
            return []
        finally:
            self._idle.pop(number, None)

    async def _handle(self, items: Sequence[T]) -> None:
        weights = [self._weight(item) for item in items]
        started_s = self._clock.monotonic()
        ours = sum(weights)
        self._busy += 1
        try:
            results = await self._process(items)
            self._note_latency(self._clock.monotonic() - started_s, ours)
            for item, weight, result in zip(items, weights, results, strict=True):
                ours -= weight
                self._handed_over += weight
                self._delivering += 1
                try:
                    await self._deliver(item, result)
                finally:
                    self._delivering -= 1
        finally:
            if ours:  # a cancellation, too: what was taken goes back
                self._drop(ours)
            self._busy -= 1

    @property
    def _taken_at_once(self) -> int:
        """The most weight that a worker takes now."""
        most = self._together()
        if self._pace_s is None:
            return 1
        return most if most * self._pace_s <= _TOGETHER_S else max(1, int(_TOGETHER_S / self._pace_s))

    def _note_latency(self, latency_s: float, weight: int) -> None:
        self._latency_s = _recent_mean(self._latency_s, latency_s)
        self._pace_s = _recent_mean(self._pace_s, latency_s / weight)

    def _abandon(self) -> None:
        self.close()
        for item in self._queue.clear():
            self._drop(self._weight(item))

    def _drop(self, weight: int) -> None:
        self._permits.release(weight)
        self._dropped += weight


def _recent_mean(before: float | None, new: float) -> float:
    return new if before is None else before + (new - before) * _LATENCY_SHARE
