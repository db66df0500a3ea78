"""Admission to a stage: order of the steps, waiting, cancellation at every step, live limits."""

import asyncio
from collections.abc import Callable

import pytest

from engine.flow.line import FlowClosed
from engine.models.outcome import HoldCause
from engine.settings import FlowLimits
from tests.support.flow import Rig, at_once, cancelled, oldest_of, settle


def test_an_item_enters_at_once_where_nothing_is_in_the_way() -> None:
    """Admission does not suspend the producer, and takes exactly the item's weight of everything."""
    rig = Rig(rate_per_s=1.0, burst=10)
    at_once(rig.stage.admit(("a", 3)))
    assert (rig.now.queue_depth, rig.now.permits_held, rig.now.tokens) == (3, 3, 7)
    assert (rig.now.admitted, rig.now.producer_blocked_s) == (3, 0)
    assert repr(rig.stage) == "<Stage rig: 3/8 queued, 3/20 permits, 0/1 workers busy, 0 producers waiting, open>"


async def test_a_gate_that_is_held_stops_the_very_next_admission() -> None:
    """The gate is passed last: it may be held between any two admissions."""
    rig = Rig()
    at_once(rig.stage.admit(1))
    rig.stage.gate.hold(HoldCause.USER)
    waiting = asyncio.ensure_future(rig.stage.admit(1))
    await settle()
    assert rig.now.admitted == 1
    rig.stage.gate.release(HoldCause.USER)
    await waiting
    assert rig.now.admitted == 2


async def test_a_gate_that_is_held_while_a_producer_waits_for_a_permit_stops_it() -> None:
    """A permit that comes during a hold does not open the way into the queue."""
    rig = Rig(permits=7)
    for _ in range(5):
        at_once(rig.stage.admit(1))
    waiting = asyncio.ensure_future(rig.stage.admit(3))
    await settle()
    assert rig.now.blocked_on == "permit"
    rig.gate.hold(HoldCause.USER)
    at_once(oldest_of(rig.queue))
    rig.stage.complete(1)
    await settle()
    assert rig.now.blocked_on == "gate"
    assert rig.now.admitted == 5
    rig.gate.release(HoldCause.USER)
    await waiting
    assert rig.now.admitted == 8


async def test_no_token_is_spent_while_waiting_for_a_permit() -> None:
    """Permits come first: whoever has none leaves the tokens to others."""
    rig = Rig(permits=7, rate_per_s=1.0, burst=10)
    at_once(rig.stage.admit(5))
    waiting = asyncio.ensure_future(rig.stage.admit(5))
    await settle()
    assert rig.now.blocked_on == "permit"
    assert rig.now.tokens == 5
    await cancelled(waiting)


async def test_whoever_waits_at_the_gate_holds_nothing() -> None:
    """In a lasting hold all permits come back, so that "nothing is in flight" can become true."""
    rig = Rig(rate_per_s=1.0, burst=10)
    rig.gate.hold(HoldCause.USER)
    waiting = [asyncio.ensure_future(rig.stage.admit(2)) for _ in range(3)]
    await settle()
    assert (rig.now.permits_held, rig.now.tokens, rig.now.queue_depth) == (0, 10, 0)
    rig.gate.release(HoldCause.USER)
    await asyncio.gather(*waiting)
    assert (rig.now.permits_held, rig.now.tokens, rig.now.queue_depth) == (6, 4, 6)


async def test_producers_come_in_in_the_order_in_which_they_called() -> None:
    """Neither a light item nor a later `try_admit` overtakes a heavy one that waits."""
    rig = Rig(max_queue=8, hi=8, lo=7, permits=9)
    at_once(rig.stage.admit(("first", 6)))
    order = []
    for name, weight in (("heavy", 7), ("light", 1), ("middle", 2)):
        order.append(asyncio.ensure_future(rig.stage.admit((name, weight))))
        await settle()
    assert not rig.stage.try_admit(("late", 1))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(rig.stage.run())
        for _ in range(4):
            rig.let()
            await settle()
        await asyncio.wait(order)
        rig.stage.close()
        await running
    assert [name for name, _weight in rig.delivered] == ["first", "heavy", "light", "middle"]


