"""The run: joins source, flow, workers and case into one pass, and brings it to an end in the right order.

Start: the commit lane before any producer. End, when everything is accounted for or a stop was asked for: no new
files, no new probes, no new admissions; the lane drains; the last facts are committed; the workers end. The case's
counts, as of the last commit, are the only truth about what is done.
"""

import asyncio
from collections.abc import Sequence

from engine.errors import EngineError, StorageError
from engine.flow.bottleneck import Bottleneck, Words
from engine.flow.line import FlowClosed
from engine.flow.metrics import Metrics
from engine.models.document import Posture
from engine.models.facts import DocumentFailed, Fact, PagesDone, Receipt
from engine.models.flow import GateChange, StageStatistics
from engine.models.outcome import HoldCause, RunState
from engine.models.run import RunSummary, Snapshot
from engine.pipeline import evidence
from engine.pipeline.activity import ActiveClock
from engine.pipeline.assembly import RunHooks, assemble, new_gate
from engine.pipeline.holds import STANDING, Holds
from engine.pipeline.inputs import RunInputs
from engine.pipeline.sentences import BUDGET_TOO_SMALL, FAULT, NOT_STARTED, OPENING, settling, stuck, unfinished
from engine.settings import Settings


class Run:
    """One pass over a case's sources.

    Args:
        inputs: What it works with.
    """

    def __init__(self, inputs: RunInputs) -> None:
        self._inputs = inputs
        self._now = inputs.clock.monotonic
        self.settings = inputs.settings
        self.counts = inputs.counts
        self._already_done = inputs.counts.documents.terminal
        self.metrics = Metrics(started_at_s=self._now())
        self._clock = ActiveClock(self._now)
        self._posture: Posture | None = None
        self._pages_done = 0
        self._enumerating = inputs.source is not None
        self._admitting = False
        self._stopping = False
        self._ended: RunState | None = None
        self._error = ""
        self._lasting_error = ""
        self._ending = asyncio.Event()
        self._begun = False
        self._work_task: asyncio.Task[None] | None = None
        gate = new_gate(inputs)
        self._holds = Holds(gate, self._clock, self._gate_changed)
        parts = assemble(
            inputs,
            gate=gate,
            holds=self._holds,
            clock=self._clock,
            metrics=self.metrics,
            hooks=RunHooks(
                settings=lambda: self.settings,
                pages_done=lambda: self._pages_done,
                committed=self._committed,
                storage_changed=self._storage_changed,
                note=self._note,
                settled=self._end_when_done,
                relieve=self._relieve,
            ),
        )
        self._stage, self._commits, self._sources = parts.stage, parts.commits, parts.sources
        self._scheduler, self._prober, self._feeder = parts.scheduler, parts.prober, parts.feeder
        self._enumerator, self._monitor, self._suspicion = parts.enumerator, parts.monitor, parts.suspicion
        self._bottleneck = Bottleneck(self._now, words=Words(items="pages", taker="the disk"))
        if inputs.paused:
            self.pause()

    @property
    def state(self) -> RunState:
        """Where the run stands."""
        if self._ended is not None:
            return self._ended
        if self._stopping:
            return RunState.STOPPING
        if self._holds.has(HoldCause.STORAGE):
            return RunState.PAUSED  # what is in flight is done or waits, and will be written when it can be
        if self._holds.has(HoldCause.USER):
            return RunState.PAUSING if self._in_flight or self._prober.probing else RunState.PAUSED
        return RunState.RUNNING

    @property
    def _in_flight(self) -> int:
        return self._stage.in_flight

    def pause(self) -> None:
        """Hold admission at once; what is in flight finishes. The pause outlasts the program."""
        self._holds.set(HoldCause.USER, True)

    def resume(self) -> None:
        """Let go of the pause, and try again to write the case where that failed."""
        self._holds.set(HoldCause.USER, False)
        self._commits.try_again()

    def stop(self) -> None:
        """Admit nothing more, drain for a few seconds, commit and end; what is pending stays so."""
        if self._enumerator is not None:
            self._enumerator.stop()
        self._stopping = True
        self._ending.set()
        self._commits.give_up()

    def cancel(self) -> None:
        """End without draining the queue: what workers have in hand is dropped and stays pending; results are kept."""
        self.stop()
        if self._work_task is not None:
            self._work_task.cancel()

    def apply(self, settings: Settings) -> None:
        """Take over other settings; each change becomes an audit record with old and new value."""
        for change in evidence.settings_changed(self.settings, settings):
            self._note(change)
        self.settings = settings
        self._stage.apply(settings.flow)
        self._inputs.extractor.apply(settings)

    def snapshot(self) -> Snapshot:
        """Return what there is to show now."""
        statistics = self._stage.statistics()
        trouble = self._inputs.extractor.trouble
        return Snapshot(
            state=self.state,
            counts=self.counts,
            enumerating=self._enumerating,
            active_s=self._clock.active_s,
            in_flight=self._in_flight,
            stage=statistics,
            rss_tree_bytes=self._monitor.memory.tree,
            rss_main_bytes=self._monitor.memory.main,
            memory_budget_bytes=self._monitor.budget_bytes,
            pages_per_s=self._monitor.pages_per_s,
            mean_pages_per_s=self._monitor.mean_pages_per_s,
            bottleneck=trouble or self._explain(statistics),
            workers=self._inputs.extractor.views(),
            posture=self._posture,
            error=self._error,
            trouble=trouble,
        )

    def _explain(self, statistics: StageStatistics) -> str:
        if self._suspicion.stuck and not any(self._holds.has(cause) for cause in STANDING):
            return stuck(self.settings.clocks.page_s)
        if self._prober.settling and not self._in_flight and not self._prober.probing and self._scheduler.empty:
            return settling(self._prober.settling)
        sentence = self._bottleneck.explain(statistics, exhausted=self._exhausted)
        if self._prober.probing >= self.settings.flow.workers and not statistics.queue_depth and not statistics.holds:
            return OPENING  # the stage sees workers without work; they have it elsewhere
        return sentence

    async def execute(self) -> RunSummary:
        """Run until everything is accounted for, or until stopped.

        Returns:
            How it ended; an error that ended it early is in there as a sentence.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                committing = tasks.create_task(self._commits.run(), name="commits")
                try:
                    await self._execute()
                finally:
                    self._commits.close()
                    # Whatever ended the run: results that wait are committed before the lane may be cancelled.
                    await asyncio.wait([committing])
        except* EngineError as group:
            self._error = _first(group).user_message
        finally:
            self._clock.stop()
            self._ended = RunState.FINISHED if self._finished else RunState.INCOMPLETE
            await self._inputs.extractor.close()
        return self._summary()

    async def record(self, fact: Fact) -> Receipt | None:
        """Have something committed in its turn that is not the run's own; None when the run takes nothing more.

        Raises:
            StorageError: When it could not be written.
        """
        return None if self._commits.ended else await self._commits.commit(fact)

    async def _execute(self) -> None:
        foreseen = False
        try:
            if self._inputs.sources:
                # Before anything that takes time: a run that is killed while workers start must be found again.
                await self._commits.commit(evidence.sources_named(self._inputs.sources))
            posture = await self._start_workers()
            await self._begin(posture)
            if not self._stopping:
                async with asyncio.TaskGroup() as tasks:
                    self._work_task = tasks.create_task(self._work(), name="work")
            self._error = self._lasting_error
            foreseen = True
        except* EngineError as group:
            self._error = _first(group).user_message
            foreseen = True
        finally:
            if not foreseen:
                self._error = FAULT
            if not self._commits.failed:
                if not self._begun:
                    await self._begin(None)
                await self._finish()

    async def _start_workers(self) -> Posture | None:
        """Start the workers, unless the run is stopped before they are there."""
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(self._inputs.extractor.start(), name="start-workers")
            stopping = tasks.create_task(self._ending.wait(), name="stop-before-the-start")
            await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
            starting.cancel()
            stopping.cancel()
        return None if starting.cancelled() else starting.result()

    async def _begin(self, posture: Posture | None) -> None:
        """Record that the run began; what was asked for before that (a pause, other settings) is in effect already."""
        self._posture = posture
        started = evidence.run_started(
            self.settings,
            posture or NOT_STARTED,
            operator=self._inputs.operator,
            resumed=self._inputs.resumed,
        )
        self._begun = True
        self._commits.note(started)
        if self._inputs.resumed:
            left = self.counts
            self._commits.note(
                evidence.resumed(
                    documents=left.documents.pending, pages=left.pages.pending, recovered=self._inputs.recovered
                )
            )
        held = self._holds.has(HoldCause.USER)
        if held != self._inputs.was_paused:
            self._commits.note(evidence.paused(held))
        await self._sources.begin()

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            watches = [
                tasks.create_task(self._monitor.run(), name="monitor"),
                tasks.create_task(self._sources.run(), name="source-watch"),
            ]
            lane = tasks.create_task(self._stage.run(), name="text-lane")
            admission = tasks.create_task(self._admit(), name="admission")
            producers = [
                tasks.create_task(self._prober.run(), name="prober"),
                tasks.create_task(self._feeder.run(self._end_when_done), name="feeder"),
                tasks.create_task(self._enumerate(), name="enumerator"),
            ]
            await self._ending.wait()
            self._scheduler.close()
            for task in (*producers, admission):
                task.cancel()
            await asyncio.wait([*producers, admission])
            self._stage.close()
            await self._drain(lane)
            self._monitor.finish()
            for watch in watches:
                watch.cancel()

    async def _drain(self, lane: asyncio.Task[None]) -> None:
        """Wait for what is in flight; after a stop, not for ever: what takes longer is dropped and stays pending."""
        _, slow = await asyncio.wait([lane], timeout=self._inputs.stop_grace_s if self._stopping else None)
        if slow:
            lane.cancel()
            await asyncio.wait([lane])

    async def _finish(self) -> None:
        state = RunState.FINISHED if self._finished else RunState.INCOMPLETE
        if state is RunState.INCOMPLETE and not self._stopping and not self._error:
            self._error = unfinished(self.counts)
        await self._commits.commit(evidence.reconciled())
        await self._commits.commit(evidence.run_ended(state, elapsed_s=self._clock.elapsed_s))

    @property
    def _finished(self) -> bool:
        return not self._enumerating and self.counts.reconciled and not self._error

    async def _enumerate(self) -> None:
        if self._enumerator is not None:
            await self._enumerator.run()
            if self._stopping:
                return  # it may have been cut short: the case does not know all files yet
            await self._commits.commit(evidence.enumerated(self._inputs.sources))
        self._enumerating = False
        self._feeder.wake()

    async def _admit(self) -> None:
        while (span := await self._scheduler.next()) is not None:
            self._admitting = True
            try:
                await self._stage.admit(span)
            except FlowClosed:
                return  # the lane failed; its error ends the run
            finally:
                self._admitting = False

    def _committed(self, receipt: Receipt, facts: Sequence[Fact]) -> None:
        self.counts = receipt.counts
        for fact in facts:
            if isinstance(fact, PagesDone):
                self._pages_done += len(fact.results)
                if fact.admitted:
                    self._stage.complete(len(fact.results))
            elif isinstance(fact, DocumentFailed):
                self._prober.failure_committed(fact.doc_id)
        if receipt.new_pending:
            self._feeder.wake()
        self._end_when_done()

    def _end_when_done(self) -> None:
        """End the run where nothing is left that could still produce an outcome."""
        if self._exhausted and self._in_flight == 0 and self._commits.idle:
            self._ending.set()

    @property
    def _exhausted(self) -> bool:
        """Whether nothing waits to be admitted; what is in flight may still come back to be tried again."""
        return (
            not self._enumerating
            and self._feeder.exhausted
            and self._prober.idle
            and self._scheduler.empty
            and not self._admitting
        )

    def _storage_changed(self, trouble: StorageError | None) -> None:
        """Hold while the case cannot be written; what could not be written is kept."""
        self._error = "" if trouble is None else trouble.user_message
        self._holds.set(HoldCause.STORAGE, trouble is not None)

    def _gate_changed(self, change: GateChange) -> None:
        self.metrics.note(change)
        self._note(evidence.gate_changed(change))

    def _note(self, fact: Fact) -> None:
        """Record something, unless the run has not begun (then `_begin` does) or nothing is taken any more."""
        if self._begun and not self._commits.failed and not self._commits.ended:
            self._commits.note(fact)

    def _relieve(self) -> None:
        """Have memory given back; where nothing is left to give and nothing in flight, the budget is too small."""
        if self._in_flight or self._prober.probing:
            return
        if not self._inputs.extractor.relieve() and not self._stopping:
            self._lasting_error = BUDGET_TOO_SMALL
            self.stop()

    def _summary(self) -> RunSummary:
        statistics: StageStatistics = self._stage.statistics()
        elapsed_s = self._clock.elapsed_s
        return RunSummary(
            state=self.state,
            counts=self.counts,
            elapsed_s=elapsed_s,
            pages_per_s=self._pages_done / elapsed_s if elapsed_s > 0 else 0.0,
            peak_rss_bytes=self._monitor.peak,
            max_queue_depth=statistics.max_queue_depth,
            max_permits_held=statistics.max_permits_held,
            holds=dict(self._holds.count),
            already_done_documents=self._already_done,
            error=self._error,
        )


def _first(group: BaseExceptionGroup[EngineError]) -> EngineError:
    for error in group.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    raise AssertionError("an exception group is never empty")
