"""A session: one open case, its runs, and what can be done with them.

This is what a window or a terminal holds. It owns the case file, the threads that block for it, and the run; it
turns what people ask for (pause, resume, stop, other limits, an export) into calls of the layers below. Every method
is called on one event loop, whichever that is.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from engine.case.casefile import CaseFile
from engine.case.reader import CaseReader
from engine.errors import CaseError, EngineError, SourceError
from engine.flow.clock import Clock
from engine.flow.metrics import Metrics
from engine.heap import free_leftovers
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
from engine.pipeline.inputs import RunInputs, Threads
from engine.pipeline.run import Run
from engine.pipeline.seams import Extractor, Source
from engine.session.exports import Exports
from engine.session.threads import OwnThreads
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
        threads: What `case_threads` gave, where it was called before the case was opened; the session closes them.

    Raises:
        MachineError: When the system refuses the threads.
    """

    def __init__(
        self, case: CaseFile, *, settings: Settings, operator: str, parts: Parts, threads: OwnThreads | None = None
    ) -> None:
        self._case = case
        self._settings = settings
        self._operator = operator
        self._parts = parts
        self._info = case.info()
        self._counts = case.counts()
        self._paused = self._info.paused
        self._recovered = self._info.recovered
        self._reader: CaseReader | None = None
        self._threads = threads or case_threads()
        self._run: Run | None = None
        """The run that is going on, or the last one."""
        self._current: Run | None = None
        """The run that is going on."""
        self._exports = Exports(case.reader, self._note, self._threads["exporter"])
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
            memory_budget_bytes=self._settings.memory.in_force(self._usable_bytes),
            pages_per_s=0.0,
            mean_pages_per_s=0.0,
            bottleneck="",
        )

    async def run(self, sources: Sequence[Path] = (), *, attended: bool = False) -> RunSummary:
        """Run over sources, and over whatever earlier runs left, until finished or stopped.

        Args:
            sources: Folders and files to look for documents in; none: only go on with what was begun.
            attended: Whether somebody is there to call `resume` when the case cannot be written for a while. Then the
                run waits for that; else it ends.

        Returns:
            How it ended; an error that ended it early is in there as a sentence.

        Raises:
            SourceError: When a source cannot be used; then nothing was started.
            CaseError: When the case is read-only, or a run is going on.
        """
        self._check_runnable()
        self._ended.clear()
        self._stop_asked = None
        try:
            run = await self._prepare(tuple(path.absolute() for path in sources), attended=attended)
            self._replace_run(run)
            self._current = run
            if self._stop_asked is not None:
                self._stop_asked(run)
            self._last = await run.execute()
            return self._last
        finally:
            await self._settle()

    async def _prepare(self, given: tuple[Path, ...], *, attended: bool) -> Run:
        # Looking at a source touches its disk, which may be a share that does not answer.
        wanted, roots = await self._on("lister", lambda: self._usable_sources(given))
        source = await self._on("lister", lambda: self._parts.source(wanted)) if wanted else None
        recovered, self._recovered = self._recovered, False
        return Run(
            RunInputs(
                store=self._case,
                threads=Threads(**{name: self._threads[name] for name in _RUN_THREADS}),
                extractor=self._parts.extractor(self._settings),
                source=source,
                sources=tuple(map(os.fsencode, wanted)),
                roots=tuple(dict.fromkeys([*self._info.roots, *roots])),
                folder=self._info.path.absolute().parent,
                settings=self._settings,
                counts=self._counts,
                operator=self._operator,
                paused=self._paused,
                was_paused=self._info.paused,
                resumed=self._counts.audit_records > 0,
                recovered=recovered,
                clock=self._parts.clock,
                random=self._parts.random,
                attended=attended,
            )
        )

    def pause(self) -> None:
        """Hold admission at once; the pause lasts until `resume`, over a restart of the program too."""
        self._paused = True
        if self._current is not None:
            self._current.pause()

    def resume(self) -> None:
        """Let go of the pause."""
        self._paused = False
        if self._current is not None:
            self._current.resume()

    def stop(self) -> None:
        """Admit nothing more, drain, commit, and leave a case that can be resumed."""
        self._ask(Run.stop)

    def cancel(self) -> None:
        """Stop without draining: what workers have in hand stays pending; results they gave are kept."""
        self._ask(Run.cancel)

    def apply(self, settings: Settings) -> None:
        """Take over other settings: at once where a run is going on, with an audit record of each change.

        Between runs nothing is recorded: the next run begins with a record of all its settings.
        """
        if self._current is not None:
            self._current.apply(settings)
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

    async def export_audit(self, out: Path, *, as_it_is: bool = False) -> ExportReport:
        """Write the audit log to a file, verified before it stands under its name; the export is itself recorded.

        Args:
            out: The file.
            as_it_is: Whether to write a log that does not verify all the same.

        Raises:
            ExportError: When it could not be written; then nothing new stands under that name.
            CaseDamagedError: When it does not verify; then nothing is exported.
            StorageError: When the record of the export could not be written.
        """
        self._check_open()
        return await self._exports.audit(out, as_it_is=as_it_is)

    async def export_text(self, folder: Path) -> TextReport:
        """Write the texts to a folder, one file per document; the export is itself recorded.

        Raises:
            ExportError: When it could not be written.
            StorageError: When the record of the export could not be written.
        """
        self._check_open()
        return await self._exports.text(folder)

    async def close(self) -> None:
        """Stop the run if there is one, wait for its end, close the case, and let go of what the run held."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        await self._ended.wait()
        await self._exports.wait()
        try:
            await self._on("reader", self._close_reader)
            await self._on("writer", self._case.close)
        finally:
            # These two are idle now. The others may be stuck in a disk that does not answer: they are left to it.
            self._threads.close(wait_for=("writer", "reader"))
            self._replace_run(None)

    def _replace_run(self, run: Run | None) -> None:
        """Put another run, or none, in the place of the last one, and free that.

        The parts of a run call one another, and so none of them, nor its charts' figures, would go by itself.
        """
        earlier, self._run = self._run, run
        if earlier is not None:
            del earlier
            free_leftovers()

    def _ask(self, stop: Callable[[Run], None]) -> None:
        """Have a run stopped, one that is just being prepared too."""
        self._stop_asked = stop
        if self._current is not None:
            stop(self._current)

    async def _settle(self) -> None:
        """Leave a run behind, whatever ended it, so that another one can begin and the case can be closed."""
        run, self._current = self._current, None
        if run is not None:
            self._counts, self._settings = run.counts, run.settings
        try:
            self._info = await self._on("reader", self._case.info)
        except EngineError:
            return  # what was known stays; whatever is wrong with the file is said when it is used
        finally:
            self._ended.set()

    def _check_runnable(self) -> None:
        if not self._ended.is_set():
            raise CaseError("A run of this case is already going on. Stop it, or wait for its end.")
        self._check_open()
        if self._info.read_only:
            raise CaseError(f"This case is open read-only, so that nothing can be run in it. {self._info.note}".strip())

    def _check_open(self) -> None:
        if self._closed:
            raise CaseError(_CLOSED)

    def _usable_sources(self, given: tuple[Path, ...]) -> tuple[tuple[Path, ...], tuple[bytes, ...]]:
        """Return what to look through: the sources given, and those that no run has looked through wholly; their roots.

        One of the latter that is not there is left for another run, which the counts show; blocking.

        Raises:
            SourceError: When a given one cannot be used.
        """
        if given:
            self._parts.source(given)
        elif not self._info.sources:
            raise SourceError(
                "This case does not know yet what to look through: it ended before anything was begun. Name the folder "
                "again."
            )
        left = (Path(os.fsdecode(path)) for path in self._info.unfinished_sources)
        # Unlike `Path.exists`, this is false, and no error, for a share that has died or lies behind a closed folder.
        there = (path for path in left if os.path.exists(path))  # noqa: PTH110  # see above
        wanted = tuple(dict.fromkeys([*given, *there]))
        return wanted, tuple(os.fsencode(_folder_of(path)) for path in wanted)

    async def _note(self, fact: Noted) -> None:
        if self._info.read_only:
            return
        if self._current is not None and await self._current.record(fact) is not None:
            return
        receipt = await self._on("writer", lambda: self._case.commit([fact]))
        self._counts = receipt.counts
        if self._run is not None:
            self._run.counts = receipt.counts

    async def _read(self, ask: Callable[[CaseReader], T]) -> T:
        self._check_open()

        def answer() -> T:
            if self._reader is None:
                self._reader = self._case.reader()
            return ask(self._reader)

        return await self._on("reader", answer)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()

    async def _on(self, thread: str, call: Callable[[], T]) -> T:
        return await self._threads.on(thread, call)


def case_threads() -> OwnThreads:
    """Start all threads that a session needs, for itself and for its runs.

    Raises:
        MachineError: When the system refuses one.
    """
    return OwnThreads("case", *_RUN_THREADS, "exporter")


_RUN_THREADS = tuple(item.name for item in fields(Threads))
_CLOSED = "This case has been closed. Open it again to go on with it."


def _folder_of(source: Path) -> Path:
    """Return the folder below which a source's documents lie; blocking."""
    real = source.resolve()
    return real if real.is_dir() else real.parent


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
