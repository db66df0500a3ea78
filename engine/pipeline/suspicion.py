"""Suspicion: notes what has been in work for long, before it can take the whole application down.

A page that ends its worker is blamed by the pool. One that ends the application (it takes the machine's memory, say)
can be blamed only by what was written down before. Writing that down for every page would cost more than the pages;
one that does so much harm is not quick about it.
"""

from collections.abc import Callable, Iterable

from engine.models.facts import WorkSlow
from engine.models.run import WorkerView

SLOW_S = 2.0
"""Time in work after which something is written down: a thousand times what an ordinary page takes."""


class Suspicion:
    """Tells once of everything that stays in work.

    Args:
        note: Writes it down.
        now: The monotonic clock.
    """

    def __init__(self, note: Callable[[WorkSlow], None], now: Callable[[], float]) -> None:
        self._note = note
        self._now = now
        self._since_s: dict[tuple[int, int, int | None], float] = {}
        self._told: set[tuple[int, int, int | None]] = set()
        self.stuck = False
        """Whether every worker that there is has been at the same work for long, so that nothing moves."""

    def look(self, workers: Iterable[WorkerView]) -> None:
        """Take note of what each worker is doing now."""
        now_s = self._now()
        since_s: dict[tuple[int, int, int | None], float] = {}
        present = tuple(workers)
        for worker in present:
            if worker.doc_id is None:
                continue
            work = (worker.number, worker.doc_id, worker.page)
            since_s[work] = self._since_s.get(work, now_s)
            if now_s - since_s[work] >= SLOW_S and work not in self._told:
                self._told.add(work)
                self._note(WorkSlow(doc_id=worker.doc_id, page=worker.page))
        self._since_s = since_s
        self.stuck = bool(present) and sum(now_s - since >= SLOW_S for since in since_s.values()) == len(present)
        self._told.intersection_update(since_s)
