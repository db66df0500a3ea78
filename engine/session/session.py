"""A session: one open case, its runs, and what can be done with them.

This is what a window or a terminal holds. It owns the case file, the threads that block for it, and the run; it
turns what people ask for (pause, resume, stop, other limits, an export) into calls of the layers below. Every method
is called on one event loop, whichever that is.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.reader import CaseReader
from engine.case.texts import export_text
from engine.case.verify import verify_file
from engine.errors import CaseError
from engine.flow.clock import Clock
from engine.flow.metrics import Metrics
from engine.machine import usable_memory_bytes
from engine.models.facts import Noted
from engine.models.flow import StageStatistics
from engine.models.outcome import RunState
from engine.models.run import (
    CaseInfo,
    DeadLetterRow,
    DocumentRow,
    ExportReport,
    RunSummary,
    Snapshot,
    TextReport,
)
from engine.pipeline import evidence
from engine.pipeline.inputs import RunInputs, Threads
from engine.pipeline.resources import budget_bytes
from engine.pipeline.run import Run
from engine.pipeline.seams import Extractor, Source
from engine.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a session is made of besides the case: each can be another one in a test, or on another system."""

    extractor: Callable[[Settings], Extractor]
    """Makes what turns documents into pages, for one run."""
    source: Callable[[Sequence[Path]], Source]
    """Makes what finds documents; raises `SourceError` for what cannot be one."""
    clock: Clock
    random: Callable[[], float]
    """Uniform between 0 and 1; spreads retries."""


