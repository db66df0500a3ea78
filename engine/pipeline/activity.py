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
        self._stopped_s: float | None = None

    def pause(self) -> None:
        """Stop counting."""
        if self._paused_at_s is None:
            self._paused_at_s = self._now()

    def resume(self) -> None:
        """Go on counting."""
        if self._paused_at_s is not None:
            self._paused_s += self._now() - self._paused_at_s
            self._paused_at_s = None

    def stop(self) -> None:
        """Count nothing more."""
        if self._stopped_s is None:
            self.resume()
            self._stopped_s = self._now()

    @property
    def elapsed_s(self) -> float:
        """All seconds from the start to the stop, or until now."""
        return (self._now() if self._stopped_s is None else self._stopped_s) - self._started_s

    @property
    def active_s(self) -> float:
        """Seconds since the start in which the run was not paused."""
        standing_s = 0.0 if self._paused_at_s is None else self._now() - self._paused_at_s
        return self.elapsed_s - self._paused_s - standing_s
