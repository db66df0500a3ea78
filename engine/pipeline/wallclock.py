"""The watch over the wall clock, by which audit records are dated: tells when it was set, or stood still in a suspend.

No rule of the flow depends on that clock; but whoever reads the log must know that two dates in it do not compare.
"""

from collections.abc import Callable

from engine.models.facts import LEAST_CLOCK_JUMP_MS


class WallClockWatch:
    """Compares the wall clock with the monotonic one.

    Args:
        wall_s: The wall clock, in seconds since 1970.
        now: The monotonic clock.
    """

    def __init__(self, wall_s: Callable[[], float], now: Callable[[], float]) -> None:
        self._wall_s = wall_s
        self._now = now
        self._offset_s = wall_s() - now()

    def jump_ms(self) -> int | None:
        """Return by how much the wall clock jumped since the last call, back as a negative number; None: it did not."""
        offset_s = self._wall_s() - self._now()
        jump_s, self._offset_s = offset_s - self._offset_s, offset_s
        jump_ms = round(jump_s * 1000)
        return jump_ms if abs(jump_ms) >= LEAST_CLOCK_JUMP_MS else None
