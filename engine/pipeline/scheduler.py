"""The scheduler: which span is admitted next, so that one huge binder never starves small files.

Documents that fit into one span and longer ones are two streams; while both have work, each gets half of the pages
admitted, so that small documents finish at no less than half the rate that they would have alone. Of the longer
ones only a few are begun at a time. Retries go behind fresh work. Pure state on the event loop: no I/O, and no page
or text is held, only coordinates.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.models.document import OpenDocument, Span
from engine.pipeline.retries import RetryHeap


def page_ranges(pages: Iterable[int]) -> list[range]:
    """Fold ascending page numbers into ranges."""
    ranges: list[range] = []
    for page in pages:
        if ranges and ranges[-1].stop == page:
            ranges[-1] = range(ranges[-1].start, page + 1)
        else:
            ranges.append(range(page, page + 1))
    return ranges


@dataclass(slots=True)
class _Waiting:
    document: OpenDocument
    ranges: deque[range]

    def take(self, most: int) -> Span:
        """Cut the next span of at most `most` pages off."""
        first = self.ranges.popleft()
        taken = first[:most]
        if len(taken) < len(first):
            self.ranges.appendleft(first[most:])
        return Span(document=self.document, first_page=taken.start, page_count=len(taken))


class SpanScheduler:
    """Holds documents with pages to admit and hands out spans.

    Args:
        now: The monotonic clock.
        span_pages: Gives the most pages of a span, at any time.
        small_room: Most documents of one span that may wait.
        large_room: Most longer documents that may wait.
        begun_at_once: Most longer documents that are worked on in turn.
        retry_room: Retries beyond this number go before fresh work, so that their number stays bounded.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        span_pages: Callable[[], int],
        small_room: int = 128,
        large_room: int = 256,
        begun_at_once: int = 2,
        retry_room: int = 256,
    ) -> None:
        self._span_pages = span_pages
        self._small_room = small_room
        self._large_room = large_room
        self._begun_at_once = begun_at_once
        self._retry_room = retry_room
        self._bunch = small_room // 4
        self._small: deque[_Waiting] = deque()
        self._large: deque[_Waiting] = deque()
        self._begun: deque[_Waiting] = deque()
        self._retries: RetryHeap[Span] = RetryHeap(now)
        self._lead = 0  # pages that long documents are ahead of small ones
        self._reserved = 0
        self._closed = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()

    def __repr__(self) -> str:
        return (
            f"<SpanScheduler small={len(self._small)} large={len(self._large)} begun={len(self._begun)} "
            f"retries={len(self._retries)} reserved={self._reserved}>"
        )

    @property
    def empty(self) -> bool:
        """Whether no span is waiting to be admitted."""
        return not (self._small or self._large or self._begun or self._retries)

    async def reserve(self) -> None:
        """Wait until there is room for one more document, and keep it; `settle` gives it back.

        Once it is full, nobody gets in before there is room for a bunch, so that documents are looked into in bunches.
        """
        if self._free <= 0:
            while self._free <= 0 or (self._free < self._bunch <= len(self._small)):
                self._room.clear()
                await self._room.wait()
        self._reserved += 1

    @property
    def _free(self) -> int:
        """For how many documents there is room."""
        if len(self._large) >= self._large_room:
            return 0
        return self._small_room - len(self._small) - self._reserved

    def settle(self) -> None:
        """Give reserved room back: the document was added, or there is nothing to add."""
        self._reserved -= 1
        self._room.set()

    def add(self, document: OpenDocument, ranges: Sequence[range]) -> None:
        """Add a document with the pages that need processing, as ascending ranges."""
        if not ranges:
            return
        waiting = _Waiting(document, deque(ranges))
        is_small = sum(map(len, ranges)) <= self._span_pages()
        (self._small if is_small else self._large).append(waiting)
        self._changed.set()

    def add_retry(self, span: Span, delay_s: float) -> None:
        """Add a span to try again, not before `delay_s` seconds from now."""
        self._retries.add(span, delay_s)
        self._changed.set()

    def close(self) -> None:
        """Hand out nothing more; what waits stays pending in the case."""
        self._closed = True
        self._changed.set()
        self._room.set()

    async def next(self) -> Span | None:
        """Wait for the next span; None when the scheduler is closed."""
        while not self._closed:
            span = self.try_next()
            if span is not None:
                return span
            self._changed.clear()
            await self._retries.wait(self._changed)
        return None

    def try_next(self) -> Span | None:
        """Return the next span, or None when none is due now."""
        if len(self._retries) > self._retry_room:
            span = self._retries.take_due()
            if span is not None:
                return span
        span = self._fresh()
        return span if span is not None else self._retries.take_due()

    def _fresh(self) -> Span | None:
        while len(self._begun) < self._begun_at_once and self._large:
            self._begun.append(self._large.popleft())
            self._room.set()
        if not (self._small and self._begun):
            self._lead = 0
        if self._begun and (not self._small or self._lead <= 0):
            return self._take_begun()
        return self._take_small() if self._small else None

    def _take_begun(self) -> Span:
        waiting = self._begun.popleft()
        span = waiting.take(self._span_pages())
        if waiting.ranges:
            self._begun.append(waiting)
        self._lead += span.page_count
        return span

    def _take_small(self) -> Span:
        waiting = self._small[0]
        span = waiting.take(self._span_pages())
        if not waiting.ranges:
            self._small.popleft()
            self._room.set()
        self._lead -= span.page_count
        return span
