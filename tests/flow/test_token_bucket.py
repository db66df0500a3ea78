"""The token bucket: rate and burst on a clock turned by hand."""

import asyncio

import pytest

from engine.flow.bucket import TokenBucket
from engine.flow.clock import SystemClock
from engine.flow.line import FlowClosed
from tests.support.clock import ManualClock
from tests.support.flow import at_once, cancelled, settle


def bucket_of(burst: int, rate_per_s: float | None = 10.0) -> tuple[TokenBucket, ManualClock]:
    """Return a bucket and the clock that it reads."""
    clock = ManualClock()
    return TokenBucket(rate_per_s=rate_per_s, burst=burst, clock=clock), clock


def test_a_full_bucket_gives_its_burst_without_waiting() -> None:
    """Up to the burst nobody is suspended; one more is refused."""
    bucket, _clock = bucket_of(4)
    at_once(bucket.take(3))
    at_once(bucket.take(1))
    assert not bucket.try_take(1)
    assert repr(bucket) == "<TokenBucket 0.0/4 tokens, 10 per s, 0 waiting>"


def test_a_bucket_fills_at_its_rate_up_to_its_burst() -> None:
    """Tokens come back by rate times time, and never above the burst, however long nobody came."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    clock.advance(0.25)
    assert bucket.tokens == pytest.approx(2.5, abs=1e-6)
    clock.advance(86_400)
    assert bucket.tokens == 4


def test_without_a_rate_nothing_is_counted() -> None:
    """No limit means no waiting at all, and no tokens to show."""
    bucket, _clock = bucket_of(1, rate_per_s=None)
    for _ in range(1000):
        at_once(bucket.take(50))
    assert bucket.tokens is None
    assert repr(bucket) == "<TokenBucket without limit>"


def test_more_than_the_burst_is_refused() -> None:
    """A request that the bucket can never hold is an error."""
    bucket, _clock = bucket_of(4)
    with pytest.raises(ValueError, match="only 4"):
        at_once(bucket.take(5))
    with pytest.raises(ValueError, match="at least 1"):
        bucket.try_take(0)
    assert bucket.tokens == 4


@pytest.mark.parametrize(("rate_per_s", "burst"), [(0.0, 4), (-1.0, 4), (float("nan"), 4), (1.0, 0)])
def test_an_impossible_bucket_is_refused(rate_per_s: float, burst: int) -> None:
    """Rate and burst must be above 0, at the start and later."""
    with pytest.raises(ValueError, match="must be"):
        bucket_of(burst, rate_per_s)
    bucket, _clock = bucket_of(4)
    with pytest.raises(ValueError, match="must be"):
        bucket.reconfigure(rate_per_s=rate_per_s, burst=burst)


async def test_requests_are_served_in_order_each_when_its_tokens_are_there() -> None:
    """A heavy request is not starved, and every one goes exactly when the rate allows."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    order: list[str] = []

    async def take(name: str, weight: int) -> None:
        await bucket.take(weight)
        order.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(take("heavy", 4))
        await settle()
        tasks.create_task(take("light", 1))
        await settle()
        clock.advance(0.39)
        await settle()
        assert order == []
        assert not bucket.try_take(1)
        clock.advance(0.01)
        await settle()
        assert order == ["heavy"]
        clock.advance(0.1)
    assert order == ["heavy", "light"]
    assert clock.pending == 0


