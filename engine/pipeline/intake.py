"""Intake: files found by a source go into the manifest, and documents come out of it to be probed.

The manifest in the case file stands between the two halves, so that no list of files is ever held in memory, work
starts while the enumeration still runs, and going on after a crash is the same as starting.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor

from engine.models.document import DocumentRef, OpenDocument, PageUnit, Strikes
from engine.models.facts import FilesFound
from engine.pipeline.commits import CommitLane
from engine.pipeline.probing import Prober
from engine.pipeline.seams import CaseStore, Source

BATCH_DOCUMENTS = 128
"""Documents read from the manifest at a time."""


class Enumerator:
    """Moves what a source finds into the manifest, batch by batch.

    Args:
        source: Where files come from.
        commits: Where they go.
        thread: One thread for the source, which may block on a slow disk.
        wait_clear: Waits until nothing but the watermark holds the gate, so that a pause stops the listing, too.
    """

    def __init__(
        self,
        source: Source,
        commits: CommitLane,
        thread: Executor,
        *,
        wait_clear: Callable[[], Awaitable[None]],
    ) -> None:
        self._source = source
        self._commits = commits
        self._thread = thread
        self._wait_clear = wait_clear
        self._stop = threading.Event()

    def stop(self) -> None:
        """Let `run` end at the next batch."""
        self._stop.set()

    async def run(self) -> None:
        """Enumerate until everything is found or `stop` was called.

        Raises:
            StorageError: When the manifest cannot be written.
        """
        loop = asyncio.get_running_loop()
        batches = self._source.batches(self._stop)
        try:
            while not self._stop.is_set():
                batch = await loop.run_in_executor(self._thread, next, batches, None)
                if batch is None:
                    return
                await self._commits.put(FilesFound(files=tuple(batch)))
                await self._wait_clear()
        finally:
            # A cancelled `next` still runs on the thread: tell it to give up.
            self._stop.set()


class Feeder:
    """Reads documents that are to be looked into from the manifest and hands them to the prober.

    First those that an earlier run left open, then the pending ones, for as long as new ones can appear.

    Args:
        store: The case file.
        thread: The case's thread for reading.
        prober: Takes documents; asked which it has in hand, since the manifest calls them pending until they are
            decided.
    """

    def __init__(self, store: CaseStore, thread: Executor, prober: Prober) -> None:
        self._store = store
        self._thread = thread
        self._prober = prober
        self._news = asyncio.Event()
        self._strikes: dict[int, Strikes] = {}
        self.exhausted = False
        """Whether the last look into the manifest, with no news since, found nothing to hand over."""

    def wake(self) -> None:
        """Look again: documents became pending."""
        self.exhausted = False
        self._news.set()

    async def run(self, on_exhausted: Callable[[], None]) -> None:
        """Hand over documents until cancelled; there may always be more.

        Args:
            on_exhausted: Told each time that there is nothing left for now.
        """
        loop = asyncio.get_running_loop()
        self._strikes = await loop.run_in_executor(self._thread, self._read_strikes)
        await self._feed_open()
        while True:
            self._news.clear()
            await self._feed_pending()
            if not self._news.is_set():
                self.exhausted = True
                on_exhausted()
                await self._news.wait()

    async def _feed_open(self) -> None:
        loop = asyncio.get_running_loop()
        after = 0
        while found := await loop.run_in_executor(self._thread, self._store.open_documents, after, BATCH_DOCUMENTS):
            for document in found:
                await self._hand_over(_as_ref(document), resumed=True)
            after = found[-1].doc_id

    async def _feed_pending(self) -> None:
        loop = asyncio.get_running_loop()
        after = 0
        while True:
            # Before the read: what is decided while it runs would otherwise look as if nobody had it.
            in_hand = self._prober.in_hand()
            found = await loop.run_in_executor(self._thread, self._store.pending_documents, after, BATCH_DOCUMENTS)
            if not found:
                return
            for document in found:
                if document.doc_id not in in_hand:
                    await self._hand_over(document)
            after = found[-1].doc_id

    async def _hand_over(self, document: DocumentRef, *, resumed: bool = False) -> None:
        await self._prober.hand_over(document, resumed=resumed, strikes=self._strikes.pop(document.doc_id, None))

    def _read_strikes(self) -> dict[int, Strikes]:
        """Return the strikes of documents as such; few have any. Blocking."""
        found: dict[int, Strikes] = {}
        after = PageUnit(doc_id=0, page=0)
        while some := self._store.strikes(after, BATCH_DOCUMENTS):
            found |= {strikes.unit.doc_id: strikes for strikes in some if strikes.unit.page == 0}
            after = some[-1].unit
        return found


def _as_ref(document: OpenDocument) -> DocumentRef:
    return DocumentRef(
        doc_id=document.doc_id,
        location=document.location,
        size_bytes=document.size_bytes,
        mtime_ns=document.mtime_ns,
    )
