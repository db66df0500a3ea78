"""The scheduler: fairness between long and short documents, retries behind fresh work, bounded room."""

import asyncio
from itertools import pairwise

from engine.models.document import OpenDocument, Span
from engine.pipeline.scheduler import SpanScheduler, page_ranges


class ManualTime:
    """A monotonic clock that stands still until told otherwise."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:  # noqa: D102
        return self.now_s


def document(doc_id: int, pages: int) -> OpenDocument:
    """Return a document of that many pages."""
    return OpenDocument(doc_id=doc_id, location=b"/x", sha256="0" * 64, page_count=pages, size_bytes=1, mtime_ns=1)


def scheduler(time: ManualTime | None = None, **options: int) -> SpanScheduler:
    """Return a scheduler with spans of 16 pages."""
    return SpanScheduler(now=time or ManualTime(), span_pages=lambda: 16, **options)


def drain(waiting: SpanScheduler) -> list[Span]:
    """Take spans until none is due."""
    spans = []
    while (span := waiting.try_next()) is not None:
        spans.append(span)
    return spans


def test_page_ranges_fold_neighbours() -> None:
    """Ascending page numbers become the fewest ranges."""
    assert page_ranges([1, 2, 3, 7, 9, 10]) == [range(1, 4), range(7, 8), range(9, 11)]
    assert page_ranges([]) == []


def test_every_page_is_handed_out_exactly_once() -> None:
    """Whatever the mix of documents, each page stands in one span, in order within its document."""
    waiting = scheduler()
    sizes = {1: 1, 2: 16, 3: 17, 4: 500, 5: 3, 6: 32}
    for doc_id, pages in sizes.items():
        waiting.add(document(doc_id, pages), [range(1, pages + 1)])
    handed: dict[int, list[int]] = {doc_id: [] for doc_id in sizes}
    for span in drain(waiting):
        assert span.page_count <= 16
        handed[span.document.doc_id] += span.pages
    assert handed == {doc_id: list(range(1, pages + 1)) for doc_id, pages in sizes.items()}
    assert waiting.empty


def test_a_huge_document_takes_no_more_than_half_while_small_ones_wait() -> None:
    """At every point the long document is at most one span ahead of the small ones."""
    waiting = scheduler(small_room=2000)
    waiting.add(document(1, 20_000), [range(1, 20_001)])
    for doc_id in range(2, 1002):
        waiting.add(document(doc_id, 1), [range(1, 2)])
    small = large = 0
    while small < 1000:
        span = waiting.try_next()
        assert span is not None
        if span.document.doc_id == 1:
            large += span.page_count
        else:
            small += span.page_count
        assert large - small <= 16


def test_few_long_documents_are_begun_at_a_time_and_take_turns() -> None:
    """Two long documents alternate; the third waits for one of them to end."""
    waiting = scheduler()
    for doc_id in (1, 2, 3):
        waiting.add(document(doc_id, 48), [range(1, 49)])
    order = [span.document.doc_id for span in drain(waiting)]
    assert order[:6] == [1, 2, 1, 2, 1, 2]
    assert order[6:] == [3, 3, 3]


def test_gaps_of_a_resumed_document_are_respected() -> None:
    """Only the pages given are handed out, and no span crosses a gap."""
    waiting = scheduler()
    waiting.add(document(1, 100), [range(5, 8), range(50, 90)])
    assert [span.pages for span in drain(waiting)] == [range(5, 8), range(50, 66), range(66, 82), range(82, 90)]


def test_a_retry_waits_for_its_time_and_goes_behind_fresh_work() -> None:
    """A span to try again is not handed out early, and not while something fresh waits."""
    time = ManualTime()
    waiting = scheduler(time)
    again = Span(document=document(9, 9), first_page=4, page_count=1, attempt=2, alone=True)
    waiting.add_retry(again, delay_s=5.0)
    waiting.add(document(1, 2), [range(1, 3)])
    first = waiting.try_next()
    assert first is not None
    assert first.document.doc_id == 1
    assert waiting.try_next() is None
    assert not waiting.empty
    time.now_s += 5.0
    assert waiting.try_next() == again
    assert waiting.empty


def test_too_many_retries_go_before_fresh_work() -> None:
    """Their number is bounded: beyond the room, retries are handed out first."""
    waiting = scheduler(retry_room=1)
    for page in (1, 2):
        waiting.add_retry(Span(document=document(9, 9), first_page=page, page_count=1), 0.0)
    waiting.add(document(1, 1), [range(1, 2)])
    assert [span.document.doc_id for span in drain(waiting)] == [9, 1, 9]


async def test_next_wakes_for_a_retry_whose_time_has_come() -> None:
    """`next` waits for the first retry that is due, by the loop's own clock."""
    waiting = SpanScheduler(now=asyncio.get_running_loop().time, span_pages=lambda: 16)
    again = Span(document=document(9, 9), first_page=4, page_count=1)
    waiting.add_retry(again, delay_s=0.02)
    assert await waiting.next() == again


