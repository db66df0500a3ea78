"""A stage's workers: their life, live numbers, failures, cancellation, and what the statistics say of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from engine.flow.bucket import TokenBucket
from engine.flow.gate import WatermarkGate
from engine.flow.line import FlowClosed
from engine.flow.permits import Permits
from engine.flow.queue import BoundedQueue, QueueClosed
from engine.flow.stage import Stage
from tests.support.clock import ManualClock
from tests.support.flow import Rig, at_once, cancelled, one_by_one, settle, until, weigh


def stage_with(
    process: Callable[[Any], Awaitable[Any]], deliver: Callable[[Any, Any], Awaitable[None]], *, workers: int = 1
) -> tuple[Stage[Any, Any], Permits]:
    """Return a roomy stage around two callables that take an item each, and its permits."""
    return stage_together(one_by_one(process), deliver, workers=workers, together=1)


def stage_together(
    process: Callable[[Sequence[Any]], Awaitable[Sequence[Any]]],
    deliver: Callable[[Any, Any], Awaitable[None]],
    *,
    together: int,
    workers: int = 1,
) -> tuple[Stage[Any, Any], Permits]:
    """Return a roomy stage whose workers take items of so much weight at once, and its permits."""
    clock = ManualClock()
    permits = Permits(100)
    stage = Stage(
        name="own",
        queue=BoundedQueue(90),
        permits=permits,
        bucket=TokenBucket(rate_per_s=None, burst=1, clock=clock),
        gate=WatermarkGate(hi=80, lo=10, clock=clock),
        workers=workers,
        process=process,
        deliver=deliver,
        weight=weigh,
        clock=clock,
        together=lambda: together,
    )
    return stage, permits


async def same(items: Sequence[Any]) -> Sequence[Any]:
    """Process items by returning them."""
    return items


async def echo(item: Any) -> Any:
    """Process an item by returning it."""
    return item


async def nothing(_item: Any, _result: Any) -> None:
    """Deliver nowhere."""


async def test_a_closed_stage_drains_its_queue_and_ends() -> None:
    """Everything admitted before the close is processed and delivered, exactly once, in order."""
    rig = Rig(max_queue=100, hi=90, lo=10, permits=100, workers=1, free=True)
    for number in range(20):
        at_once(rig.stage.admit((number, 3)))
    rig.stage.close()
    await rig.stage.run()
    assert rig.delivered == [(number, 3) for number in range(20)]
    assert rig.holding_nothing
    assert rig.now.completed == rig.now.admitted == 60
    with pytest.raises(RuntimeError, match="once"):
        await rig.stage.run()


async def test_every_worker_ends_when_the_queue_is_closed_and_has_a_name() -> None:
    """However many workers wait, none is left, and a task list tells who they are."""
    rig = Rig(workers=9)
    running = asyncio.ensure_future(rig.stage.run())
    await settle()
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert {f"rig worker {number}" for number in range(1, 10)} <= names
    rig.stage.close()
    await running


async def test_a_permit_comes_back_only_when_the_owner_says_so() -> None:
    """Delivered is not done: permits stay out until `complete`, and are told apart in the statistics."""
    rig = Rig(complete=False, free=True)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.stage.run())
        at_once(rig.stage.admit(4))
        await until(lambda: rig.delivered == [4])
        assert (rig.now.permits_held, rig.now.uncommitted, rig.now.completed) == (4, 4, 0)
        rig.stage.complete(1)
        assert (rig.now.permits_held, rig.now.uncommitted, rig.now.completed) == (3, 3, 1)
        assert rig.stage.in_flight == 3
        rig.stage.complete(3)
        rig.stage.close()
    assert rig.holding_nothing


async def test_growing_starts_workers_at_once() -> None:
    """Live: more items are processed side by side as soon as the number is changed."""
    rig = Rig(workers=1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.stage.run())
        for number in range(5):
            at_once(rig.stage.admit((number, 1)))
        await settle()
        assert len(rig.started) == 1
        rig.stage.resize(4)
        await settle()
        assert len(rig.started) == 4
        assert (rig.now.workers, rig.now.workers_busy) == (4, 4)
        rig.let(5)
        rig.stage.close()
    assert len(rig.delivered) == 5


async def test_shrinking_interrupts_nobody_and_lets_no_surplus_worker_take_another_item() -> None:
    """Live: busy workers end after their item; from then on no more than the new number are busy."""
    rig = Rig(workers=4)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.stage.run())
        for number in range(6):
            at_once(rig.stage.admit((number, 1)))
        await settle()
        rig.stage.resize(1)
        await settle()
        assert rig.now.workers_busy == 4
        rig.let(4)
        await settle()
        assert len(rig.delivered) == 4
        assert rig.now.workers_busy == 1
        rig.let(2)
        rig.stage.close()
    assert len(rig.delivered) == 6


async def test_shrinking_dismisses_idle_workers_at_once() -> None:
    """Workers that wait for an item must not all take one more."""
    rig = Rig(workers=6)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.stage.run())
        await settle()
        rig.stage.resize(2)
        rig.stage.resize(3)
        rig.stage.resize(2)
        for number in range(6):
            at_once(rig.stage.admit((number, 1)))
        await settle()
        assert rig.now.workers_busy == 2
        rig.let(6)
        await settle()
        rig.stage.close()
    assert rig.at_once_busy == 2
    assert [name for name, _weight in rig.delivered] == list(range(6))


async def test_dismissing_a_worker_in_the_step_in_which_it_was_to_take_an_item_loses_nothing() -> None:
    """The item stays in the queue for a worker that remains."""
    rig = Rig(workers=3, free=True)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.stage.run())
        await settle()
        at_once(rig.stage.admit(("a", 1)))
        rig.stage.resize(1)
        at_once(rig.stage.admit(("b", 1)))
        await until(lambda: len(rig.delivered) == 2)
        rig.stage.close()
    assert rig.delivered == [("a", 1), ("b", 1)]
    assert rig.holding_nothing


def test_a_stage_has_at_least_one_worker() -> None:
    """No workers would mean that nothing ever ends."""
    with pytest.raises(ValueError, match="at least 1"):
        Rig().stage.resize(0)


async def test_an_exception_from_processing_ends_the_stage_and_reaches_its_owner() -> None:
    """Bad items are results; an exception is a fault: it propagates, and nothing hangs or leaks."""

    async def process(item: Any) -> Any:
        if item == 3:
            raise RuntimeError("fault")
        await asyncio.get_running_loop().create_future()

    stage, permits = stage_with(process, nothing, workers=2)
    at_once(stage.admit(1))
    at_once(stage.admit(3))
    at_once(stage.admit(70))
    at_once(stage.admit(7))
    waiting = asyncio.ensure_future(stage.admit(40))
    with pytest.raises(ExceptionGroup) as raised:
        await stage.run()
    assert [str(error) for error in raised.value.exceptions] == ["fault"]
    await asyncio.wait([waiting])
    assert isinstance(waiting.exception(), FlowClosed)
    assert permits.held == 0
    assert repr(stage) == (
        "<Stage own: 0/90 queued, 0/100 permits, 0/2 workers busy, 0 producers waiting, open, closed>"
    )
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0
    stage.resize(5)


async def test_limits_may_change_in_any_moment_of_a_stage_that_is_coming_to_its_end() -> None:
    """A change of the number of workers that meets a failing or cancelled stage hires nobody and raises nothing."""

    async def process(item: Any) -> Any:
        if item == 3:
            raise RuntimeError("fault")
        await asyncio.get_running_loop().create_future()

    for cancel in (False, True):
        stage, permits = stage_with(process, nothing, workers=2)
        at_once(stage.admit(1 if cancel else 3))
        running = asyncio.ensure_future(stage.run())
        for workers in range(3, 30):
            stage.resize(workers)
            await asyncio.sleep(0)
            if cancel and workers == 9:
                running.cancel()
        await asyncio.wait([running])
        assert running.cancelled() is cancel
        assert cancel or isinstance(running.exception(), ExceptionGroup)
        assert permits.held == 0


async def test_a_closed_queue_behind_the_stage_is_not_taken_for_its_own_end() -> None:
    """`QueueClosed` from `deliver` is a fault like any other; it must not end a worker in silence."""
    sink: BoundedQueue[Any] = BoundedQueue(1)
    sink.close()

    async def deliver(item: Any, _result: Any) -> None:
        await sink.put(item)

    stage, permits = stage_with(echo, deliver)
    at_once(stage.admit(2))
    stage.close()
    with pytest.raises(ExceptionGroup) as raised:
        await stage.run()
    assert raised.group_contains(QueueClosed)
    assert permits.held == 2, "from the call of deliver on, its permits are the owner's"


async def test_a_worker_takes_together_what_fits_and_hands_over_each_item_by_itself() -> None:
    """Up to a weight, in the order of the queue; one that is heavier goes alone, as the first one does."""
    batches: list[list[Any]] = []
    delivered: list[tuple[Any, Any]] = []

    async def process(items: Sequence[Any]) -> Sequence[Any]:
        batches.append(list(items))
        return [str(item) for item in items]

    async def deliver(item: Any, result: Any) -> None:
        delivered.append((item, result))

    stage, permits = stage_together(process, deliver, together=10)
    items = (3, 4, 5, 2, 12, 1, 9, 1)
    for item in items:
        at_once(stage.admit(item))
    stage.close()
    await stage.run()
    assert batches == [[3], [4, 5], [2], [12], [1, 9], [1]]
    assert delivered == [(item, str(item)) for item in items]
    assert permits.held == stage.in_flight == sum(items)
    stage.complete(sum(items))
    assert permits.held == stage.in_flight == 0


async def test_what_was_not_handed_over_comes_back_when_a_delivery_fails() -> None:
    """Of items taken together, those before the fault are the owner's; the permits of the others return."""

    async def deliver(item: Any, _result: Any) -> None:
        if item == 3:
            raise RuntimeError("fault")

    stage, permits = stage_together(same, deliver, together=20)
    for item in (1, 2, 3, 4, 5):
        at_once(stage.admit(item))
    with pytest.raises(ExceptionGroup):
        await stage.run()
    assert permits.held == stage.statistics().uncommitted == stage.in_flight == 1 + 2 + 3


