"""The bounded queue: bound by weight, order, closing, cancellation."""

import asyncio

import pytest

from engine.flow.queue import BoundedQueue, QueueClosed, QueueStatistics
from tests.support.flow import at_once, cancelled, oldest_of, settle


def test_where_nothing_waits_nobody_is_suspended() -> None:
    """Putting into space and getting what is there happen at once."""
    queue: BoundedQueue[str] = BoundedQueue(5)
    at_once(queue.put("a", 2))
    at_once(queue.put("b", 3))
    assert not queue.try_put("c", 1)
    assert at_once(oldest_of(queue)) == "a"
    assert at_once(queue.get_batch(10)) == ["b"]
    assert queue.depth == 0


def test_depth_is_weight_and_is_told_at_every_change() -> None:
    """Whoever watches the depth, as the gate does, sees each change in the same step."""
    depths: list[int] = []
    queue: BoundedQueue[str] = BoundedQueue(10, on_depth=depths.append)
    at_once(queue.put("a", 4))
    at_once(queue.put("b", 5))
    at_once(oldest_of(queue))
    queue.clear()
    assert depths == [4, 9, 5, 0]
    assert queue.clear() == []
    assert depths == [4, 9, 5, 0]


def test_a_batch_takes_what_waits_up_to_its_weight() -> None:
    """A group ends before it gets too heavy, but one item always goes."""
    queue: BoundedQueue[str] = BoundedQueue(20)
    for name, weight in (("a", 5), ("b", 3), ("c", 4), ("d", 1)):
        at_once(queue.put(name, weight))
    assert at_once(queue.get_batch(8)) == ["a", "b"]
    assert at_once(queue.get_batch(1)) == ["c"]
    assert at_once(queue.get_batch(100)) == ["d"]


def test_impossible_weights_and_bounds_are_refused() -> None:
    """Every item has a weight of at least 1, and so has the queue."""
    queue: BoundedQueue[str] = BoundedQueue(2)
    with pytest.raises(ValueError, match="at least 1"):
        queue.try_put("a", 0)
    with pytest.raises(ValueError, match="at least 1"):
        at_once(queue.put("a", -1))
    with pytest.raises(ValueError, match="at least 1"):
        queue.resize(0)
    assert queue.depth == 0


async def test_producers_wait_for_space_in_order() -> None:
    """A heavy item is not starved by light ones that would fit, and items leave in the order of their producers."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    at_once(queue.put("first", 3))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(queue.put("heavy", 4))
        await settle()
        tasks.create_task(queue.put("light", 1))
        await settle()
        assert queue.depth == 3
        assert await oldest_of(queue) == "first"
        await settle()
        assert queue.depth == 4
        assert await oldest_of(queue) == "heavy"
    assert await oldest_of(queue) == "light"
    assert queue.statistics().max_depth == 4


async def test_an_item_heavier_than_the_queue_enters_an_empty_one() -> None:
    """An item that was within the bound before it was lowered must not stop the flow for good."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    at_once(queue.put("first", 1))
    heavy = asyncio.ensure_future(queue.put("heavy", 9))
    await settle()
    assert not heavy.done()
    await oldest_of(queue)
    await heavy
    assert queue.depth == 9
    assert not queue.has_space(1)


async def test_consumers_are_served_in_order() -> None:
    """Each item wakes the consumer that has waited longest."""
    queue: BoundedQueue[int] = BoundedQueue(4)
    got: list[tuple[str, int]] = []

    async def consume(name: str) -> None:
        got.append((name, await oldest_of(queue)))

    async with asyncio.TaskGroup() as tasks:
        for name in "abc":
            tasks.create_task(consume(name))
            await settle()
        for number in range(3):
            at_once(queue.put(number))
        await settle()
    assert got == [("a", 0), ("b", 1), ("c", 2)]


async def test_a_newcomer_does_not_take_the_item_that_a_waiting_consumer_was_woken_for() -> None:
    """Between the wake and its step, too, the one that has waited longer comes first."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    waiting = asyncio.ensure_future(oldest_of(queue))
    await settle()
    at_once(queue.put("a"))
    newcomer = asyncio.ensure_future(oldest_of(queue))
    blocked = oldest_of(queue)
    with pytest.raises(AssertionError, match="it waited"):
        at_once(blocked)
    at_once(queue.put("b"))
    assert [await waiting, await newcomer] == ["a", "b"]


async def test_growing_lets_producers_in_and_shrinking_keeps_what_waits() -> None:
    """The bound changes live, both ways."""
    queue: BoundedQueue[str] = BoundedQueue(2)
    at_once(queue.put("a", 2))
    waiting = asyncio.ensure_future(queue.put("b", 2))
    await settle()
    queue.resize(4)
    await waiting
    queue.resize(1)
    assert queue.depth == 4
    late = asyncio.ensure_future(queue.put("c", 1))
    await oldest_of(queue)
    await settle()
    assert not late.done()
    await oldest_of(queue)
    await late
    assert queue.depth == 1


async def test_wait_space_returns_when_a_put_would_succeed() -> None:
    """In the step in which it returns the item fits; until then nothing is reserved."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    at_once(queue.put("a", 3))
    at_once(queue.wait_space(1))
    filled: list[bool] = []

    async def wait_and_put() -> None:
        await queue.wait_space(2)
        filled.append(queue.try_put("b", 2))

    waiting = asyncio.ensure_future(wait_and_put())
    await settle()
    assert filled == []
    await oldest_of(queue)
    await waiting
    assert filled == [True]