async def test_reserve_waits_for_room_and_gets_it_when_a_document_leaves() -> None:
    """The number of waiting documents is bounded."""
    waiting = scheduler(small_room=2)
    for doc_id in (1, 2):
        await waiting.reserve()
        waiting.add(document(doc_id, 1), [range(1, 2)])
        waiting.settle()
    third = asyncio.ensure_future(waiting.reserve())
    await asyncio.sleep(0)
    assert not third.done()
    assert waiting.try_next() is not None
    await third


async def test_room_that_was_used_up_is_filled_in_bunches() -> None:
    """A document that leaves lets nobody in by itself, so that those that come in can be looked into together."""
    waiting = scheduler(small_room=8)
    for number in range(1, 9):
        await waiting.reserve()
        waiting.add(document(number, 1), [range(1, 2)])
        waiting.settle()
    ninth = asyncio.ensure_future(waiting.reserve())
    await asyncio.sleep(0)
    waiting.try_next()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not ninth.done()
    waiting.try_next()
    async with asyncio.timeout(30):
        await ninth
        await waiting.reserve()


async def test_documents_that_are_looked_into_for_long_keep_no_room_empty() -> None:
    """Where nearly nothing waits, whatever room there is is filled: files being written may keep the rest for long."""
    waiting = scheduler(small_room=8)
    for _ in range(7):
        await waiting.reserve()
    await waiting.reserve()
    waiting.add(document(1, 1), [range(1, 2)])
    waiting.settle()
    ninth = asyncio.ensure_future(waiting.reserve())
    await asyncio.sleep(0)
    assert not ninth.done()
    waiting.try_next()
    async with asyncio.timeout(30):
        await ninth


async def test_a_cancelled_next_loses_no_span() -> None:
    """A span added after `next` was cancelled is still there for the following call."""
    waiting = scheduler()
    waiter = asyncio.ensure_future(waiting.next())
    await asyncio.sleep(0)
    waiter.cancel()
    waiting.add(document(1, 1), [range(1, 2)])
    await asyncio.wait([waiter])
    span = await waiting.next()
    assert span is not None
    assert waiting.empty


async def test_close_ends_a_waiting_next() -> None:
    """A closed scheduler hands out nothing, even where spans wait."""
    waiting = scheduler()
    waiter = asyncio.ensure_future(waiting.next())
    await asyncio.sleep(0)
    waiting.close()
    assert await waiter is None
    waiting.add(document(1, 1), [range(1, 2)])
    assert await waiting.next() is None


def test_small_documents_keep_their_order() -> None:
    """First come, first served among small ones."""
    waiting = scheduler()
    for doc_id in range(1, 30):
        waiting.add(document(doc_id, 2), [range(1, 3)])
    order = [span.document.doc_id for span in drain(waiting)]
    assert all(before < after for before, after in pairwise(order))
