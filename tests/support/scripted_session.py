"""A session that does what a test tells it, for tests of the window's own behaviour.

It fits the window's protocol and keeps the engine's manners: pausing is at once, `run` returns when it is finished or
stopped, errors are `EngineError`. Tests of what the engine does use the engine.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine import (
    CaseInfo,
    Counts,
    DeadLetterRow,
    Directories,
    DocumentRow,
    EngineError,
    ExportReport,
    Hold,
    HoldCause,
    HoldMark,
    MetricSample,
    PeakMemory,
    Reason,
    RowState,
    RunState,
    RunSummary,
    Settings,
    Snapshot,
    StageStatistics,
    Tally,
    TextReport,
    VerifyReport,
)

HEAD = "0123456789abcdef" * 4


async def until(condition: Callable[[], object], *, limit_s: float = 60.0) -> None:
    """Wait until a condition holds that other code on the loop brings about.

    Args:
        condition: Asked again and again.
        limit_s: When to give up: a bound, so that a hang is a failure, even where Qt swallows what interrupts it.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + limit_s
    while not condition():  # what is waited for is Qt's or a thread's doing, without an event
        assert loop.time() < end_s, "what is waited for does not come"
        await asyncio.sleep(0.001)


class ScriptedMetrics:
    """Metrics of nothing."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, window_s: float | None, points: int) -> Sequence[MetricSample]:  # noqa: ARG002  # the protocol's
        """Return no samples, and count the call."""
        self.reads += 1
        return ()

    def holds(self, window_s: float | None) -> Sequence[HoldMark]:  # noqa: ARG002  # the protocol's
        """Return no holds."""
        return ()

    def rss_slope_bytes_per_s(self) -> float | None:
        """Return that it is too early to tell."""
        return None


@dataclass
class ScriptedSession:
    """A case with documents that are never really there.

    Attributes:
        calls: What was asked of it, in order.
        snapshots: How often a snapshot was pulled.
        refuse: Raised by the next call that may fail.
        hold_export: While set, an export waits for this event.
        hold_close: While set, `close` waits for this event.
    """

    info: CaseInfo
    settings: Settings = field(default_factory=Settings)
    state: RunState = RunState.IDLE
    counts: Counts = field(default_factory=Counts)
    metrics: ScriptedMetrics = field(default_factory=ScriptedMetrics)
    calls: list[str] = field(default_factory=list)
    snapshots: int = 0
    refuse: EngineError | None = None
    hold_export: asyncio.Event | None = None
    hold_close: asyncio.Event | None = None
    rows: list[DocumentRow] = field(default_factory=list)
    dead: list[DeadLetterRow] = field(default_factory=list)
    in_flight: int = 12
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def snapshot(self) -> Snapshot:
        """Return the case as the test has made it."""
        self.snapshots += 1
        held = self.state in {RunState.PAUSING, RunState.PAUSED}
        flow = self.settings.flow
        stage = StageStatistics(
            queue_depth=5,
            max_queue=flow.max_queue,
            hi=flow.hi,
            lo=flow.lo,
            permits_held=self.in_flight,
            permits=flow.permits,
            tokens=None,
            workers=flow.workers,
            workers_busy=1,
            holds=(Hold(cause=HoldCause.USER, since_s=1.0),) if held else (),
            producer_blocked_s=0.0,
            blocked_on="gate" if held else None,
            blocked_for_s=0.0,
            consumer_latency_ms=1.0,
            admitted=100,
            completed=88,
            max_queue_depth=9,
            max_permits_held=20,
        )
        return Snapshot(
            state=self.state,
            counts=self.counts,
            enumerating=False,
            active_s=12.0,
            in_flight=self.in_flight,
            stage=stage,
            rss_tree_bytes=300_000_000,
            rss_main_bytes=100_000_000,
            memory_budget_bytes=1_000_000_000,
            pages_per_s=50.0,
            mean_pages_per_s=45.0,
            bottleneck="Workers are the bottleneck.",
        )

    async def run(self, sources: Sequence[Path] = (), *, attended: bool = False) -> RunSummary:
        """Run until the test ends it or somebody stops it."""
        self.calls.append(f"run {len(sources)}")
        self.attended = attended
        self._may_fail()
        self._ended.clear()
        self.state = RunState.RUNNING
        await self._ended.wait()
        return RunSummary(
            state=self.state,
            counts=self.counts,
            elapsed_s=1.0,
            pages_per_s=50.0,
            peak_rss_bytes=PeakMemory(),
            max_queue_depth=9,
            max_permits_held=20,
            holds={},
        )

    def finish(self, counts: Counts | None = None) -> None:
        """Let the run return, finished."""
        self.counts = counts or self.counts
        self.state = RunState.FINISHED
        self._ended.set()

    def let_go(self) -> None:
        """Hold nothing back any more."""
        for event in (self.hold_export, self.hold_close):
            if event is not None:
                event.set()

    def pause(self) -> None:
        """Hold at once."""
        self.calls.append("pause")
        self.state = RunState.PAUSING

    def resume(self) -> None:
        """Let go again."""
        self.calls.append("resume")
        if self.state in {RunState.PAUSING, RunState.PAUSED}:
            self.state = RunState.RUNNING

    def stop(self) -> None:
        """Let the run return, incomplete."""
        self.calls.append("stop")
        self.state = RunState.INCOMPLETE
        self._ended.set()

    def apply(self, settings: Settings) -> None:
        """Take over settings, unless told to refuse."""
        self.calls.append("apply")
        self._may_fail()
        self.settings = settings

    async def document_rows(self, first: int, limit: int) -> Sequence[DocumentRow]:
        """Return rows that the test made."""
        return self.rows[first - 1 : first - 1 + limit]

    async def dead_letter_rows(self, first: int, limit: int) -> Sequence[DeadLetterRow]:
        """Return dead letters that the test made."""
        return self.dead[first - 1 : first - 1 + limit]

    async def export_audit(self, out: Path) -> ExportReport:
        """Tell of an export that was not made."""
        self.calls.append(f"export {out.name}")
        if self.hold_export is not None:
            await self.hold_export.wait()
        self._may_fail()
        verified = VerifyReport(ok=True, records=12345, head=HEAD, problems=(), notes=())
        return ExportReport(path=out, records=12345, head=HEAD, verified=verified)

    async def export_text(self, folder: Path) -> TextReport:
        """Tell of an export that was not made."""
        self.calls.append(f"texts {folder.name}")
        self._may_fail()
        return TextReport(folder=folder, documents=3, pages=1)

    async def close(self) -> None:
        """Close, when the test lets it."""
        self.calls.append("close")
        if self.hold_close is not None:
            await self.hold_close.wait()
        self._may_fail()

    def _may_fail(self) -> None:
        error, self.refuse = self.refuse, None
        if error is not None:
            raise error


@dataclass
class ScriptedOpener:
    """Opens scripted sessions.

    Attributes:
        opened: The sessions, in order.
        refuse: Raised by the next call.
        prepare: The next session, or None for a fresh one.
    """

    opened: list[ScriptedSession] = field(default_factory=list)
    refuse: EngineError | None = None
    prepare: ScriptedSession | None = None
    directories: Directories | None = None

    async def __call__(
        self, path: Path, *, request_id: str | None, settings: Settings | None, directories: Directories
    ) -> ScriptedSession:
        """Open what the test prepared."""
        self.directories = directories
        error, self.refuse = self.refuse, None
        if error is not None:
            raise error
        session = self.prepare or ScriptedSession(case_info(path, request_id or "R-1"))
        self.prepare = None
        session.settings = settings or session.settings
        self.opened.append(session)
        return session


def case_info(path: Path, request_id: str = "R-1") -> CaseInfo:
    """Return what identifies a case."""
    return CaseInfo(path=path, case_id="c", request_id=request_id, created="2026-12-02T10:00:00+00:00", roots=())


def counts_of(extracted: int, *, dead: int = 0, pending: int = 0, audit_records: int = 10) -> Counts:
    """Return the counts of a case with one page a document."""
    tally = Tally(enumerated=extracted + dead + pending, extracted=extracted, dead_letter=dead)
    return Counts(
        documents=tally,
        pages=replace(tally),
        reasons={Reason.CORRUPT_PAGE: dead} if dead else {},
        audit_records=audit_records,
        audit_head=HEAD,
    )


def document_row(number: int, path: str) -> DocumentRow:
    """Return a row of the manifest that is not looked into yet."""
    return DocumentRow(
        doc_id=number,
        path=path,
        root="/source",
        size_bytes=1000,
        state=RowState.PENDING,
        page_count=None,
        pages_done=0,
        pages_dead=0,
        outcome=None,
        reason=None,
    )
