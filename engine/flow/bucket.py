"""The token bucket: the right to start now, which caps the sustained rate of admission.

Covers rate and burst. How much may be in flight is the business of `engine.flow.permits`.
"""

from engine.flow.clock import Clock, Timer
from engine.flow.line import FlowClosed, Line

_SHORTEST_TIMER_S = 0.001
"""Shortest timer: some loops count in whole milliseconds, and a timer of none would only spin."""

_ROUNDING = 1e-9
"""Part of a token that may be missing, since rate times time is rounded."""


class TokenBucket:
    """A bucket that fills by `rate_per_s` tokens a second up to `burst`, and is full at first.

    Requests are served in the order in which they came. One that is heavier than the burst (since it was lowered
    meanwhile, or since the caller allows it) waits for a full bucket and leaves it in debt, so that the rate in the
    long run holds.

    Args:
        rate_per_s: Tokens per second, or None for no limit.
        burst: Most tokens that the bucket holds, at least 1.
        clock: Tells the time and sets the one timer, for the head of the line.
    """

    # Mutable state: `_rate_per_s`, `_burst`, `_tokens` as of `_updated_s`, `_timer` and the line. It changes in
    # synchronous methods only; the one await is in the line, which holds nothing while it waits.

    def __init__(self, *, rate_per_s: float | None, burst: int, clock: Clock) -> None:
        _check(rate_per_s, burst)
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._updated_s = clock.monotonic()
        self._timer: Timer | None = None
        self._line = Line(self._ready)

    def __repr__(self) -> str:
        if self._rate_per_s is None:
            return "<TokenBucket without limit>"
        return (
            f"<TokenBucket {self.tokens:.1f}/{self._burst} tokens, {self._rate_per_s:g} per s, "
            f"{len(self._line)} waiting>"
        )

    @property
    def tokens(self) -> float | None:
        """Tokens in the bucket now, below 0 while it is in debt; None where the rate is not limited."""
        if self._rate_per_s is None:
            return None
        self._refill()
        return self._tokens

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._line)

    async def take(self, weight: int = 1, *, oversize: bool = False) -> None:
        """Take tokens, after everybody who asked earlier.

        Args:
            weight: How many.
            oversize: Whether more than the burst may be taken, on credit, instead of being refused.

        Raises:
            ValueError: When the bucket can never hold that many.
            FlowClosed: When the bucket is closed.
        """
        if not self.try_take(weight, oversize=oversize):
            try:
                await self._line.wait(weight, lambda: self._spend(weight))
            finally:
                if not self._line:
                    self._disarm()

    def try_take(self, weight: int = 1, *, oversize: bool = False) -> bool:
        """Take tokens if that needs no waiting and overtakes nobody; return whether they were taken.

        Raises:
            ValueError: As `take`.
            FlowClosed: As `take`.
        """
        if self._line.closed:
            raise FlowClosed
        if weight < 1:
            raise ValueError(f"{weight} tokens were asked for, and it must be at least 1")
        if self._line:
            return False
        if self._rate_per_s is None:
            return True
        if weight > self._burst and not oversize:
            raise ValueError(f"{weight} tokens were asked for, and the bucket holds only {self._burst}")
        if self._missing(weight) > _ROUNDING:
            return False
        self._spend(weight)
        return True

    def give_back(self, weight: int) -> None:
        """Return tokens that were taken and not used."""
        if self._rate_per_s is not None:
            self._tokens += weight  # the next look at the bucket lets it overflow
            self._line.nudge()

    def reconfigure(self, *, rate_per_s: float | None, burst: int) -> None:
        """Change rate and burst, for those who wait, too; a bucket that had no limit starts full.

        Raises:
            ValueError: When the rate is not above 0 or the burst is below 1.
        """
        _check(rate_per_s, burst)
        self._refill()
        self._tokens = float(burst) if self._rate_per_s is None else min(self._tokens, float(burst))
        self._rate_per_s, self._burst = rate_per_s, burst
        self._line.nudge()

    def close(self) -> None:
        """Hand out no more, and turn those who wait away; they took nothing."""
        self._disarm()
        self._line.close()

    def _ready(self, weight: int) -> bool:
        """Say whether the head of the line may go; where not, set the timer for when it may."""
        self._disarm()
        if self._rate_per_s is None:
            return True
        missing = self._missing(weight)
        if missing > _ROUNDING:
            delay_s = max(missing / self._rate_per_s, _SHORTEST_TIMER_S)
            self._timer = self._clock.call_later(delay_s, self._line.nudge)
        return missing <= _ROUNDING

    def _missing(self, weight: int) -> float:
        self._refill()
        return min(weight, self._burst) - self._tokens

    def _refill(self) -> None:
        now_s = self._clock.monotonic()
        if self._rate_per_s is not None:
            grown = self._tokens + (now_s - self._updated_s) * self._rate_per_s
            self._tokens = min(float(self._burst), grown)
        self._updated_s = now_s

    def _spend(self, weight: int) -> None:
        if self._rate_per_s is not None:
            self._tokens -= weight

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _check(rate_per_s: float | None, burst: int) -> None:
    if rate_per_s is not None and not rate_per_s > 0:
        raise ValueError(f"the rate is {rate_per_s}, and must be above 0")
    if burst < 1:
        raise ValueError(f"the burst is {burst}, and must be at least 1")
