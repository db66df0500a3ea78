"""The roster: the pool's workers, who is idle, who waits for one, and who gets the next one.

State and judgement, in synchronous methods on the event loop; starting and ending workers is the pool's. Callers
are served in the order in which they came. One that needs a fresh worker does not hold up those behind it, and gets
the first fresh one that there is.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from engine.errors import WorkerStartError
from engine.models.document import Failure
from engine.models.outcome import Reason
from engine.models.run import WorkerView
from engine.settings import Settings
from engine.work.errand import Errand
from engine.work.jobs import Job
from engine.work.keeper import Keeper
from engine.work.kept import KeptOpen
from engine.work.slot import Mark
from engine.work.watch import DocumentTimes, Watch, overdue


class WorkerState(Enum):
    """Where a worker stands."""

    STARTING = auto()  # Spawned, not yet ready.
    IDLE = auto()  # Ready for an errand.
    BUSY = auto()  # It has an errand, or is promised to a caller.
    ENDING = auto()  # It gets no more errands, and its end is awaited.


@dataclass(slots=True, eq=False, kw_only=True)
class Worker:
    """One worker as the pool sees it."""

    number: int
    """Its place, from 1; its replacement has the same."""
    keeper: Keeper
    address_space_bytes: int
    """The limit that it was started with."""
    watch: Watch
    state: WorkerState = WorkerState.STARTING
    confined: bool = False
    """Whether it reported that every layer of its sandbox is in force."""
    errand: Errand[Any] | None = None
    at: Job | None = None
    """The job of its errand that it was at when its time was last counted."""
    alone: bool = False
    """Whether its present errand is its only one."""
    errands: int = 0
    """How many it was given so far."""
    pages_done: int = 0
    kept_open: KeptOpen[int] = field(default_factory=KeptOpen)
    """Documents that it probably has open."""

    @property
    def fresh(self) -> bool:
        """Whether it has not worked yet."""
        return self.errands == 0

    def begin(self, errand: Errand[Any], now_s: float, *, alone: bool) -> bool:
        """Give it an errand, and return whether it was there to take it."""
        self.errand, self.alone = errand, alone
        self.at = errand.jobs[0]
        self.errands += 1
        mark = self.keeper.slot.read()
        self.watch = Watch(now_s, mark)
        for job in errand.jobs:
            self.kept_open.use(job.doc_id, goes_on=job.goes_on)
        return self.keeper.give(errand, mark)

    def overrun(self, now_s: float, settings: Settings, times: DocumentTimes) -> Failure | None:
        """Count its time up to now, and return what to end it for where it has taken too much of anything."""
        if self.errand is None:
            return None
        mark = self.keeper.slot.read()
        job = self.errand.told_of(mark)
        doc_id = job.doc_id
        self.spend(now_s, job, times, mark)
        if self.keeper.rss_bytes > settings.worker.kill_rss_bytes:
            return Failure(reason=Reason.MEMORY_LIMIT)
        if overdue(self.watch, mark, settings.clocks, times.spent_s(doc_id)):
            return Failure(reason=Reason.TIME_LIMIT)
        return None

    def spend(self, now_s: float, job: Job, times: DocumentTimes, mark: Mark | None = None) -> None:
        """Count its time up to now, for the document that it is at.

        Of several short ones since the last call, none took all of the time: it is nobody's.
        """
        step_s = self.watch.advance(now_s, mark)
        if job is self.at:
            times.add(job.doc_id, step_s)
        self.at = job

    def worn_out(self, settings: Settings) -> bool:
        """Whether it has to be replaced before its next errand, or is not needed any more."""
        limits = settings.worker
        return (
            self.number > settings.flow.workers
            or self.address_space_bytes != limits.address_space_bytes
            or self.pages_done >= limits.recycle_pages
            or (limits.require_sandbox and not self.confined)
            or (not self.fresh and self.keeper.rss_bytes > limits.recycle_rss_bytes)
        )

    def view(self) -> WorkerView:
        """Return what it is doing now."""
        mark = self.keeper.slot.read()
        job = None if self.errand is None else self.errand.told_of(mark)
        return WorkerView(
            number=self.number,
            pid=self.keeper.pid,
            doc_id=None if job is None else job.doc_id,
            page=None if job is None else job.page_in(mark),
            busy_s=0.0 if job is None else self.watch.total_s,
            rss_bytes=self.keeper.rss_bytes,
            pages_done=self.pages_done,
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Caller:
    """Somebody who waits for a worker."""

    future: "asyncio.Future[Worker]"
    doc_id: int
    fresh: bool


class Roster:
    """All workers of a pool."""

    def __init__(self) -> None:
        self.workers: dict[int, Worker] = {}
        """By number."""
        self._idle: list[Worker] = []
        self._callers: deque[Caller] = deque()

    @property
    def living(self) -> int:
        """How many workers can work."""
        return sum(worker.state in (WorkerState.IDLE, WorkerState.BUSY) for worker in self.workers.values())

    @property
    def idle(self) -> tuple[Worker, ...]:
        """The idle workers, the last used one last."""
        return tuple(self._idle)

    def put_idle(self, worker: Worker) -> None:
        """Note that a worker can take an errand."""
        worker.state, worker.errand, worker.alone = WorkerState.IDLE, None, False
        self._idle.append(worker)

    def take_out(self, worker: Worker) -> None:
        """Note that a worker gets no more errands."""
        worker.state = WorkerState.ENDING
        if worker in self._idle:
            self._idle.remove(worker)

    def take_idle(self, doc_id: int) -> Worker | None:
        """Return an idle worker at once, promised to the caller, unless others have waited for longer."""
        if self._callers or not self._idle:
            return None
        worker = self._best(doc_id)
        self._idle.remove(worker)
        worker.state = WorkerState.BUSY
        return worker

    @property
    def waiting(self) -> bool:
        """Whether somebody waits for a worker."""
        return bool(self._callers)

    def wait(self, caller: Caller) -> None:
        """Let somebody wait for a worker."""
        self._callers.append(caller)

    def leave(self, caller: Caller) -> None:
        """Let somebody wait no more."""
        if caller in self._callers:
            self._callers.remove(caller)

    def refuse_all(self, sentence: str) -> None:
        """Tell everybody who waits that there will be no worker."""
        while self._callers:
            caller = self._callers.popleft()
            if not caller.future.done():
                caller.future.set_exception(WorkerStartError(sentence))

    def serve(self, coming: int) -> tuple[Worker, ...]:
        """Give idle workers to callers.

        Args:
            coming: How many fresh workers are on their way.

        Returns:
            Workers that have to go, so that a fresh one can come for a caller who needs it and would otherwise be
            passed over for ever.
        """
        leaving: list[Worker] = []
        for caller in tuple(self._callers):
            if caller.future.done():
                self.leave(caller)
            elif caller.fresh and (worker := next((one for one in self._idle if one.fresh), None)) is not None:
                self._promise(caller, worker)
        for caller in tuple(self._callers):
            if not self._idle:
                break
            if not caller.fresh:
                self._promise(caller, self._best(caller.doc_id))
            elif coming > 0:
                coming -= 1
            else:
                leaving.append(self._idle.pop(0))
        return tuple(leaving)

    def _best(self, doc_id: int) -> Worker:
        """Return the idle worker that has the document open, or else the one that was used last."""
        return next((one for one in reversed(self._idle) if doc_id in one.kept_open), self._idle[-1])

    def _promise(self, caller: Caller, worker: Worker) -> None:
        self.leave(caller)
        self._idle.remove(worker)
        worker.state = WorkerState.BUSY
        caller.future.set_result(worker)
