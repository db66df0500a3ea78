"""The bounded queue: items wait here between producers and workers, and its depth is what the gate watches.

Covers order, bound, closing and waking. What holds producers back before the bound is reached is the business of
`engine.flow.gate`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.flow.line import FlowClosed, Line

T = TypeVar("T")


class QueueClosed(FlowClosed):
    """The queue takes nothing more; told to consumers only once it is drained, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatistics:
    """A queue at one moment."""

    depth: int
    """Weight that waits."""
    max_queue: int
    """Most weight that may wait."""
    items: int
    """Items that wait."""
    max_depth: int
    """Highest depth seen."""
    waiting_to_put: int
    """Tasks that wait for space."""
    waiting_to_get: int
    """Tasks that wait for an item."""
    entered: int
    """Weight that came in since the start."""
    left: int
    """Weight that was taken out since the start."""
    closed: bool


class BoundedQueue(Generic[T]):
    """A first-in-first-out queue for items with weights, bounded by the sum of the weights, that can be closed.

    An item heavier than the whole queue enters when the queue is empty: the bound may be lowered while such an item
    is on its way, and refusing it then would stop the flow for good.

    Args:
        max_queue: Most weight that may wait, at least 1.
        on_depth: Told the new depth, synchronously, whenever it has changed; must not raise.
    """

    # Mutable state: `_items`, `_depth`, `_max_queue`, `_closed`, the counters and both lines. It changes in
    # synchronous methods only. Tasks wait in the lines alone, with empty hands: an item is in the queue or it is
    # with the one who called `put` or got it from `get_batch`, whatever is cancelled when.

    def __init__(self, max_queue: int, *, on_depth: Callable[[int], None] | None = None) -> None:
        self._max_queue = max_queue
        self.on_depth = on_depth
        self._items: deque[tuple[T, int]] = deque()
        self._depth = 0
        self._closed = False
        self._max_depth = 0
        self._entered = 0
        self._left = 0
        self._producers = Line(self.has_space, closed=QueueClosed)
        self._consumers = Line(self._has_news)
        self.resize(max_queue)

    def __repr__(self) -> str:
        return (
            f"<BoundedQueue {self._depth}/{self._max_queue} in {len(self._items)} items, "
            f"{len(self._producers)} putting, {len(self._consumers)} getting{', closed' if self._closed else ''}>"
        )

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return True  # a queue is a thing, not its length

    @property
    def depth(self) -> int:
        """Weight that waits."""
        return self._depth

    @property
    def max_queue(self) -> int:
        """Most weight that may wait."""
        return self._max_queue

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken in."""
        return self._closed

    async def put(self, item: T, weight: int = 1) -> None:
        """Add an item, after everybody who wanted to earlier; when cancelled, it was not added.

        Raises:
            QueueClosed: When the queue is closed; the item was not added.
        """
        self._check(weight)
        if self._producers or not self.has_space(weight):
            await self._producers.wait(weight, lambda: self._append(item, weight))
        else:
            self._append(item, weight)

    def try_put(self, item: T, weight: int = 1) -> bool:
        """Add an item if there is space now, ahead of anybody who waits for space; return whether it was added.

        Raises:
            QueueClosed: When the queue is closed; the item was not added.
        """
        self._check(weight)
        if not self.has_space(weight):
            return False
        self._append(item, weight)
        return True

    def has_space(self, weight: int = 1) -> bool:
        """Whether an item of that weight would fit now."""
        return self._depth + weight <= self._max_queue or not self._items

    async def wait_space(self, weight: int = 1) -> None:
        """Wait until an item of that weight fits: a `try_put` in the same synchronous step succeeds.

        Raises:
            QueueClosed: When the queue is closed.
        """
        self._check(weight)
        await self._producers.wait(weight, _nothing)

    async def get_batch(self, max_weight: int) -> list[T]:
        """Take the oldest item and those behind it that wait already, up to a weight; at least one.

        When cancelled, none was taken.

        Raises:
            QueueClosed: When the queue is closed and drained.
        """
        batch: list[T] = []
        if self._items and not self._consumers:
            self._take(batch, max_weight)
        else:
            await self._consumers.wait(1, lambda: self._take(batch, max_weight))
        return batch

    def close(self) -> None:
        """Take nothing more in. Who waits to put is turned away; who waits to get is, too, once all is taken."""
        self._closed = True
        self._producers.close()
        self._consumers.nudge()

    def clear(self) -> list[T]:
        """Take everything out at once and return it."""
        dropped: list[T] = []
        if self._items:
            self._take(dropped, self._depth)
        return dropped

    def resize(self, max_queue: int) -> None:
        """Change the bound; what waits already stays.

        Raises:
            ValueError: When the bound is below 1.
        """
        if max_queue < 1:
            raise ValueError(f"max_queue is {max_queue}, and must be at least 1")
        self._max_queue = max_queue
        self._producers.nudge()

    def statistics(self) -> QueueStatistics:
        """Return the queue's figures now."""
        return QueueStatistics(
            depth=self._depth,
            max_queue=self._max_queue,
            items=len(self._items),
            max_depth=self._max_depth,
            waiting_to_put=len(self._producers),
            waiting_to_get=len(self._consumers),
            entered=self._entered,
            left=self._left,
            closed=self._closed,
        )

    def _check(self, weight: int) -> None:
        if weight < 1:
            raise ValueError(f"weight is {weight}, and must be at least 1")
        if self._closed:
            raise QueueClosed

    def _has_news(self, _weight: int) -> bool:
        return bool(self._items) or self._closed

    def _append(self, item: T, weight: int) -> None:
        self._items.append((item, weight))
        self._entered += weight
        self._set_depth(self._depth + weight)
        self._consumers.nudge()

    def _take(self, into: list[T], max_weight: int) -> None:
        if not self._items:
            raise QueueClosed  # this is the news that a consumer was woken for
        taken = 0
        while self._items and (not into or taken + self._items[0][1] <= max_weight):
            item, weight = self._items.popleft()
            into.append(item)
            taken += weight
        self._left += taken
        self._set_depth(self._depth - taken)
        self._producers.nudge()

    def _set_depth(self, depth: int) -> None:
        self._depth = depth
        self._max_depth = max(self._max_depth, depth)
        if self.on_depth is not None:
            self.on_depth(depth)


def _nothing() -> None:
    """Take nothing: `wait_space` leaves that to its caller."""
