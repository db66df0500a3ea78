"""The holds of a run: what stops it, by whom, how often, and that stopped time is not active time.

One gate stands for all causes; the watermark holds it by itself. What a change of it becomes in the log and on the
charts is told to the run.
"""

from collections import Counter
from collections.abc import Callable

from engine.flow.gate import WatermarkGate
from engine.models.flow import GateChange
from engine.models.outcome import HoldCause
from engine.pipeline.activity import ActiveClock

STANDING = frozenset(HoldCause) - {HoldCause.WATERMARK}
"""Causes that stop every kind of work; a full queue stops only admission."""

_WAITS_FOR_SOMEBODY = (HoldCause.USER, HoldCause.STORAGE)


class Holds:
    """Holds and releases a run's gate.

    Args:
        gate: The gate.
        clock: Counts active time.
        on_change: Told of every change, by whatever cause.
    """

    def __init__(self, gate: WatermarkGate, clock: ActiveClock, on_change: Callable[[GateChange], None]) -> None:
        self._gate = gate
        self._clock = clock
        self._on_change = on_change
        self.count: Counter[HoldCause] = Counter()
        """How often each cause has begun to hold."""
        gate.on_change.append(self._changed)

    def set(self, cause: HoldCause, held: bool) -> None:  # noqa: FBT001  # it is the value that is set
        """Begin (True) or end (False) a hold; nothing where it stands like that already."""
        if held:
            self._gate.hold(cause)
        else:
            self._gate.release(cause)
        if any(map(self._gate.is_held_by, _WAITS_FOR_SOMEBODY)):
            self._clock.pause()
        else:
            self._clock.resume()

    def has(self, cause: HoldCause) -> bool:
        """Whether a cause holds now."""
        return self._gate.is_held_by(cause)

    async def wait_clear(self) -> None:
        """Wait until nothing but the watermark holds."""
        await self._gate.wait_clear(STANDING)

    def _changed(self, change: GateChange) -> None:
        if change.held:
            self.count[change.cause] += 1
        self._on_change(change)
