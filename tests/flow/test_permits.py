"""Permits: weight, order, live changes, cancellation."""

import asyncio

import pytest

from engine.flow.line import FlowClosed
from engine.flow.permits import Permits
from tests.support.flow import at_once, cancelled, settle


def test_permits_that_are_free_are_taken_without_waiting() -> None:
    """Acquiring free permits does not suspend the caller."""
    permits = Permits(5)
    at_once(permits.acquire(3))
    at_once(permits.acquire(2))
    assert not permits.try_acquire(1)
    assert repr(permits) == "<Permits 5/5 held, 0 waiting>"


def test_more_permits_than_exist_are_refused() -> None:
    """A request that could never be served is an error, not a wait without end."""
    permits = Permits(5)
    with pytest.raises(ValueError, match="only 5"):
        at_once(permits.acquire(6))
    with pytest.raises(ValueError, match="only 5"):
        permits.try_acquire(6)
    with pytest.raises(ValueError, match="at least 1"):
        permits.try_acquire(0)
    assert permits.held == 0


def test_permits_cannot_come_back_twice() -> None:
    """Returning more than is out is an error and changes nothing."""
    permits = Permits(5)
    at_once(permits.acquire(3))
    with pytest.raises(ValueError, match="3 are out"):
        permits.release(4)
    with pytest.raises(ValueError, match="0 permits came back"):
        permits.release(0)
    assert permits.held == 3


async def test_a_heavy_request_is_not_starved_by_light_ones() -> None:
    """Once a heavy request waits, light ones queue up behind it although they would fit."""
    permits = Permits(4)
    at_once(permits.acquire(2))
    order: list[str] = []

    async def take(name: str, weight: int) -> None:
        await permits.acquire(weight)
        order.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(take("heavy", 4))
        await settle()
        tasks.create_task(take("light", 1))
        await settle()
        assert not permits.try_acquire(1)
        assert order == []
        permits.release(2)
        await settle()
        assert order == ["heavy"]
        permits.release(4)
    assert order == ["heavy", "light"]
    assert permits.max_held == 4


async def test_growing_serves_those_who_wait() -> None:
    """More permits take effect at once."""
    permits = Permits(2)
    at_once(permits.acquire(2))
    waiting = asyncio.ensure_future(permits.acquire(2))
    await settle()
    permits.resize(4)
    await waiting
    assert (permits.held, permits.total) == (4, 4)


async def test_shrinking_leaves_out_what_is_out_and_hands_out_no_more() -> None:
    """After a shrink more may be held than the total until it comes back."""
    permits = Permits(6)
    at_once(permits.acquire(6))
    permits.resize(3)
    assert permits.held == 6
    waiting = asyncio.ensure_future(permits.acquire(1))
    await settle()
    permits.release(3)
    await settle()
    assert permits.held == 3
    assert not waiting.done()
    permits.release(1)
    await waiting
    assert permits.held == 3


async def test_a_request_that_a_shrink_made_impossible_goes_alone() -> None:
    """A waiting request heavier than the new total is served once nothing else is out, and blocks nobody for good."""
    permits = Permits(6)
    at_once(permits.acquire(4))
    heavy = asyncio.ensure_future(permits.acquire(5))
    await settle()
    permits.resize(3)
    light = asyncio.ensure_future(permits.acquire(1))
    permits.release(3)
    await settle()
    assert not heavy.done()
    permits.release(1)
    await heavy
    assert permits.held == 5
    assert not light.done()
    permits.release(5)
    await light
    assert permits.held == 1


async def test_an_oversize_request_goes_alone_where_the_caller_says_so() -> None:
    """`oversize` turns the refusal into waiting for everything to come back."""
    permits = Permits(2)
    at_once(permits.acquire(1))
    heavy = asyncio.ensure_future(permits.acquire(7, oversize=True))
    await settle()
    assert not heavy.done()
    permits.release(1)
    await heavy
    assert permits.held == 7
    permits.release(7)


async def test_cancelling_a_waiting_request_takes_nothing() -> None:
    """A cancelled wait holds no permit and lets the next one go."""
    permits = Permits(3)
    at_once(permits.acquire(2))
    heavy = asyncio.ensure_future(permits.acquire(3))
    light = asyncio.ensure_future(permits.acquire(1))
    await settle()
    await cancelled(heavy)
    await light
    assert permits.held == 3
    permits.release(3)
    assert permits.held == 0


async def test_cancelling_a_request_in_the_moment_in_which_it_is_served_takes_nothing() -> None:
    """When release and cancellation meet in one step, the permits go to the next in line."""
    permits = Permits(2)
    at_once(permits.acquire(2))
    first = asyncio.ensure_future(permits.acquire(2))
    second = asyncio.ensure_future(permits.acquire(2))
    await settle()
    permits.release(2)
    await cancelled(first)
    await second
    assert permits.held == 2
    assert permits.waiting == 0


async def test_closing_turns_requests_away_and_still_takes_permits_back() -> None:
    """After closing, nobody gets permits, and what is out can come back."""
    permits = Permits(2)
    at_once(permits.acquire(2))
    waiting = asyncio.ensure_future(permits.acquire(1))
    await settle()
    permits.close()
    with pytest.raises(FlowClosed):
        await waiting
    permits.release(2)
    with pytest.raises(FlowClosed):
        await permits.acquire(1)
    assert permits.held == 0
