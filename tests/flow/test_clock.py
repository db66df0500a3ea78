"""The real clock."""

from engine.flow.clock import LONGEST_S, SystemClock
from tests.support.flow import until


async def test_a_sleep_never_ends_early() -> None:
    """On a loop with coarse timers, too, the time asked for has passed."""
    clock = SystemClock()
    for delay_s in (0.001, 0.0105, 0.03):
        started_s = clock.monotonic()
        await clock.sleep(delay_s)
        assert clock.monotonic() - started_s >= delay_s


async def test_a_call_comes_and_can_be_taken_back() -> None:
    """A timer calls once; one that was cancelled does not."""
    clock = SystemClock()
    calls: list[str] = []
    clock.call_later(0.0, lambda: calls.append("soon"))
    clock.call_later(0.0, lambda: calls.append("never")).cancel()
    clock.call_later(0.002, lambda: calls.append("later"))
    await until(lambda: len(calls) > 1)
    assert calls == ["soon", "later"]


async def test_an_endless_delay_is_accepted() -> None:
    """A delay that a loop cannot keep is cut to one that it can; the caller reads the clock again anyway."""
    clock = SystemClock()
    timer = clock.call_later(float("inf"), lambda: None)
    timer.cancel()
    assert LONGEST_S * 1000 < 2**31