async def test_a_result_is_missing_for_no_item() -> None:
    """Fewer results than items are a fault of the program, and not pages that nobody ever hears of."""

    async def one_short(items: Sequence[Any]) -> Sequence[Any]:
        return items[1:]

    stage, _ = stage_together(one_short, nothing, together=20)
    for item in (2, 3, 4):
        at_once(stage.admit(item))
    with pytest.raises(ExceptionGroup) as raised:
        await stage.run()
    assert raised.group_contains(ValueError)


async def test_a_worker_takes_no_more_at_once_than_it_gets_through_in_a_second() -> None:
    """Results come together and are lost together: slow items go one by one, and quick ones together again."""
    clock = ManualClock()
    batches: list[int] = []

    async def process(items: Sequence[int]) -> Sequence[int]:
        batches.append(len(items))
        clock.advance(sum(items) / 1000)  # an item is its own time in milliseconds
        return items

    async def deliver(_item: int, _result: int) -> None:
        stage.complete(1)

    stage: Stage[int, int] = Stage(
        name="paced",
        queue=BoundedQueue(2000),
        permits=Permits(2000),
        bucket=TokenBucket(rate_per_s=None, burst=1, clock=clock),
        gate=WatermarkGate(hi=2000, lo=1, clock=clock),
        workers=1,
        process=process,
        deliver=deliver,
        clock=clock,
        together=lambda: 50,
    )
    for item in (*[1] * 151, *[2000] * 60, *[1] * 800):
        at_once(stage.admit(item))
    stage.close()
    await stage.run()
    assert batches[:4] == [1, 50, 50, 50]
    assert 1 in batches[5:]
    slow = batches[4 : batches.index(1, 1) + 1]
    assert slow == sorted(slow, reverse=True), "it takes fewer and fewer while they are slow"
    assert batches[-2] == 50
    assert sum(batches) == 151 + 60 + 800