async def test_the_statistics_say_what_a_producer_waits_for_and_for_how_long() -> None:
    """One after the other: token, gate, queue; and all waits add up."""
    rig = Rig(max_queue=8, hi=8, lo=5, rate_per_s=1.0, burst=8)
    at_once(rig.stage.admit(5))
    waiting = asyncio.ensure_future(rig.stage.admit(5))
    await settle()
    rig.clock.advance(1.5)
    assert (rig.now.blocked_on, rig.now.blocked_for_s, rig.now.producer_blocked_s) == ("token", 1.5, 1.5)
    assert (rig.stage.in_flight, rig.now.permits_held) == (5, 10)
    rig.gate.hold(HoldCause.DISK)
    rig.clock.advance(0.5)
    await settle()
    rig.clock.advance(3)
    assert (rig.now.blocked_on, rig.now.blocked_for_s, rig.now.producer_blocked_s) == ("gate", 3.0, 5.0)
    rig.gate.release(HoldCause.DISK)
    await settle()
    rig.clock.advance(1)
    assert (rig.now.blocked_on, rig.now.blocked_for_s, rig.now.producer_blocked_s) == ("queue", 1.0, 6.0)
    second = asyncio.ensure_future(rig.stage.admit(1))
    await settle()
    rig.clock.advance(1)
    assert (rig.now.blocked_on, rig.now.producer_blocked_s) == ("queue", 8.0)
    at_once(oldest_of(rig.queue))
    await asyncio.gather(waiting, second)
    assert (rig.now.blocked_on, rig.now.blocked_for_s, rig.now.producer_blocked_s) == (None, 0.0, 8.0)


def block_on_permit(rig: Rig) -> Callable[[], object]:
    """Leave no permit; return what brings some back."""
    rig.permits.try_acquire(18)
    return lambda: rig.permits.release(18)


def block_on_token(rig: Rig) -> Callable[[], object]:
    """Leave no token; return what lets the bucket fill."""
    rig.bucket.try_take(10)
    return lambda: rig.clock.advance(10)


def block_on_gate(rig: Rig) -> Callable[[], object]:
    """Hold the gate; return what releases it."""
    rig.gate.hold(HoldCause.USER)
    return lambda: rig.gate.release(HoldCause.USER)


def block_on_queue(rig: Rig) -> Callable[[], object]:
    """Fill the queue below its high mark, so that only its bound is in the way; return what empties it."""
    rig.queue.try_put("filler", 6)
    return rig.queue.clear


BLOCKS = {"permit": block_on_permit, "token": block_on_token, "gate": block_on_gate, "queue": block_on_queue}


@pytest.mark.parametrize("obstacle", BLOCKS)
@pytest.mark.parametrize("moment", ["standing", "lifted"])
async def test_a_cancelled_admission_gives_everything_back(obstacle: str, moment: str) -> None:
    """Wherever it waits, and in every round of the loop before and after the obstacle is lifted.

    It is cancelled either in its wait or in the rounds between the lifting and its entry. Afterwards it has either
    come in, wholly, or left no trace; and the one behind it gets in.
    """
    for rounds in range(12):
        await cancel_admission(obstacle, rounds, lifted=moment == "lifted")


async def cancel_admission(obstacle: str, rounds: int, *, lifted: bool) -> None:
    """Cancel an admission that an obstacle is in the way of, after so many rounds of the loop."""
    rig = Rig(max_queue=8, hi=8, lo=1, permits=20, rate_per_s=1.0, burst=10)
    lift = BLOCKS[obstacle](rig)
    admission = asyncio.ensure_future(rig.stage.admit(("first", 4)))
    behind = asyncio.ensure_future(rig.stage.admit(("behind", 3)))
    if lifted:
        await settle()
        assert rig.now.blocked_on == obstacle
        lift()
    await settle(rounds)
    came_in = admission.done()
    admission.cancel()
    await asyncio.wait([admission])
    assert admission.cancelled() is not came_in
    if not lifted:
        lift()
    await behind
    weight = 7 if came_in else 3
    assert (rig.now.queue_depth, rig.now.permits_held, rig.now.admitted) == (weight, weight, weight)
    assert rig.bucket.tokens == 10 - weight
    assert [name for name, _weight in rig.queue.clear()] == (["first"] if came_in else []) + ["behind"]
    rig.stage.complete(weight)
    assert rig.holding_nothing


