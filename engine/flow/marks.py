"""Marks of holds, for shading the charts: bounded, the newest ones exact, older ones run together where they must."""

from engine.models.flow import GateChange, HoldMark
from engine.models.outcome import HoldCause


class HoldMarks:
    """Turns changes of the gate into marks.

    A gate may be held several times a second for days. When there are too many marks, those of the older half that
    have one cause and nearly touch become one; how near is "nearly" doubles until there is room. So a long look back
    shows when admission kept being held, as well as a chart of so many points can, and the recent past is exact.

    Args:
        started_at_s: The moment, on the monotonic clock, from which marks count.
        capacity: Most past marks kept.
    """

    def __init__(self, *, started_at_s: float, capacity: int = 1000) -> None:
        if capacity < 16:
            raise ValueError(f"capacity is {capacity}, and must be at least 16")
        self._started_at_s = started_at_s
        self._capacity = capacity
        self._past: list[tuple[HoldCause, float, float]] = []
        self._standing: dict[HoldCause, float] = {}
        self._gap_s = 0.25

    def __repr__(self) -> str:
        return f"<HoldMarks {len(self._past)}/{self._capacity} past, {len(self._standing)} standing>"

    def note(self, change: GateChange) -> None:
        """Take note of a change."""
        at_s = change.at_s - self._started_at_s
        if change.held:
            self._standing.setdefault(change.cause, at_s)
        elif change.cause in self._standing:
            self._past.append((change.cause, self._standing.pop(change.cause), at_s))
            while len(self._past) > self._capacity:
                self._run_together()

    def since(self, start_s: float) -> tuple[HoldMark, ...]:
        """Return the marks that reach beyond `start_s`: past ones, oldest first, then standing ones."""
        past = (
            HoldMark(cause=cause, started_s=begun_s, ended_s=ended_s)
            for cause, begun_s, ended_s in self._past
            if ended_s >= start_s
        )
        standing = (HoldMark(cause=cause, started_s=begun_s, ended_s=None) for cause, begun_s in self._standing.items())
        return (*past, *standing)

    def _run_together(self) -> None:
        half = len(self._past) // 2
        older: list[tuple[HoldCause, float, float]] = []
        last: dict[HoldCause, int] = {}
        for cause, begun_s, ended_s in self._past[:half]:
            place = last.get(cause)
            if place is not None and begun_s - older[place][2] <= self._gap_s:
                older[place] = (cause, older[place][1], ended_s)
            else:
                last[cause] = len(older)
                older.append((cause, begun_s, ended_s))
        if len(older) > half // 2:
            self._gap_s *= 2
        self._past[:half] = older
