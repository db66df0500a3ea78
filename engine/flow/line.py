"""The line: tasks that wait for their turn at one resource, first come, first served, safe to cancel anywhere.

Every waiting in the flow that is not for the gate is a line: for permits, for tokens, for space in a queue, for an
item. What there is to take, and how much of it, is the business of the resource that owns the line.

Only the head of a line is ever woken, and it stays the head until it has taken its share itself, in the same
synchronous step in which it leaves. So nothing lies in the hand of a task that may have been cancelled meanwhile,
nobody is overtaken (a heavy request is not starved by light ones), and cancelling a wait needs nothing undone.
"""

import asyncio
from collections import deque
from collections.abc import Callable


class FlowClosed(Exception):  # noqa: N818  # an orderly end, as StopAsyncIteration is, and not a fault
    """What was waited for will not come any more, because its owner closed it."""


class _Place:
    __slots__ = ("wake", "weight")

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.wake: asyncio.Future[None] | None = None


class Line:
    """A first-come-first-served line of tasks, each with the weight of what it wants.

    Args:
        ready: Says whether a head of that weight may go now. Whoever answers no must see to it that `nudge` is
            called when the answer may have changed.
        closed: What those in line are told when the line is closed.
    """

    # Mutable state: `_places` and `_closed`. It changes in `wait` between two awaits, and in synchronous methods.

    def __init__(self, ready: Callable[[int], bool], *, closed: type[FlowClosed] = FlowClosed) -> None:
        self._ready = ready
        self._closed_error = closed
        self._places: deque[_Place] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<Line {len(self._places)} waiting{', closed' if self._closed else ''}>"

    @property
    def closed(self) -> bool:
        """Whether nobody is served any more."""
        return self._closed

    async def wait(self, weight: int, then: Callable[[], None]) -> None:
        """Wait until all who came earlier are gone and the resource is ready, then take.

        Args:
            weight: How much is wanted.
            then: Takes it; called in the synchronous step in which the head leaves the line.

        Raises:
            FlowClosed: When the line is closed; nothing was taken.
        """
        place = _Place(weight)
        self._places.append(place)
        try:
            while True:
                if self._closed:
                    raise self._closed_error
                if self._places[0] is place and self._ready(weight):
                    then()
                    return
                place.wake = asyncio.get_running_loop().create_future()
                await place.wake
        finally:
            self._places.remove(place)
            self.nudge()

    def nudge(self) -> None:
        """Wake the head if it may go; for whenever something came back or a limit changed."""
        if self._places and self._ready(self._places[0].weight):
            self._wake(self._places[0])

    def close(self) -> None:
        """Turn everybody away, now and later."""
        self._closed = True
        for place in self._places:
            self._wake(place)

    @staticmethod
    def _wake(place: _Place) -> None:
        if place.wake is not None and not place.wake.done():
            place.wake.set_result(None)