async def test_a_wait_for_space_that_is_not_used_lets_the_next_producer_in() -> None:
    """Whoever waited for space and then does not put does not swallow the wake of the one behind."""
    queue: BoundedQueue[str] = BoundedQueue(1)
    at_once(queue.put("a"))
    looking = asyncio.ensure_future(queue.wait_space(1))
    putting = asyncio.ensure_future(queue.put("b"))
    await settle()
    assert await oldest_of(queue) == "a"
    await looking
    await putting
    assert await oldest_of(queue) == "b"


async def test_a_cancelled_put_adds_nothing_and_blocks_nobody() -> None:
    """While it waits, and in the very step in which space comes about."""
    for meet in (False, True):
        queue: BoundedQueue[str] = BoundedQueue(1)
        at_once(queue.put("a"))
        first = asyncio.ensure_future(queue.put("first"))
        second = asyncio.ensure_future(queue.put("second"))
        await settle()
        if meet:
            assert at_once(oldest_of(queue)) == "a"
            await cancelled(first)
        else:
            await cancelled(first)
            assert at_once(oldest_of(queue)) == "a"
        await second
        assert queue.clear() == ["second"]


async def test_a_cancelled_get_takes_nothing_and_blocks_nobody() -> None:
    """While it waits, and in the very step in which an item comes: that goes to the next consumer, in order."""
    for meet in (False, True):
        queue: BoundedQueue[str] = BoundedQueue(4)
        first = asyncio.ensure_future(oldest_of(queue))
        second = asyncio.ensure_future(oldest_of(queue))
        await settle()
        if meet:
            at_once(queue.put("a"))
            at_once(queue.put("b"))
            await cancelled(first)
        else:
            await cancelled(first)
            at_once(queue.put("a"))
            at_once(queue.put("b"))
        assert await second == "a"
        assert queue.clear() == ["b"]


async def test_a_closed_queue_is_drained_before_consumers_are_told() -> None:
    """Closing loses no item, and every consumer is told once all are taken."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    at_once(queue.put("a"))
    at_once(queue.put("b"))
    queue.close()
    assert [await oldest_of(queue), await oldest_of(queue)] == ["a", "b"]
    for _ in range(2):
        with pytest.raises(QueueClosed):
            await oldest_of(queue)
    with pytest.raises(QueueClosed):
        await queue.put("c")
    with pytest.raises(QueueClosed):
        await queue.wait_space()


async def test_closing_wakes_every_waiting_consumer_although_the_producer_was_cancelled() -> None:
    """However many workers wait, none is left waiting when the producer is gone."""
    queue: BoundedQueue[int] = BoundedQueue(1)

    async def produce() -> None:
        try:
            for number in range(1000):
                await queue.put(number)
        finally:
            queue.close()

    taken: list[int] = []

    async def consume() -> None:
        try:
            while True:
                taken.append(await oldest_of(queue))
                if len(taken) == 20:
                    producer.cancel()
        except QueueClosed:
            return

    producer = asyncio.ensure_future(produce())
    async with asyncio.TaskGroup() as tasks:
        for _ in range(7):
            tasks.create_task(consume())
    assert producer.cancelled()
    assert taken == list(range(len(taken)))
    assert len(taken) >= 20


async def test_closing_turns_waiting_producers_away_with_their_items() -> None:
    """A producer that waits for space learns that its item was not added."""
    queue: BoundedQueue[str] = BoundedQueue(1)
    at_once(queue.put("a"))
    waiting = [asyncio.ensure_future(queue.put(name)) for name in "bc"]
    await settle()
    queue.close()
    await asyncio.wait(waiting)
    assert all(isinstance(task.exception(), QueueClosed) for task in waiting)
    assert queue.clear() == ["a"]


async def test_statistics_count_everything() -> None:
    """The record states depth, waiting tasks and what came and went."""
    queue: BoundedQueue[str] = BoundedQueue(4)
    at_once(queue.put("a", 3))
    at_once(oldest_of(queue))
    consumers = [asyncio.ensure_future(oldest_of(queue)) for _ in range(2)]
    await settle()
    assert queue.statistics() == QueueStatistics(
        depth=0,
        max_queue=4,
        items=0,
        max_depth=3,
        waiting_to_put=0,
        waiting_to_get=2,
        entered=3,
        left=3,
        closed=False,
    )
    assert repr(queue) == "<BoundedQueue 0/4 in 0 items, 0 putting, 2 getting>"
    queue.close()
    await asyncio.wait(consumers)
    assert all(isinstance(task.exception(), QueueClosed) for task in consumers)
