"""Errands: what a worker is given at once, one job or several short ones, so that one waking serves many pages.

An errand sends the requests of its jobs together, takes the answers in their order, and knows at a worker's death
which job has to bear it. Those that nobody has tried, or whose answers were lost, are unsettled: another worker gets
them. Where those before took long, the rest goes back to whoever wanted it, who is not to wait for the results of
short documents as long as many long ones take. What a single job's answers mean is the business of `jobs`.
"""

import asyncio
from collections.abc import Sequence
from typing import Generic, TypeVar

from engine.models.document import Failure
from engine.models.outcome import Reason
from engine.work.frames import Frame, FrameCaps, FrameError
from engine.work.jobs import Job
from engine.work.replies import is_left
from engine.work.slot import MOST_TOLD_APART, Mark

J = TypeVar("J", bound=Job)


class Errand(Generic[J]):
    """Jobs on their way through one worker.

    Args:
        jobs: At least one, with numbers in a row. As many of them are taken as may be sent at once.
        over: Set when the errand is over: to False where the worker had died before, so that nobody has tried.
        most_bytes: How much may be sent at once.
    """

    def __init__(self, jobs: Sequence[J], over: "asyncio.Future[bool]", *, most_bytes: int) -> None:
        self.over = over
        self.settled: list[J] = []
        """Jobs that have an outcome."""
        self.left: list[J] = []
        """Jobs that the worker did not begin, because those before them took long."""
        self.overdue = False
        """Whether the worker was ended because a job took too long."""
        self._unsettled = list(jobs[: _fitting(jobs, most_bytes)])
        self.jobs: Sequence[J] = tuple(self._unsettled)
        self.request = b"".join([job.request for job in self.jobs])
        """Their requests as frames."""

    @property
    def caps(self) -> FrameCaps:
        """How long the next answer may be."""
        return self._unsettled[0].caps

    @property
    def pages(self) -> int:
        """How many pages are done."""
        return sum(job.pages for job in self.settled)

    @property
    def spoiled(self) -> bool:
        """Whether its worker ran out of memory, so that it is to get no other errand."""
        return bool(self.settled) and self.settled[-1].spoiled

    @property
    def broken_off(self) -> bool:
        """Whether jobs are left that nobody will settle, though the errand is over."""
        return bool(self._unsettled)

    def told_of(self, mark: Mark) -> J:
        """Return the job that a slot's mark tells of; the next one to settle where it tells of none of these."""
        left = self._unsettled[:] or self.settled[-1:]  # a copy: the keeper's thread settles them meanwhile
        return next((job for job in left if mark.tells_of(job.number)), left[0])

    def take(self, frame: Frame) -> bool:
        """Take an answer; return whether it was the last one.

        Raises:
            FrameError: When it is no answer to the request whose turn it is.
        """
        job = self._unsettled[0]
        if is_left(frame, job.number):
            if job.pages or not self.settled:  # each errand has to bring something forward
                raise FrameError("A request was left that must have been begun.")
            self.left.append(job)
        elif job.take(frame):
            self.settled.append(job)
        else:
            return False
        del self._unsettled[0]
        # What filled the memory may still be there: the next document would suffer for it.
        return job.spoiled or not self._unsettled

    def end(self, failure: Failure, mark: Mark, *, garbled: bool = False) -> None:
        """Take note that the worker ended first. One job has to bear it.

        Args:
            failure: Why it ended.
            mark: What stood in its slot.
            garbled: Whether it was ended for an answer that is none: to the job whose turn it is, even where the
                worker has gone on since.
        """
        self.overdue = failure.reason is Reason.TIME_LIMIT
        told = self.told_of(mark)
        job = self._unsettled[0] if garbled else told
        job.end(failure, mark if job is told else Mark())
        self.settled.append(job)
        self._unsettled.remove(job)


def _fitting(jobs: Sequence[Job], most_bytes: int) -> int:
    """Return how many of the first jobs may be sent at once; one always may."""
    size_bytes = 0
    for number, job in enumerate(jobs[:MOST_TOLD_APART]):
        size_bytes += len(job.request)
        if number and size_bytes > most_bytes:
            return number
    return min(len(jobs), MOST_TOLD_APART)
