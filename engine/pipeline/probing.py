"""Probing: looks into documents ahead of the lane, so that the scheduler always has pages to admit.

Bounded by the scheduler's room. A document goes through here once a run: a worker hashes it and counts its pages,
the case decides whether its bytes are new, and its pages go to the scheduler; or its failure is committed.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from engine.models.document import (
    DocumentRef,
    Failure,
    OpenDocument,
    PageResult,
    PageUnit,
    Probe,
    Span,
    Strikes,
    document_label,
)
from engine.models.facts import DocumentFailed, DocumentProbed, PageRetried, PagesDone, ProbeDecision
from engine.models.outcome import Method, Outcome, Reason
from engine.pipeline.commits import CommitLane
from engine.pipeline.retries import RetryHeap
from engine.pipeline.retry import RetryPolicy
from engine.pipeline.scheduler import SpanScheduler, page_ranges
from engine.pipeline.seams import CaseStore, Extractor
from engine.pipeline.settling import Look
from engine.pipeline.upstream import Blame

PAGES_A_READ = 10_000
"""Page numbers of a resumed document read from the case at a time."""
_MOST_TOGETHER, _MOST_BYTES_TOGETHER = 16, 8 * 1024 * 1024
"""Most documents that one worker looks into at once, and how large they may be in all: as long as a span takes."""


@dataclass(frozen=True, slots=True)
class _Item:
    document: DocumentRef
    resumed: bool
    attempt: int = 1
    look: Look | None = None
    """What its file looked like last, where it may still be written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeHooks:
    """What the prober asks of and tells the run."""

    wait_clear: Callable[[], Awaitable[None]]
    """Waits until nothing but the watermark holds the gate: a pause stops probing, too."""
    concurrency: Callable[[], int]
    """How many workers may look into documents at once, now."""
    now: Callable[[], float]
    """The monotonic clock."""
    on_settled: Callable[[], None]
    """Told each time that a document left the prober."""
    blame: Callable[[Reason, bytes], Awaitable[Blame]]
    """Tells what a failure, for a reason, of a document (by its path) says about its source."""
    look: Callable[[bytes, Probe | Failure, Look | None], Awaitable[Look | Probe | Failure]]
    """Looks at the file of a document that was just probed: what was found, where it is final, or else a look."""