class Session:
    """One open case.

    Args:
        case: The open case file; the session closes it.
        settings: Limits and preferences for its runs.
        operator: Who works with it, as the audit log states it.
        parts: What runs are made of.
    """

    def __init__(self, case: CaseFile, *, settings: Settings, operator: str, parts: Parts) -> None:
        self._case = case
        self._settings = settings
        self._operator = operator
        self._parts = parts
        self._info = case.info()
        self._counts = case.counts()
        self._paused = self._info.paused
        self._reader: CaseReader | None = None
        self._threads = {
            name: ThreadPoolExecutor(1, f"case-{name}") for name in ("writer", "reader", "lister", "sampler")
        }
        self._run: Run | None = None
        self._last: RunSummary | None = None
        self._idle_metrics = Metrics(started_at_s=parts.clock.monotonic())
        self._ended = asyncio.Event()
        self._ended.set()
        self._closed = False
        self._stop_asked: Callable[[Run], None] | None = None
        self._usable_bytes = usable_memory_bytes()

    def __repr__(self) -> str:
        return f"<Session {self._info.path.name} {self.state}>"

    @property
    def info(self) -> CaseInfo:
        """What identifies the case."""
        return self._info

    @property
    def settings(self) -> Settings:
        """Limits and preferences in force."""
        return self._settings

    @property
    def state(self) -> RunState:
        """Where the case's run stands; between runs, whether something is left to do."""
        if self._run is not None:
            return self._run.state
        return RunState.IDLE if self._last is None else self._last.state

    @property
    def metrics(self) -> Metrics:
        """The charts' figures: of this run, or of the last one."""
        return self._idle_metrics if self._run is None else self._run.metrics

    def snapshot(self) -> Snapshot:
        """Return everything that there is to show now."""
        if self._run is not None:
            return self._run.snapshot()
        return Snapshot(
            state=self.state,
            counts=self._counts,
            enumerating=False,
            active_s=0.0,
            in_flight=0,
            stage=_idle_stage(self._settings),
            rss_tree_bytes=0,
            rss_main_bytes=0,
            memory_budget_bytes=budget_bytes(self._settings.memory, self._usable_bytes),
            pages_per_s=0.0,
            mean_pages_per_s=0.0,
            bottleneck="",
        )

    async def run(self, sources: Sequence[Path] = ()) -> RunSummary:
        """Run over sources, and over whatever earlier runs left, until finished or stopped.

        Args:
            sources: Folders and files to look for documents in; none: only go on with what was begun.

        Returns:
            How it ended; an error that ended it early is in there as a sentence.

        Raises:
            SourceError: When a source cannot be used; then nothing was started.
            CaseError: When the case is read-only, or a run is going on.
        """
        self._check_runnable()
        wanted = self._sources_of(sources)
        self._ended.clear()
        self._stop_asked = None
        try:
            # Looking at a source touches its disk, which may be a share that does not answer.
            source = await self._on("lister", lambda: self._parts.source(wanted) if wanted else None)
        except BaseException:
            self._ended.set()
            raise
        self._run = Run(
            RunInputs(
                store=self._case,
                threads=Threads(**self._threads),
                extractor=self._parts.extractor(self._settings),
                source=source,
                sources=tuple(map(os.fsencode, wanted)),
                folder=self._info.path.absolute().parent,
                settings=self._settings,
                counts=self._counts,
                operator=self._operator,
                paused=self._paused,
                was_paused=self._info.paused,
                resumed=self._counts.audit_records > 0,
                clock=self._parts.clock,
                random=self._parts.random,
            )
        )
        try:
            if self._stop_asked is not None:
                self._stop_asked(self._run)
            self._last = await self._run.execute()
            return self._last
        finally:
            self._settle(self._run)

    def pause(self) -> None:
        """Hold admission at once; the pause lasts until `resume`, over a restart of the program too."""
        self._paused = True
        if self._run is not None:
            self._run.pause()

    def resume(self) -> None:
        """Let go of the pause."""
        self._paused = False
        if self._run is not None:
            self._run.resume()

    def stop(self) -> None:
        """Admit nothing more, drain, commit, and leave a case that can be resumed."""
        self._ask(Run.stop)

    def cancel(self) -> None:
        """Stop without draining: what workers have in hand stays pending; results they gave are kept."""
        self._ask(Run.cancel)

    def apply(self, settings: Settings) -> None:
        """Take over other settings, at once where a run is going on; each change is an audit record."""
        if self._run is not None:
            self._run.apply(settings)
        self._settings = settings

    async def document_rows(self, first: int, limit: int) -> Sequence[DocumentRow]:
        """Return rows of the manifest.

        Args:
            first: Number of the first row, from 1.
            limit: Most rows.
        """
        return await self._read(lambda reader: reader.document_rows(first, limit))

    async def dead_letter_rows(self, first: int, limit: int) -> Sequence[DeadLetterRow]:
        """Return dead letters.

        Args:
            first: Number of the first, from 1.
            limit: Most rows.
        """
        return await self._read(lambda reader: reader.dead_letter_rows(first, limit))

    async def export_audit(self, out: Path) -> ExportReport:
        """Write the audit log to a file and verify what was written; the export is itself recorded.

        Raises:
            ExportError: When it could not be written; then nothing stands under that name.
            StorageError: When the record of the export could not be written.
        """

        def export() -> ExportReport:
            with self._case.reader() as reader:
                records, head = export_audit(reader, out)
            return ExportReport(path=out, records=records, head=head, verified=verify_file(out, expect_head=head))

        report = await asyncio.get_running_loop().run_in_executor(None, export)
        await self._note(evidence.exported("audit", records=report.records, head=report.head))
        return report

    async def export_text(self, folder: Path) -> TextReport:
        """Write the texts to a folder, one file per document; the export is itself recorded.

        Raises:
            ExportError: When it could not be written.
            StorageError: When the record of the export could not be written.
        """

        def export() -> TextReport:
            with self._case.reader() as reader:
                return export_text(reader, folder)

        report = await asyncio.get_running_loop().run_in_executor(None, export)
        await self._note(evidence.exported("text", records=report.pages))
        return report

    async def close(self) -> None:
        """Stop the run if there is one, wait for its end, and close the case."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        await self._ended.wait()
        await self._on("reader", self._close_reader)
        await self._on("writer", self._case.close)
        for executor in self._threads.values():
            executor.shutdown()

    def _ask(self, stop: Callable[[Run], None]) -> None:
        """Have a run stopped, one that is just being prepared too."""
        self._stop_asked = stop
        if self._run is not None:
            stop(self._run)

    def _settle(self, run: Run) -> None:
        self._counts = run.counts
        self._settings = run.settings
        self._info = self._case.info()
        self._ended.set()

    def _check_runnable(self) -> None:
        if not self._ended.is_set():
            raise CaseError("A run of this case is already going on. Stop it, or wait for its end.")
        if self._closed:
            raise CaseError("This case has been closed. Open it again to go on with it.")
        if self._info.read_only:
            raise CaseError(f"This case is open read-only, so that nothing can be run in it. {self._info.note}".strip())

    def _sources_of(self, sources: Sequence[Path]) -> tuple[Path, ...]:
        """Return the sources to look through: those given, and those that no run has looked through wholly."""
        unfinished = (Path(os.fsdecode(path)) for path in self._info.unfinished_sources)
        return tuple(dict.fromkeys([*(path.absolute() for path in sources), *unfinished]))

    async def _note(self, fact: Noted) -> None:
        if self._info.read_only:
            return
        receipt = await self._on("writer", lambda: self._case.commit([fact]))
        self._counts = receipt.counts
        if self._run is not None:
            self._run.counts = receipt.counts

    async def _read(self, ask: Callable[[CaseReader], T]) -> T:
        def answer() -> T:
            if self._reader is None:
                self._reader = self._case.reader()
            return ask(self._reader)

        return await self._on("reader", answer)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()

    async def _on(self, thread: str, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads[thread], call)


def _idle_stage(settings: Settings) -> StageStatistics:
    flow = settings.flow
    return StageStatistics(
        queue_depth=0,
        max_queue=flow.max_queue,
        hi=flow.hi,
        lo=flow.lo,
        permits_held=0,
        permits=flow.permits,
        tokens=None if flow.rate_per_s is None else float(flow.burst),
        workers=flow.workers,
        workers_busy=0,
        holds=(),
        producer_blocked_s=0.0,
        blocked_on=None,
        blocked_for_s=0.0,
        consumer_latency_ms=0.0,
        admitted=0,
        completed=0,
        max_queue_depth=0,
        max_permits_held=0,
    )
