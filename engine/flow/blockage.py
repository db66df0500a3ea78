"""The blockage: how long producers have been waiting in admission, and what the first of them waits for."""

from typing import Literal

from engine.flow.clock import Clock

Obstacle = Literal["permit", "token", "gate", "queue"]
"""What a producer can be waiting for."""


class Wait:
    """One producer's wait; it says itself what it waits for."""

    __slots__ = ("on", "since_s", "started_s")

    def __init__(self, started_s: float) -> None:
        self.started_s = started_s
        self.since_s = started_s
        self.on: Obstacle | None = None


class Blockage:
    """Adds up the waits of all producers.

    Args:
        clock: Tells the time.
    """

    # Mutable state: `_waits`, in the order in which they began, and `_ended_s`. It changes in synchronous methods.

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: dict[Wait, None] = {}
        self._ended_s = 0.0

    def __repr__(self) -> str:
        return f"<Blockage {len(self._waits)} waiting, first on {self.on}, {self.total_s:.1f} s in all>"

    def __len__(self) -> int:
        return len(self._waits)

    @property
    def on(self) -> Obstacle | None:
        """What the producer that came first waits for."""
        return None if self._first is None else self._first.on

    @property
    def for_s(self) -> float:
        """How long that wait has lasted."""
        wait = self._first
        return 0.0 if wait is None or wait.on is None else self._clock.monotonic() - wait.since_s

    @property
    def total_s(self) -> float:
        """Seconds waited by all producers together, those who still wait included."""
        now_s = self._clock.monotonic()
        return self._ended_s + sum(now_s - wait.started_s for wait in self._waits)

    def begin(self) -> Wait:
        """Let a wait begin."""
        wait = Wait(self._clock.monotonic())
        self._waits[wait] = None
        return wait

    def move(self, wait: Wait, on: Obstacle) -> None:
        """Let it wait for something else."""
        wait.on, wait.since_s = on, self._clock.monotonic()

    def end(self, wait: Wait) -> None:
        """Let a wait end."""
        del self._waits[wait]
        self._ended_s += self._clock.monotonic() - wait.started_s

    @property
    def _first(self) -> Wait | None:
        return next(iter(self._waits), None)