class Prober:
    """Probes documents and adds those to process to the scheduler.

    The mutable state (`_in_hand`, `_waiting`, `_retries`, `_probing`) changes only in synchronous steps on the loop.

    Args:
        extractor: Looks into documents.
        commits: Takes what was found.
        scheduler: Takes documents whose pages are to be processed.
        store: The case, asked for what an earlier run did to a document.
        reader: The case's thread for reading.
        policy: Which failures to try again.
        hooks: The run's side.
    """

    def __init__(
        self,
        *,
        extractor: Extractor,
        commits: CommitLane,
        scheduler: SpanScheduler,
        store: CaseStore,
        reader: Executor,
        policy: RetryPolicy,
        hooks: ProbeHooks,
    ) -> None:
        self._extractor = extractor
        self._commits = commits
        self._scheduler = scheduler
        self._store = store
        self._reader = reader
        self._policy = policy
        self._hooks = hooks
        self._in_hand: set[int] = set()
        self._waiting: deque[_Item] = deque()
        self._retries: RetryHeap[_Item] = RetryHeap(hooks.now)
        self._settling: set[int] = set()
        self._probing = 0
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Prober in_hand={len(self._in_hand)} probing={self._probing} retries={len(self._retries)}>"

    @property
    def idle(self) -> bool:
        """Whether no document is in hand."""
        return not self._in_hand

    @property
    def probing(self) -> int:
        """How many workers are looking into documents now."""
        return self._probing

    @property
    def settling(self) -> int:
        """How many documents are left alone because somebody may still be writing them."""
        return len(self._settling)

    def in_hand(self) -> frozenset[int]:
        """Return the numbers of the documents that were handed over and are not yet decided."""
        return frozenset(self._in_hand)

    async def hand_over(self, document: DocumentRef, *, resumed: bool = False, strikes: Strikes | None = None) -> None:
        """Take a document as soon as there is room.

        Args:
            document: What to look into.
            resumed: Whether an earlier run has already opened it, so that some of its pages may be done.
            strikes: What it has against it from earlier runs.

        Raises:
            StorageError: When the case can no longer be written.
        """
        await self._scheduler.reserve()
        self._in_hand.add(document.doc_id)
        struck = 0 if strikes is None else strikes.count
        if strikes is not None and self._policy.is_fatal(strikes):
            await self._commits.put(DocumentFailed(doc_id=document.doc_id, failure=TOOK_ALL_DOWN, attempt=struck))
            self._settle()
            return
        self._waiting.append(_Item(document, resumed, attempt=struck + 1))
        self._changed.set()

    async def run(self) -> None:
        """Probe what is handed over until cancelled.

        Raises:
            WorkerStartError: When workers can no longer be started.
            StorageError: When the case can no longer be written.
        """
        async with asyncio.TaskGroup() as probes:
            while True:
                await self._hooks.wait_clear()
                items = self._take()
                if not items:
                    self._changed.clear()
                    await self._wait_changed()
                    continue
                self._probing += 1
                first = document_label(items[0].document.doc_id)
                probes.create_task(self._probe(items, probes), name=f"probe-{first}-{len(items)}")

    def failure_committed(self, doc_id: int) -> None:
        """Let go of a document whose failure is on disk."""
        self._in_hand.discard(doc_id)

    def _take(self) -> list[_Item]:
        """Take what one worker is to look into; nothing where there is none, or nobody to do it."""
        free = self._hooks.concurrency() - self._probing
        if free <= 0:
            return []
        if not self._waiting:
            due = self._retries.take_due()
            return [] if due is None else [due]
        most = min(_MOST_TOGETHER, -(-len(self._waiting) // free))  # no worker is to stand idle for another's pile
        items, size_bytes = [self._waiting.popleft()], 0
        while len(items) < most:
            if items[-1].attempt > 1 or self._waiting[0].attempt > 1:
                break  # one under suspicion goes alone
            size_bytes += items[-1].document.size_bytes
            if size_bytes + self._waiting[0].document.size_bytes > _MOST_BYTES_TOGETHER:
                break
            items.append(self._waiting.popleft())
        return items

    async def _wait_changed(self) -> None:
        if self._probing < self._hooks.concurrency():
            await self._retries.wait(self._changed)
        else:
            await self._changed.wait()

    async def _probe(self, items: Sequence[_Item], probes: asyncio.TaskGroup) -> None:
        try:
            found = await self._extractor.probe([item.document for item in items])
        finally:
            self._probing -= 1
            self._changed.set()
        untried = [item for item, one in zip(items, found, strict=True) if one is None]
        self._waiting.extendleft(reversed(untried))
        for item, one in zip(items, found, strict=True):
            if one is None:
                continue  # others took too long for it; it is the first of the next ones
            if isinstance(one, Probe) and not (item.resumed or item.look or one.repaired):
                await self._take_over(item, one)
            else:  # this may take a while, for which the others need not wait
                label = document_label(item.document.doc_id)
                probes.create_task(self._judge(item, one), name=f"judge-{label}")

    async def _judge(self, item: _Item, found: Probe | Failure) -> None:
        """Take over what was found, unless the file is still being written."""
        final = await self._hooks.look(item.document.location, found, item.look)
        if isinstance(final, Look):
            self._settling.add(item.document.doc_id)
            self._again(replace(item, look=final), final.delay_s)  # it was no try
            return
        self._settling.discard(item.document.doc_id)
        await self._take_over(item, final)

    async def _take_over(self, item: _Item, found: Probe | Failure) -> None:
        if isinstance(found, Failure):
            await self._failed(item, found)
        elif item.resumed:
            await self._resume(item, found)
        else:
            await self._commits.put(
                DocumentProbed(doc_id=item.document.doc_id, probe=found),
                decided=lambda decision: self._decided(decision, item, found),
            )

    async def _failed(self, item: _Item, failure: Failure) -> None:
        doc_id = item.document.doc_id
        blame = await self._hooks.blame(failure.reason, item.document.location)
        if blame is Blame.SOURCE:
            self._again(item, 0.0)  # as soon as the source is back; it was no try
            return
        delay_s = self._policy.delay_s(
            failure.reason, item.attempt, lost=failure.reason.ends_worker, passing=blame is Blame.MOMENT
        )
        if delay_s is None:
            await self._commits.put(DocumentFailed(doc_id=doc_id, failure=failure, attempt=item.attempt))
            self._settle()
            return
        await self._commits.put(PageRetried(doc_id=doc_id, page=None, failure=failure, attempt=item.attempt))
        self._again(replace(item, attempt=item.attempt + 1), delay_s)

    def _again(self, item: _Item, delay_s: float) -> None:
        self._retries.add(item, delay_s)
        self._changed.set()

    def _decided(self, decision: ProbeDecision, item: _Item, probe: Probe) -> None:
        if decision.process:
            self._scheduler.add(_opened(item.document, probe), [range(1, probe.page_count + 1)])
        self._in_hand.discard(item.document.doc_id)
        self._settle()

    async def _resume(self, item: _Item, probe: Probe) -> None:
        """Add what an earlier run left: the pages without terminal record, those with strikes alone."""
        doc_id = item.document.doc_id
        decided: asyncio.Future[ProbeDecision] = asyncio.get_running_loop().create_future()

        def decide(decision: ProbeDecision) -> None:
            if not decided.done():
                decided.set_result(decision)

        await self._commits.put(DocumentProbed(doc_id=doc_id, probe=probe), decided=decide)
        if (await decided).process:
            loop = asyncio.get_running_loop()
            ranges, strikes = await loop.run_in_executor(self._reader, self._left_over, doc_id)
            document = _opened(item.document, probe)
            self._scheduler.add(document, ranges)
            fatal = [struck for struck in strikes if self._policy.is_fatal(struck)]
            if fatal:
                results = tuple(_took_all_down(struck) for struck in fatal)
                await self._commits.put(PagesDone(doc_id=doc_id, results=results, admitted=False))
            for struck in strikes:
                if struck not in fatal:
                    page, attempt = struck.unit.page, struck.count + 1
                    again = Span(document=document, first_page=page, page_count=1, attempt=attempt, alone=True)
                    self._scheduler.add_retry(again, 0.0)
        self._in_hand.discard(doc_id)
        self._settle()

    def _left_over(self, doc_id: int) -> tuple[list[range], list[Strikes]]:
        """Read the pages of a document without terminal record: those without strikes as ranges, and the others."""
        strikes: list[Strikes] = []
        after = PageUnit(doc_id=doc_id, page=0)
        while found := self._store.strikes(after, PAGES_A_READ):
            strikes += [struck for struck in found if struck.unit.doc_id == doc_id]
            after = found[-1].unit
            if after.doc_id > doc_id:
                break
        struck_pages = {struck.unit.page for struck in strikes}
        ranges: list[range] = []
        page = 0
        while pages := self._store.pending_pages(doc_id, page, PAGES_A_READ):
            folded = page_ranges(number for number in pages if number not in struck_pages)
            if ranges and folded and ranges[-1].stop == folded[0].start:
                ranges[-1] = range(ranges[-1].start, folded.pop(0).stop)
            ranges += folded
            page = pages[-1]
        return ranges, strikes

    def _settle(self) -> None:
        self._scheduler.settle()
        self._hooks.on_settled()


TOOK_ALL_DOWN = Failure(reason=Reason.WORKER_CRASHED)
"""Why something is not tried again that was in work each time when the application died."""


def _took_all_down(strikes: Strikes) -> PageResult:
    return PageResult(
        page=strikes.unit.page,
        outcome=Outcome.DEAD_LETTER,
        method=Method.NONE,
        failure=TOOK_ALL_DOWN,
        attempt=strikes.count,
    )


def _opened(document: DocumentRef, probe: Probe) -> OpenDocument:
    return OpenDocument(
        doc_id=document.doc_id,
        location=document.location,
        sha256=probe.sha256,
        page_count=probe.page_count,
        size_bytes=probe.size_bytes,
        mtime_ns=probe.mtime_ns,
    )
