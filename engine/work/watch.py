"""How time is counted for the clocks of workers, so that only time in which a worker could work counts.

Time is added up tick by tick, and one tick never adds more than `LONGEST_STEP_S`: when the whole machine was
suspended, everything was stopped, or the event loop was blocked, the next tick finds a long gap and counts next to
nothing of it. A worker that truly hangs is caught that much later; a healthy one is not killed for time that nobody
had, however often the machine sleeps during its page. What is counted is time that passes, not time on a processor,
because a read of a dead disk takes none: on a machine that is busy with other things a page takes longer.
"""

from collections import OrderedDict

from engine.settings import Clocks
from engine.work.slot import Mark, Phase

LONGEST_STEP_S = 0.5
"""Two ticks of the watchdog: one that comes a little late counts in full, and each sleep costs no more than this."""


class Watch:
    """Counts the time of one piece of work.

    Args:
        now_s: The clock now.
        mark: What stands in the slot as it begins.
    """

    def __init__(self, now_s: float, mark: Mark | None = None) -> None:
        self.total_s = 0.0
        """Time counted in all."""
        self.still_s = 0.0
        """Time counted since the slot last changed."""
        self._counted_until_s = now_s
        self._mark = mark

    def advance(self, now_s: float, mark: Mark | None = None) -> float:
        """Count the time since the last call, and return how much of it counts.

        Args:
            now_s: The clock now.
            mark: What stands in the slot now; a change starts `still_s` anew.
        """
        step_s = min(max(now_s - self._counted_until_s, 0.0), LONGEST_STEP_S)
        self._counted_until_s = now_s
        self.total_s += step_s
        if mark == self._mark:
            self.still_s += step_s
        else:
            self._mark, self.still_s = mark, 0.0
        return step_s


class DocumentTimes:
    """How much time each document has taken so far, over all its spans and all workers.

    Holds the documents that were worked on last, a bounded number: one that falls out starts anew.
    """

    def __init__(self, most: int = 4096) -> None:
        self._most = most
        self._spent_s: OrderedDict[int, float] = OrderedDict()

    def add(self, doc_id: int, time_s: float) -> None:
        """Count time for a document."""
        self._spent_s[doc_id] = self._spent_s.pop(doc_id, 0.0) + time_s
        if len(self._spent_s) > self._most:
            self._spent_s.popitem(last=False)

    def spent_s(self, doc_id: int) -> float:
        """Return the time that a document has taken."""
        return self._spent_s.get(doc_id, 0.0)


def overdue(watch: Watch, mark: Mark, clocks: Clocks, document_spent_s: float) -> bool:
    """Return whether one of its clocks has run out for a busy worker.

    Args:
        watch: The time of its present job.
        mark: What stands in its slot. A worker that lies there gains no more than the document's clock allows.
        clocks: The limits.
        document_spent_s: Time that the document has taken so far, this job included.
    """
    step_limit_s = clocks.page_s if mark.phase == Phase.PAGE else clocks.open_s
    return watch.still_s > step_limit_s or document_spent_s > clocks.document_s