async def test_a_producer_cancelled_while_others_are_in_front_leaves_no_trace() -> None:
    """Waiting for one's turn is a wait like any other."""
    for rounds in range(8):
        rig = Rig()
        rig.gate.hold(HoldCause.USER)
        front = asyncio.ensure_future(rig.stage.admit(("front", 1)))
        middle = asyncio.ensure_future(rig.stage.admit(("middle", 1)))
        last = asyncio.ensure_future(rig.stage.admit(("last", 1)))
        await settle(rounds)
        await cancelled(middle)
        rig.gate.release(HoldCause.USER)
        await asyncio.gather(front, last)
        assert rig.queue.clear() == [("front", 1), ("last", 1)]
        rig.stage.complete(2)
        assert rig.holding_nothing


def test_try_admit_answers_at_once_and_takes_nothing_where_it_says_no() -> None:
    """For callers that cannot wait: each obstacle alone is a no, and leaves no trace."""
    for obstacle, block in BLOCKS.items():
        rig = Rig(max_queue=8, hi=8, lo=1, permits=20, rate_per_s=1.0, burst=10)
        lift = block(rig)
        before = rig.now
        assert not rig.stage.try_admit(("second", 4)), obstacle
        assert rig.now == before
        lift()
        assert rig.stage.try_admit(("second", 4)), obstacle


async def test_closing_turns_producers_away_wherever_they_wait() -> None:
    """A stop during a pause must not hang: those who wait at a held gate are woken, too."""
    for obstacle, block in BLOCKS.items():
        rig = Rig(max_queue=8, hi=8, lo=1, permits=20, rate_per_s=1.0, burst=10)
        block(rig)
        waiting = [asyncio.ensure_future(rig.stage.admit(4)) for _ in range(3)]
        await settle()
        assert rig.now.blocked_on == obstacle
        rig.stage.close()
        await asyncio.wait(waiting)
        assert all(isinstance(task.exception(), FlowClosed) for task in waiting)
        assert rig.now.admitted == 0
        with pytest.raises(FlowClosed):
            await rig.stage.admit(1)
        with pytest.raises(FlowClosed):
            rig.stage.try_admit(1)


async def test_all_limits_change_live() -> None:
    """`apply` reaches queue, permits, marks, rate and workers, for a producer that waits already."""
    rig = Rig(max_queue=8, hi=6, lo=2, permits=7, rate_per_s=0.5, burst=8)
    for _ in range(6):
        at_once(rig.stage.admit(1))
    waiting = asyncio.ensure_future(rig.stage.admit(8))
    await settle()
    rig.stage.apply(
        FlowLimits(workers=3, span_pages=8, max_queue=40, hi=30, lo=10, permits=50, rate_per_s=None, burst=64)
    )
    await waiting
    now = rig.now
    assert (now.max_queue, now.hi, now.lo, now.permits, now.tokens, now.workers) == (40, 30, 10, 50, None, 3)
    assert now.queue_depth == 14


async def test_an_item_that_lowered_limits_have_overtaken_goes_alone() -> None:
    """An item on its way that is heavier than every limit is neither refused nor stuck."""
    rig = Rig(max_queue=40, hi=30, lo=10, permits=50, rate_per_s=100.0, burst=64)
    at_once(rig.stage.admit(("light", 1)))
    rig.stage.apply(FlowLimits(workers=1, span_pages=1, max_queue=4, hi=3, lo=1, permits=5, rate_per_s=10.0, burst=4))
    heavy = asyncio.ensure_future(rig.stage.admit(("heavy", 16)))
    behind = asyncio.ensure_future(rig.stage.admit(("behind", 1)))
    await settle()
    assert rig.now.blocked_on == "permit"
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(rig.stage.run())
        rig.let(3)
        await settle()
        assert rig.now.blocked_on == "token", "the heavy item left the bucket in debt"
        rig.clock.advance(10)
        await asyncio.gather(heavy, behind)
        rig.stage.close()
        await running
    assert [name for name, _weight in rig.delivered] == ["light", "heavy", "behind"]
    assert rig.holding_nothing


def test_permits_come_back_only_as_often_as_they_went_out() -> None:
    """Completing more than is in flight is an error, not a larger limit."""
    rig = Rig()
    at_once(rig.stage.admit(2))
    with pytest.raises(ValueError, match="2 are out"):
        rig.stage.complete(3)
    rig.stage.complete(2)
    assert rig.now.completed == 2