@pytest.mark.parametrize("place", ["waiting", "processing", "delivering"])
async def test_cancelling_a_running_stage_leaves_nothing_behind(place: str) -> None:
    """In every place in which a worker can wait, and in every round of the loop until it is there.

    Items in the queue and in processing are dropped and their permits returned; those of an item whose result was
    being handed over stay with the owner, who may have taken a part of it.
    """
    for rounds in range(1, 11):
        await cancel_stage(place, rounds)


async def cancel_stage(place: str, rounds: int) -> None:
    """Cancel a stage after so many rounds, with a worker in the named place, or on its way there."""
    handed_over: list[Any] = []
    processed: list[Any] = []

    async def process(item: Any) -> Any:
        if place == "processing":
            await asyncio.get_running_loop().create_future()
        processed.append(item)
        return item

    async def deliver(item: Any, _result: Any) -> None:
        handed_over.append(item)
        if place == "delivering":
            await asyncio.get_running_loop().create_future()

    stage, permits = stage_with(process, deliver, workers=2)
    running = asyncio.ensure_future(stage.run())
    if place != "waiting":
        for item in (4, 5, 6, 7):
            at_once(stage.admit(item))
        assert stage.in_flight == 22
    await settle(rounds)
    await cancelled(running)
    if rounds > 5:
        assert bool(handed_over) is (place == "delivering")
    assert permits.held == stage.statistics().uncommitted == sum(handed_over)
    if handed_over:
        stage.complete(sum(handed_over))
    assert stage.in_flight == 0
    now = stage.statistics()
    assert (now.permits_held, now.queue_depth, now.workers_busy, now.workers_delivering) == (0, 0, 0, 0)
    with pytest.raises(FlowClosed):
        await stage.admit(1)


async def test_the_statistics_tell_processing_from_handing_over() -> None:
    """Latency is the time of processing alone; a worker that waits to hand over is counted apart."""
    clock = ManualClock()
    taken = asyncio.Semaphore(0)

    async def process(item: int) -> int:
        await clock.sleep(0.25)
        return item

    async def deliver(_item: int, _result: int) -> None:
        await taken.acquire()

    stage: Stage[int, int] = Stage(
        name="timed",
        queue=BoundedQueue(10),
        permits=Permits(12),
        bucket=TokenBucket(rate_per_s=None, burst=1, clock=clock),
        gate=WatermarkGate(hi=8, lo=2, clock=clock),
        workers=1,
        process=one_by_one(process),
        deliver=deliver,
        clock=clock,
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(stage.run())
        at_once(stage.admit(1))
        await settle()
        assert (stage.statistics().workers_busy, stage.statistics().workers_delivering) == (1, 0)
        clock.advance(0.25)
        await settle()
        clock.advance(60)
        now = stage.statistics()
        assert (now.workers_busy, now.workers_delivering, now.uncommitted) == (1, 1, 1)
        assert now.consumer_latency_ms == pytest.approx(250)
        taken.release()
        stage.close()
    assert stage.statistics().workers_busy == 0
