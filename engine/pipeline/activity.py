"""The active clock: how long a run has been at work, pauses not counted."""

from collections.abc import Callable


class ActiveClock:
    """Elapsed time of a run without the times when it was paused.

    Args:
        now: The monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started_s = now()
        self._paused_at_s: float | None = None
        self._paused_s = 0.0

    def pause(self) -> None:
        """Stop counting."""
        if self._paused_at_s is None:
            self._paused_at_s = self._now()

    def resume(self) -> None:
        """Go on counting."""
        if self._paused_at_s is not None:
            self._paused_s += self._now() - self._paused_at_s
            self._paused_at_s = None

    @property
    def elapsed_s(self) -> float:
        """All seconds since the start."""
        return self._now() - self._started_s

    @property
    def active_s(self) -> float:
        """Seconds since the start in which the run was not paused."""
        standing_s = 0.0 if self._paused_at_s is None else self._now() - self._paused_at_s
        return self.elapsed_s - self._paused_s - standing_s
