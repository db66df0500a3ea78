"""Permits: the right to be in flight, counted by weight, taken before the queue and returned after the commit.

Covers how many are out and who gets the next ones. What a permit is taken for, and that it comes back, is the
business of `engine.flow.stage` and of its owner.
"""

from engine.flow.line import FlowClosed, Line


class Permits:
    """A weighted semaphore whose size can change while permits are out.

    Requests are served in the order in which they came, so that a heavy one is not starved by light ones. After a
    shrink more may be held than the new total until they come back. A request that a shrink made impossible, since
    it is heavier than the new total, goes alone: it is served once nothing else is held. Refusing it would lose
    work that was within the limits when it was asked for, and letting it wait would stop the flow for good.

    Args:
        total: How many permits there are, at least 1.
    """

    # Mutable state: `_total`, `_held`, `_max_held` and the line. It changes in synchronous methods only; the one
    # await is in the line, which holds nothing while it waits.

    def __init__(self, total: int) -> None:
        self._total = _at_least_one(total, "total")
        self._held = 0
        self._max_held = 0
        self._line = Line(self._ready)

    def __repr__(self) -> str:
        return f"<Permits {self._held}/{self._total} held, {len(self._line)} waiting>"

    @property
    def total(self) -> int:
        """How many there are."""
        return self._total

    @property
    def held(self) -> int:
        """How many are out."""
        return self._held

    @property
    def max_held(self) -> int:
        """Most that were ever out at once."""
        return self._max_held

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._line)

    async def acquire(self, weight: int = 1, *, oversize: bool = False) -> None:
        """Take permits, after everybody who asked earlier.

        Args:
            weight: How many.
            oversize: Whether a request above the total may go alone, as after a shrink, instead of being refused.

        Raises:
            ValueError: When there are not that many permits, so that waiting could never end.
            FlowClosed: When the permits are closed.
        """
        if not self.try_acquire(weight, oversize=oversize):
            await self._line.wait(weight, lambda: self._take(weight))

    def try_acquire(self, weight: int = 1, *, oversize: bool = False) -> bool:
        """Take permits if that needs no waiting and overtakes nobody; return whether they were taken.

        Raises:
            ValueError: As `acquire`.
            FlowClosed: As `acquire`.
        """
        if self._line.closed:
            raise FlowClosed
        _at_least_one(weight, "weight")
        if weight > self._total and not oversize:
            raise ValueError(f"{weight} permits were asked for, and there are only {self._total}")
        if self._line or not self._ready(weight):
            return False
        self._take(weight)
        return True

    def release(self, weight: int = 1) -> None:
        """Return permits.

        Raises:
            ValueError: When more come back than are out: somebody returned the same permit twice.
        """
        if not 0 < weight <= self._held:
            raise ValueError(f"{weight} permits came back, and {self._held} are out")
        self._held -= weight
        self._line.nudge()

    def resize(self, total: int) -> None:
        """Change how many there are; what is out stays out until it comes back.

        Raises:
            ValueError: When `total` is below 1.
        """
        self._total = _at_least_one(total, "total")
        self._line.nudge()

    def close(self) -> None:
        """Hand out no more, and turn those who wait away; what is out can still come back."""
        self._line.close()

    def _ready(self, weight: int) -> bool:
        return self._held + weight <= self._total or self._held == 0

    def _take(self, weight: int) -> None:
        self._held += weight
        self._max_held = max(self._max_held, self._held)


def _at_least_one(number: int, what: str) -> int:
    if number < 1:
        raise ValueError(f"{what} is {number}, and must be at least 1")
    return number