async def test_a_timer_that_is_early_is_set_again() -> None:
    """Waking before the time gives no token: the clock is read again, and the rest is waited for."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    waiting = asyncio.ensure_future(bucket.take(2))
    await settle()
    clock.wake_early(0.01)
    await settle()
    assert not waiting.done()
    assert clock.next_in_s == pytest.approx(0.01, abs=1e-6)
    clock.advance(0.01)
    await waiting
    assert bucket.tokens == pytest.approx(0, abs=1e-6)


async def test_a_higher_rate_reaches_those_who_wait() -> None:
    """Live: the wait is shortened at once, and what has come in until then counts at the old rate."""
    bucket, clock = bucket_of(4, rate_per_s=1.0)
    at_once(bucket.take(4))
    waiting = asyncio.ensure_future(bucket.take(3))
    await settle()
    clock.advance(1)
    bucket.reconfigure(rate_per_s=100.0, burst=4)
    assert clock.next_in_s == pytest.approx(0.02, abs=1e-6)
    clock.advance(0.02)
    await waiting


async def test_lifting_the_limit_lets_everybody_go() -> None:
    """Live: without a limit nobody waits any more; a limit that comes back begins with a full bucket."""
    bucket, clock = bucket_of(1, rate_per_s=0.001)
    at_once(bucket.take(1))
    waiting = [asyncio.ensure_future(bucket.take(1)) for _ in range(3)]
    await settle()
    bucket.reconfigure(rate_per_s=None, burst=1)
    await asyncio.gather(*waiting)
    assert clock.pending == 0
    bucket.reconfigure(rate_per_s=5.0, burst=7)
    assert bucket.tokens == 7


async def test_a_request_above_a_lowered_burst_goes_on_credit() -> None:
    """It waits for a full bucket and leaves it in debt, so that the rate in the long run holds."""
    bucket, clock = bucket_of(8)
    at_once(bucket.take(8))
    heavy = asyncio.ensure_future(bucket.take(8))
    await settle()
    bucket.reconfigure(rate_per_s=10.0, burst=2)
    clock.advance(0.2)
    await heavy
    assert bucket.tokens == pytest.approx(-6, abs=1e-6)
    light = asyncio.ensure_future(bucket.take(1))
    await settle()
    clock.advance(0.69)
    await settle()
    assert not light.done()
    clock.advance(0.01)
    await light


async def test_cancelling_a_wait_takes_no_token_and_lets_the_next_go() -> None:
    """A heavy head that leaves is not waited for any longer."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    heavy = asyncio.ensure_future(bucket.take(4))
    light = asyncio.ensure_future(bucket.take(1))
    await settle()
    clock.advance(0.1)
    await settle()
    await cancelled(heavy)
    await light
    assert bucket.tokens == pytest.approx(0, abs=1e-6)
    assert clock.pending == 0


async def test_cancelling_in_the_moment_in_which_the_tokens_are_there_takes_none() -> None:
    """When timer and cancellation meet in one step, the tokens stay for the next one."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    first = asyncio.ensure_future(bucket.take(4))
    await settle()
    clock.advance(0.4)
    await cancelled(first)
    assert bucket.tokens == pytest.approx(4, abs=1e-6)
    at_once(bucket.take(4))
    assert clock.pending == 0


async def test_tokens_given_back_serve_those_who_wait() -> None:
    """Unused tokens go to the head of the line at once, and never above the burst."""
    bucket, _clock = bucket_of(4)
    at_once(bucket.take(4))
    waiting = asyncio.ensure_future(bucket.take(3))
    await settle()
    bucket.give_back(4)
    await waiting
    assert bucket.tokens == pytest.approx(1, abs=1e-6)
    bucket.give_back(50)
    assert bucket.tokens == 4


async def test_closing_turns_requests_away_and_leaves_no_timer() -> None:
    """A closed bucket serves nobody and wakes nobody later."""
    bucket, clock = bucket_of(4)
    at_once(bucket.take(4))
    waiting = [asyncio.ensure_future(bucket.take(1)) for _ in range(2)]
    await settle()
    bucket.close()
    await asyncio.wait(waiting)
    assert all(isinstance(task.exception(), FlowClosed) for task in waiting)
    assert clock.pending == 0
    with pytest.raises(FlowClosed):
        bucket.try_take(1)


async def test_on_the_real_clock_requests_get_through() -> None:
    """The real timers of both loops serve a line, and not sooner than the rate allows."""
    clock = SystemClock()
    bucket = TokenBucket(rate_per_s=200.0, burst=1, clock=clock)
    started_s = clock.monotonic()
    for _ in range(5):
        await bucket.take(1)
    assert clock.monotonic() - started_s >= 4 / 200 - 1e-6
