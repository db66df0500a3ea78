"""An extractor that does what a test says, without processes or PDFs: the component that must misbehave.

It fits the pipeline's seam. Every document has as many pages as its file's size in bytes says, so that real folders
of tiny files make real cases of any shape.
"""

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from engine.models.document import (
    DocumentRef,
    Failure,
    LostPage,
    PageResult,
    Posture,
    Probe,
    Span,
    SpanReport,
)
from engine.models.outcome import Method, Outcome, Reason
from engine.models.run import WorkerView
from engine.settings import Settings

PageScript = Callable[[Span, int], PageResult | Failure | None]
"""Given a span and a page number: a result, a failure that ends the worker at this page, or None for plain text."""


async def at_once(_span: Span) -> None:
    """Take no time over a span."""
    await asyncio.sleep(0)


class ScriptedExtractor:
    """Makes up the outcome of every page.

    Args:
        work: Awaited before each span: where a test slows it down or stops it.
        page: What becomes of a page.
        probe: What becomes of a look into a document, or None for the usual.
    """

    def __init__(
        self,
        *,
        work: Callable[[Span], Awaitable[None]] = at_once,
        page: PageScript = lambda _span, _page: None,
        probe: Callable[[DocumentRef], Probe | Failure | None] = lambda _document: None,
    ) -> None:
        self._work = work
        self._page = page
        self._probe = probe
        self.tries: Counter[tuple[int, int]] = Counter()
        """How often each (document, page) was tried."""
        self.spans: list[Span] = []
        self.probes: Counter[int] = Counter()
        self.applied: list[Settings] = []
        self.running = 0
        self.most_running = 0
        self.started = False
        self.trouble = ""
        self.closed = False

    async def start(self) -> Posture:
        """Start nothing."""
        self.started = True
        return Posture(limits=("none",), sandbox="none", parser="scripted 1")

    async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure]:
        """Look into documents, one by one."""
        return [await self.probe_one(document) for document in documents]

    async def extract(self, spans: Sequence[Span]) -> Sequence[SpanReport]:
        """Extract spans, one by one."""
        return [await self.extract_one(span) for span in spans]

    async def probe_one(self, document: DocumentRef) -> Probe | Failure:
        """Count as many pages as the file has bytes."""
        await asyncio.sleep(0)
        self.probes[document.doc_id] += 1
        found = self._probe(document)
        if found is not None:
            return found
        path = os.fsdecode(document.location)
        with open(path, "rb") as file:  # noqa: ASYNC230, PTH123  # a tiny file of the test's own
            data = file.read()
        if not data:
            return Failure(reason=Reason.EMPTY_FILE)
        return Probe(
            sha256=hashlib.sha256(data).hexdigest(),
            page_count=len(data),
            size_bytes=document.size_bytes,
            mtime_ns=document.mtime_ns,
            repaired=False,
        )

    async def extract_one(self, span: Span) -> SpanReport:
        """Do as the script says, page by page."""
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self._work(span)
        finally:
            self.running -= 1
        self.spans.append(span)
        results: list[PageResult] = []
        for page in span.pages:
            self.tries[span.document.doc_id, page] += 1
            scripted = self._page(span, page)
            if isinstance(scripted, Failure):
                return SpanReport(
                    results=tuple(results),
                    lost=LostPage(page=page, failure=scripted),
                    untried=tuple(range(page + 1, span.pages.stop)),
                )
            results.append(scripted or text_page(span, page))
        return SpanReport(results=tuple(results))

    def apply(self, settings: Settings) -> None:
        """Remember other settings."""
        self.applied.append(settings)

    def relieve(self) -> bool:
        """Promise to give memory back."""
        return True

    def shed(self) -> bool:
        """Find nothing worth ending."""
        return False

    def views(self) -> tuple[WorkerView, ...]:
        """There are no worker processes."""
        return ()

    async def close(self) -> None:
        """End nothing."""
        self.closed = True


def text_page(span: Span, page: int) -> PageResult:
    """Return an extracted page whose text says which page of which bytes it is."""
    text = f"page {page} of {span.document.sha256}"
    return PageResult(
        page=page,
        outcome=Outcome.EXTRACTED,
        method=Method.TEXT,
        text=text,
        attempt=span.attempt,
        dur_ms=1,
    )


def dead_page(page: int, reason: Reason, attempt: int = 1) -> PageResult:
    """Return a dead letter."""
    return PageResult(
        page=page,
        outcome=Outcome.DEAD_LETTER,
        method=Method.NONE,
        failure=Failure(reason=reason),
        attempt=attempt,
    )
