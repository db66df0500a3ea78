"""The workforce: as many worker processes as are wanted, handed out fairly, watched, replaced, and ended at last.

It lives on the event loop; each worker's blocking work is done by its keeper's thread, and one watchdog task holds all
clocks. Covers who goes on which errand and when a worker has to go. What the errands are is the business of `pool`.
"""

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.errors import WorkerStartError
from engine.machine import usable_memory_bytes
from engine.models.document import Failure, Posture
from engine.models.outcome import Reason
from engine.models.run import WorkerView
from engine.settings import MIB, Settings
from engine.work.errand import Errand, J
from engine.work.keeper import Keeper, Staffing
from engine.work.memory import MemorySampler
from engine.work.process import default_command
from engine.work.roster import Caller, Roster, Worker, WorkerState
from engine.work.slot import Mark
from engine.work.starts import NO_THREAD, StartFault, StartRecord, trouble
from engine.work.watch import DocumentTimes, Watch

logger = logging.getLogger(__name__)

_TICK_S = 0.25
WORTH_ENDING_BYTES = 128 * MIB
"""Resident memory below which ending a worker gives little back: at rest it takes half of that."""
_CLOSE_S = 20.0
_CLOSED = "The worker processes were ended, so that no more pages can be tried."


class Workforce:
    """Sends worker processes on errands.

    Args:
        settings: Limits, clocks and the number of workers.
        command: The command line that starts a worker; the default starts ours.
        clock: The monotonic clock.
        tick_s: How often the watchdog looks.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        command: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        tick_s: float = _TICK_S,
    ) -> None:
        self._usable_bytes = usable_memory_bytes()
        self._settings = settings.within(self._usable_bytes)
        self._command = tuple(command or default_command())
        self._clock = clock
        self._tick_s = tick_s
        # All of this changes only in synchronous methods on the event loop.
        self._roster = Roster()
        self._staff: dict[Keeper, Worker] = {}
        self._leaving: list[Keeper] = []
        self._times = DocumentTimes()
        self._requests = 0
        self._starts = StartRecord()
        self._broken = ""
        self._closed = False
        self._sampler = MemorySampler()
        self._watchdog: asyncio.Task[None] | None = None

    async def start(self) -> Posture:
        """Start the workers, all at once; return what the first one that is ready reports.

        Raises:
            WorkerStartError: When too many starts in a row fail.
        """
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Posture] = self._loop.create_future()
        self._gone = asyncio.Event()
        self._staffing = Staffing(
            command=self._command, parent_pid=os.getpid(), owner=self, sampler=self._sampler, post=self._post
        )
        # No task group: the watchdog lives from here to `close`, which ends it and waits for it.
        self._watchdog = self._loop.create_task(self._watch(), name="worker-watchdog")
        self._watchdog.add_done_callback(self._on_watchdog_done)
        self._fill()
        try:
            return await self._ready
        except BaseException:  # a cancellation, too: no worker stays behind
            await self.close()
            raise

    def apply(self, settings: Settings) -> None:
        """Take over other limits, the number of workers included, from the next task on."""
        self._settings = settings.within(self._usable_bytes)
        if self._watchdog is not None:
            self._tidy()
            self._fill()
            self._serve()

    def relieve(self) -> bool:
        """Replace idle workers by fresh ones, which hold less memory; return whether there were any to replace."""
        used = [worker for worker in self._roster.idle if not worker.fresh]
        for worker in used:
            self._let_go(worker)
        return bool(used) or any(worker.state is not WorkerState.IDLE for worker in self._roster.workers.values())

    def shed(self) -> bool:
        """End the work of the worker that takes the most memory, as too large; return whether one was large."""
        busy = [worker for worker in self._roster.workers.values() if worker.errand is not None]
        largest = max(busy, key=lambda worker: worker.keeper.rss_bytes, default=None)
        if largest is None or largest.keeper.rss_bytes < WORTH_ENDING_BYTES or largest.state is not WorkerState.BUSY:
            return False
        self._kill(largest, Failure(reason=Reason.MEMORY_LIMIT))
        return True

    def views(self) -> tuple[WorkerView, ...]:
        """Return what each worker is doing now, by number."""
        workers = self._roster.workers
        return tuple(workers[number].view() for number in sorted(workers))

    @property
    def trouble(self) -> str:
        """One sentence while there are fewer workers than wanted because the system refuses them; or empty."""
        return trouble(self._starts.refusal, self._roster.living, self._settings.flow.workers)

    async def close(self) -> None:
        """End all workers; none is left when this returns. What is being worked on is given up."""
        self._closed = True
        if self._watchdog is None:
            return
        self._watchdog.cancel()
        self._roster.refuse_all(_CLOSED)
        if not self._ready.done():
            self._ready.set_exception(WorkerStartError(_CLOSED))
        for worker in tuple(self._staff.values()):
            if worker.errand is not None and not worker.errand.over.done():
                worker.errand.over.set_exception(WorkerStartError(_CLOSED))
            self._kill(worker)
        if self._staff:
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await self._gone.wait()
            except TimeoutError:
                logger.error("%d worker processes have not disappeared.", len(self._staff))  # noqa: TRY400  # no fault of ours
        await asyncio.wait([self._watchdog])
        self._sampler.close()
        for keeper in self._leaving:
            keeper.join(1.0)

    # Handing out workers

    def next_number(self) -> int:
        """Return the number of the next request."""
        self._requests += 1
        return self._requests

    async def run_errand(self, doc_id: int, jobs: Callable[[], Iterable[J]], *, alone: bool = False) -> Errand[J]:
        """Wait for a worker, send it on an errand, and return the errand once it is over.

        Args:
            doc_id: The document that it is about first: a worker that has it open is the best one.
            jobs: Makes its jobs when there is a worker.
            alone: Whether a fresh worker is to do it, and nothing afterwards.

        Raises:
            WorkerStartError: When workers can no longer be started, or all are ended.
        """
        worker = await self._take(doc_id, fresh=alone)
        errand = Errand(tuple(jobs()), self._loop.create_future(), most_bytes=worker.keeper.request_bytes)
        self._give(worker, errand, alone=alone)
        try:
            await errand.over
        finally:
            if worker.errand is errand:  # the caller gave up: nobody else may ever get this worker's late answer
                self._kill(worker)
        return errand

    async def _take(self, doc_id: int, *, fresh: bool) -> Worker:
        """Wait for a worker."""
        while True:
            self._check()
            if not fresh and (worker := self._roster.take_idle(doc_id)) is not None:
                return worker
            caller = Caller(future=self._loop.create_future(), doc_id=doc_id, fresh=fresh)
            self._roster.wait(caller)
            self._serve()
            try:
                promised = await caller.future
            except asyncio.CancelledError:
                self._roster.leave(caller)
                if caller.future.done() and not caller.future.cancelled() and caller.future.exception() is None:
                    self._release(caller.future.result())
                raise
            if promised.state is WorkerState.BUSY:  # it may have died since
                return promised

    def _check(self) -> None:
        if self._broken:
            raise WorkerStartError(self._broken)
        if self._closed or self._watchdog is None:
            raise WorkerStartError(_CLOSED)

    def _give(self, worker: Worker, errand: Errand[J], *, alone: bool) -> None:
        if not worker.begin(errand, self._clock(), alone=alone):
            errand.end(Failure(reason=Reason.WORKER_LOST), Mark())
            errand.over.set_result(False)
            worker.errand = None
            self._roster.take_out(worker)

    def _serve(self) -> None:
        """Give idle workers to callers, and make room for fresh ones where one is asked for."""
        if not self._roster.waiting:
            return
        coming = self._settings.flow.workers - self._roster.living
        if self._starts.refusal:  # none comes in addition; one that ends may make room for another
            coming = min(coming, len(self._roster.workers) - self._roster.living)
        for worker in self._roster.serve(coming=max(0, coming)):
            self._let_go(worker)

    def _release(self, worker: Worker) -> None:
        """Take a worker back from whoever had it."""
        if worker.state is not WorkerState.BUSY:
            return
        if worker.alone or worker.worn_out(self._settings):
            self._let_go(worker)
        else:
            self._roster.put_idle(worker)
        self._serve()

    # Starting and ending workers

    def _fill(self) -> None:
        """Start the workers that are missing, unless the last starts failed a moment ago."""
        for number in range(1, self._settings.flow.workers + 1):
            if self._closed or self._broken or not self._starts.allows(self._clock()):
                return
            if number not in self._roster.workers:
                self._hire(number)

    def _hire(self, number: int) -> None:
        if not self._sampler.start():  # no worker may live unmeasured
            self._start_failed(NO_THREAD)
            return
        address_space_bytes = self._settings.worker.address_space_bytes
        try:
            keeper = Keeper(self._staffing, name=f"worker-{number}", address_space_bytes=address_space_bytes)
        except OSError as error:  # no descriptor or no memory for its slot
            self._start_failed(StartFault.of(error))
            return
        try:
            keeper.start()
        except RuntimeError:
            keeper.slot.close()
            self._start_failed(NO_THREAD)
            return
        worker = Worker(
            number=number, keeper=keeper, address_space_bytes=address_space_bytes, watch=Watch(self._clock())
        )
        self._roster.workers[number] = worker
        self._staff[keeper] = worker

    def _let_go(self, worker: Worker) -> None:
        """Let a worker without an errand end by itself; it is replaced when it has."""
        self._roster.take_out(worker)
        worker.keeper.retire()

    def _kill(self, worker: Worker, failure: Failure | None = None) -> None:
        """End a worker at once, whatever it does."""
        self._roster.take_out(worker)
        worker.keeper.kill(failure)

    def _start_failed(self, fault: StartFault) -> None:
        most, living = self._settings.worker.max_start_failures, self._roster.living
        if fault.passing and not self._starts.refusal:
            logger.warning("A worker process could not be started (%s); %d live.", fault.words, living)
        sentence = self._starts.failed(fault, self._clock(), most, others=living > 0)
        if sentence:
            self._break(sentence)

    def _break(self, sentence: str) -> None:
        """Refuse all further work."""
        self._broken = self._broken or sentence
        self._roster.refuse_all(self._broken)
        if not self._ready.done():
            self._ready.set_exception(WorkerStartError(self._broken))

    # What keepers tell

    def _post(self, function: Callable[..., None], *args: object, **kwargs: object) -> None:
        try:
            self._loop.call_soon_threadsafe(functools.partial(function, *args, **kwargs))
        except RuntimeError:
            logger.debug("The event loop was closed before a worker had ended.")

    def on_ready(self, keeper: Keeper, posture: Posture) -> None:
        """Put a new worker to work."""
        worker = self._staff[keeper]
        worker.confined = posture.confined
        if self._settings.worker.require_sandbox and not posture.confined:
            self._kill(worker)
            self._break(
                "Worker processes cannot be confined as the settings require, so that no page is tried. What this "
                f"system gives: {posture.sandbox}. Use a system that has what is missing, or no longer require the "
                "sandbox: the run then goes on with what there is, and the audit log says so."
            )
            return
        self._starts.succeeded()
        if not self._ready.done():
            self._ready.set_result(posture)
        if worker.state is WorkerState.STARTING:
            worker.state = WorkerState.BUSY
            self._release(worker)
            self._fill()

    def on_done(self, keeper: Keeper, errand: Errand[Any], *, begun: bool, alive: bool) -> None:
        """Give an errand's outcome to whoever waits for it, and take the worker back."""
        worker = self._staff[keeper]
        worker.spend(self._clock(), errand.settled[-1], self._times)
        worker.pages_done += errand.pages
        worker.errand = None
        if not errand.over.done():
            errand.over.set_result(begun)
        if alive and errand.spoiled and worker.state is WorkerState.BUSY:
            self._let_go(worker)
        elif alive:
            self._release(worker)
        else:
            self._roster.take_out(worker)

    def on_ended(self, keeper: Keeper, fault: StartFault) -> None:
        """Replace a worker that is gone."""
        worker = self._staff.pop(keeper)
        self._leaving = [one for one in self._leaving if not one.join(0.0)]
        self._leaving.append(keeper)
        keeper.slot.close()
        starting = worker.state is WorkerState.STARTING
        self._roster.take_out(worker)
        del self._roster.workers[worker.number]
        if fault.words and starting and not self._closed:
            self._start_failed(fault)
        if not self._staff:
            self._gone.set()
        self._fill()
        self._serve()

    # The watchdog

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._tick_s)
            self._tick()

    def _on_watchdog_done(self, watchdog: "asyncio.Task[None]") -> None:
        if not watchdog.cancelled() and (error := watchdog.exception()) is not None:
            logger.error("The watchdog of the workers failed.", exc_info=error)
            self._break(
                "The clocks of the worker processes failed, which is a fault of this program; please report it."
            )

    def _tick(self) -> None:
        now_s = self._clock()
        for worker in tuple(self._roster.workers.values()):
            self._look_after(worker, now_s)
        self._tidy()
        self._fill()
        self._serve()

    def _look_after(self, worker: Worker, now_s: float) -> None:
        """Count a worker's time and end it where it has taken too much of anything."""
        if worker.state is WorkerState.STARTING:
            worker.watch.advance(now_s)
            if worker.watch.total_s > self._settings.clocks.start_s:
                worker.keeper.kill()
        elif worker.state is WorkerState.BUSY:
            failure = worker.overrun(now_s, self._settings, self._times)
            if failure is not None:
                self._kill(worker, failure)

    def _tidy(self) -> None:
        """Let go of idle workers that are worn out or too many."""
        for worker in self._roster.idle:
            if worker.worn_out(self._settings):
                self._let_go(worker)
