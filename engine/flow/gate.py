"""The watermark gate: one object for every cause for which admission stands still.

Covers the hysteresis over queue depth and the causes that others set (the user, memory, disk, the source). What
waits at the gate, and what it has in its hands meanwhile, is the business of `engine.flow.stage`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection

from engine.flow.clock import Clock
from engine.models.flow import GateChange, Hold
from engine.models.outcome import HoldCause

_log = logging.getLogger(__name__)

Listener = Callable[[GateChange], None]
"""Told of every change, synchronously, after it happened."""


class WatermarkGate:
    """Held while at least one cause stands, open otherwise.

    The watermark follows the queue alone: it begins at a depth of `hi` and ends at a depth of `lo`. In between it
    stays as it is. Every other cause is set and lifted by whoever knows of it; doing so twice changes nothing and is
    told to nobody.

    Args:
        hi: Depth at which the watermark begins.
        lo: Depth at which it ends, below `hi`.
        clock: Says since when a cause stands.

    Attributes:
        on_change: Told of every change, in order, each after it happened. One that raises is logged and passed over.
    """

    # Mutable state: `_hi`, `_lo`, `_depth`, `_holds` and the changes not yet told. It changes in
    # synchronous methods only; whoever waits holds nothing and looks again when woken, since the gate may have
    # changed once more before its turn came.

    def __init__(self, *, hi: int, lo: int, clock: Clock) -> None:
        self._clock = clock
        self._depth = 0
        self._holds: dict[HoldCause, float] = {}  # in the order in which they began
        self._changed = asyncio.Event()
        self._untold: deque[GateChange] = deque()
        self._telling = False
        self.on_change: list[Listener] = []
        self.set_marks(hi=hi, lo=lo)

    def __repr__(self) -> str:
        state = f"held by {', '.join(self._holds)}" if self._holds else "open"
        return f"<WatermarkGate {state}, depth {self._depth}, marks {self._lo} to {self._hi}>"

    @property
    def hi(self) -> int:
        """Depth at which the watermark begins."""
        return self._hi

    @property
    def lo(self) -> int:
        """Depth at which it ends."""
        return self._lo

    @property
    def holds(self) -> tuple[Hold, ...]:
        """Standing causes, oldest first; empty when the gate is open."""
        return tuple(Hold(cause=cause, since_s=since_s) for cause, since_s in self._holds.items())

    def should_admit(self) -> bool:
        """Whether the gate is open now, for callers that cannot wait."""
        return not self._holds

    def is_held_by(self, cause: HoldCause) -> bool:
        """Whether that cause stands."""
        return cause in self._holds

    async def wait_open(self, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until no cause stands; true only for the synchronous step in which it returns.

        Args:
            unless: Ends the wait, too; looked at whenever the gate changes and on `nudge`.
        """
        await self._wait_while(lambda: bool(self._holds) and not unless())

    async def wait_clear(self, of: Collection[HoldCause]) -> None:
        """Wait until none of these causes stands, for work that may go on while others do."""
        await self._wait_while(lambda: any(cause in self._holds for cause in of))

    def hold(self, cause: HoldCause) -> None:
        """Let a cause begin, if it does not stand already.

        Raises:
            ValueError: When it is the watermark, which follows the queue's depth alone.
        """
        self._set(_not_the_watermark(cause), held=True)

    def release(self, cause: HoldCause) -> None:
        """Let a cause end, if it stands.

        Raises:
            ValueError: When it is the watermark, which follows the queue's depth alone.
        """
        self._set(_not_the_watermark(cause), held=False)

    def observe(self, depth: int) -> None:
        """Take note of the queue's depth."""
        self._depth = depth
        if depth >= self._hi:
            self._set(HoldCause.WATERMARK, held=True)
        elif depth <= self._lo:
            self._set(HoldCause.WATERMARK, held=False)

    def set_marks(self, *, hi: int, lo: int) -> None:
        """Change the marks; they apply to the present depth at once.

        Raises:
            ValueError: When not 0 <= lo < hi.
        """
        if not 0 <= lo < hi:
            raise ValueError(f"the marks are {lo} and {hi}, and must be 0 <= lo < hi")
        self._hi, self._lo = hi, lo
        self.observe(self._depth)

    def nudge(self) -> None:
        """Let everybody who waits look again."""
        # A pulse: the event is never left set, so that each wait is for the next one.
        self._changed.set()
        self._changed.clear()

    async def _wait_while(self, is_held: Callable[[], bool]) -> None:
        while is_held():
            await self._changed.wait()

    def _set(self, cause: HoldCause, *, held: bool) -> None:
        if held == (cause in self._holds):
            return
        now_s = self._clock.monotonic()
        if held:
            self._holds[cause] = now_s
        else:
            del self._holds[cause]
            self.nudge()
        self._untold.append(GateChange(cause=cause, held=held, at_s=now_s, queue_depth=self._depth))
        self._tell()

    def _tell(self) -> None:
        if self._telling:
            return  # a listener changed the gate: the loop below, in which it runs, tells that in its turn
        self._telling = True
        while self._untold:
            change = self._untold.popleft()
            for listener in tuple(self.on_change):
                try:
                    listener(change)
                except Exception:  # noqa: BLE001  # a border: no listener's fault may keep the gate from holding
                    _log.exception("A listener of the gate failed")
        self._telling = False


def _not_the_watermark(cause: HoldCause) -> HoldCause:
    if cause is HoldCause.WATERMARK:
        raise ValueError("the watermark follows the queue's depth and cannot be set")
    return cause
