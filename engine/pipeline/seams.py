"""The seams of the pipeline: one- or two-method protocols that it owns and the layers below fulfil.

An object store, a cluster or another reader of pages is one new class that fits one of these.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from engine.models.document import (
    DocumentRef,
    Failure,
    FoundFile,
    OpenDocument,
    PageUnit,
    Posture,
    Probe,
    Span,
    SpanReport,
    Strikes,
)
from engine.models.facts import Fact, Receipt
from engine.models.run import WorkerView
from engine.settings import Settings


class Source(Protocol):
    """Yields the files of a batch, lazily; run on a thread of its own."""

    def batches(self, stop: threading.Event) -> Iterator[Sequence[FoundFile]]:
        """Yield directory entries in batches until all are found or `stop` is set."""
        ...


class Extractor(Protocol):
    """Turns documents into pages and pages into outcomes, somewhere outside this process.

    `probe` and `extract` may be called concurrently, as often as there are workers. Each gives one result for each
    item, in their order; where some take long, others may come back untried, but never all. Cancelling a call ends
    the work on it. Neither raises for a bad document or page: that is a result.
    """

    async def start(self) -> Posture:
        """Start the workers; return the posture that they reached.

        Raises:
            WorkerStartError: When none can be started.
        """
        ...

    async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure | None]:
        """Open and hash documents, one after the other; None for one that was not looked into.

        Raises:
            WorkerStartError: When workers can no longer be started.
        """
        ...

    async def extract(self, spans: Sequence[Span]) -> Sequence[SpanReport]:
        """Extract the text of the pages of spans, one after the other.

        Raises:
            WorkerStartError: When workers can no longer be started.
        """
        ...

    def apply(self, settings: Settings) -> None:
        """Take over other limits, the number of workers included, from the next task on."""
        ...

    def relieve(self) -> bool:
        """Give memory back where nothing is being worked on; return whether anything was left to give back."""
        ...

    def shed(self) -> bool:
        """End the work that takes the most memory, as too large; return whether there was any worth ending."""
        ...

    @property
    def trouble(self) -> str:
        """One sentence while there are fewer workers than wanted; or empty."""
        ...

    def views(self) -> tuple[WorkerView, ...]:
        """Return what each worker is doing now."""
        ...

    async def close(self) -> None:
        """End all workers; none is left when this returns."""
        ...


class CaseStore(Protocol):
    """The case file, as the pipeline sees it. Blocking: every call is made on the case's own threads."""

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Commit facts and their audit records in one transaction.

        Raises:
            StorageError: When it could not be written; then nothing of it was.
        """
        ...

    def reopen(self) -> Receipt | None:
        """Make the case writable again after a commit failed, by opening its file anew and checking it.

        Returns:
            The receipt of the commit that failed, where it turned out to be on disk after all; else None.

        Raises:
            StorageError: When the case still cannot be written.
            CaseDamagedError: When what is on disk is not what was acknowledged.
        """
        ...

    def pending_documents(self, after: int, limit: int) -> Sequence[DocumentRef]:
        """Return documents that are pending (not yet probed), by number, those above `after`."""
        ...

    def open_documents(self, after: int, limit: int) -> Sequence[OpenDocument]:
        """Return documents that were probed and have pages without terminal record, by number."""
        ...

    def pending_pages(self, doc_id: int, after: int, limit: int) -> Sequence[int]:
        """Return page numbers of an open document that have no terminal record, those above `after`."""
        ...

    def strikes(self, after: PageUnit, limit: int) -> Sequence[Strikes]:
        """Return what has strikes and no terminal record, in order; page 0 stands for a document."""
        ...
