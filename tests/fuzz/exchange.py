"""Mangled answers against the parent's side: the reading of frames and answers, and a whole pool of crooked workers.

Covers what has to hold whatever a worker says: nothing but the one error comes out of reading, what is accepted is a
right answer, every page of a span ends in exactly one place, nothing is left over, and memory stays where it was.
"""

import asyncio
import logging
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import psutil

from engine.models.document import DocumentRef, Failure, OpenDocument, PageResult, Probe, Span, SpanReport
from engine.models.outcome import Outcome
from engine.settings import MIB, Clocks, FlowLimits, Settings, WorkerLimits
from engine.work.frames import FrameBuffer, FrameCaps, FrameError
from engine.work.jobs import Job, ProbeJob, SpanJob
from engine.work.pool import WorkerPool
from engine.work.replies import posture_of
from engine.work.text import is_clean
from tests.fuzz import answers

CROOKED = Path(__file__).with_name("crooked.py")
SETTINGS = Settings(
    flow=FlowLimits.build(workers=2),
    clocks=Clocks(open_s=0.3, page_s=0.3),
    worker=WorkerLimits(max_text_bytes=64 * 1024, recycle_rss_bytes=1024 * MIB),
)
MOST_GROWTH_BYTES = 96 * MIB
"""More than the longest frames of both workers take, and far less than what they send in the end."""
_NUMBER = 7
_ASKERS = 3
_MOST_TOGETHER = 4


@dataclass(slots=True, kw_only=True)
class Exchange:
    """What a series of answers showed."""

    broken: list[str] = field(default_factory=list)
    """The promises that were not kept, in words."""
    ends: Counter[str] = field(default_factory=Counter)
    """How often what came of an answer."""
    growth_bytes: int = 0
    """How much more memory this process had at most."""


def read(seed: int, count: int) -> Exchange:
    """Read mangled answers without any process; one depends on the seed and its number alone."""
    exchange = Exchange()
    for number in range(count):
        dice = random.Random(f"{seed}/{number}")  # noqa: S311  # repeatable on purpose
        try:
            exchange.ends[_read_one(dice)] += 1
        except FrameError:
            exchange.ends["refused"] += 1
        except Exception as error:  # noqa: BLE001  # whatever else comes out is what is looked for
            exchange.broken.append(f"answer {number}: {type(error).__name__}: {error}"[:300])
    return exchange


def _read_one(dice: random.Random) -> str:
    """Read one answer as it comes, in pieces, and return what came of it."""
    span = Span(document=_document(9), first_page=dice.randint(1, 5), page_count=dice.randint(1, 4))
    ref = DocumentRef(doc_id=1, location=b"/x", size_bytes=1, mtime_ns=1)
    job: Job | None = None
    what = dice.choice(("ready", "probe", "span", "span", "span"))
    if what == "ready":
        frames = [answers.right_ready()]
    elif what == "probe":
        job, frames = ProbeJob.of(ref, _NUMBER, SETTINGS), [answers.right_probe(dice, _NUMBER)]
    else:
        job, frames = SpanJob.of(span, _NUMBER, SETTINGS), answers.right_pages(dice, _NUMBER, span.pages)
    data = answers.mangled(dice, frames)
    buffer = FrameBuffer()
    while data:
        piece, data = data[: (size := dice.choice((1, 9, 4096, 65536)))], data[size:]
        buffer.feed(piece)
        while (frame := buffer.take(FrameCaps() if job is None else job.caps)) is not None:
            if job is None:
                posture_of(frame)
                return "accepted"
            done = job.take(frame)
            if isinstance(job, SpanJob):
                check_report(span, job.outcome)
                assert job.spoiled or done == (not job.outcome.untried), "an end that is none, or none where it is"
            if done:
                return "accepted"
    return "waited for the rest"


def check_report(span: Span, report: SpanReport) -> None:
    """Check that every page of a span stands in exactly one place, and that what is there may be there."""
    pages = [result.page for result in report.results]
    accounted = [*pages, *report.untried, *([] if report.lost is None else [report.lost.page])]
    assert sorted(accounted) == list(span.pages), f"pages {accounted} of {span.pages}"
    for result in report.results:
        _check_result(result)


def _check_result(result: PageResult) -> None:
    utf8 = result.text.encode()  # raises where a lone surrogate got through
    assert is_clean(utf8), "text with control characters"
    assert len(utf8) <= SETTINGS.worker.max_text_bytes, "text over the limit"
    assert (result.failure is None) == (result.outcome is Outcome.EXTRACTED), "a failure that is none"
    assert 0 <= result.replaced <= len(result.text), "more replaced than there is"


def _document(pages: int, doc_id: int = 1) -> OpenDocument:
    return OpenDocument(doc_id=doc_id, location=b"/x", sha256="0" * 64, page_count=pages, size_bytes=100, mtime_ns=7)


def crooked(seed: int) -> tuple[str, ...]:
    """Return the command of a worker that answers wrongly more often than not."""
    return (sys.executable, "-I", str(CROOKED), str(seed))


async def storm(seed: int, count: int) -> Exchange:
    """Put requests to a pool of crooked workers, and wait for what becomes of each.

    Args:
        seed: The seed; which worker gets which request is up to the system.
        count: How many requests.
    """
    exchange = Exchange()
    numbers = iter(range(count))
    itself = psutil.Process()
    before_bytes = itself.memory_info().rss
    pool = WorkerPool(SETTINGS, command=crooked(seed), tick_s=0.05)
    with _errors(exchange):
        await pool.start()
        try:
            async with asyncio.TaskGroup() as group:
                for asker in range(_ASKERS):
                    group.create_task(_ask(exchange, pool, numbers, seed), name=f"asker-{asker}")
        finally:
            await pool.close()
    children = [child.pid for child in itself.children(recursive=True) if str(CROOKED) in _words_of(child)]
    if children:
        exchange.broken.append(f"workers are left over: {children}")
    exchange.growth_bytes = max(exchange.growth_bytes - before_bytes, 0)
    if exchange.growth_bytes > MOST_GROWTH_BYTES:
        exchange.broken.append(f"this process grew by {exchange.growth_bytes // MIB} MB")
    return exchange


async def _ask(exchange: Exchange, pool: WorkerPool, numbers: Iterator[int], seed: int) -> None:
    for number in numbers:
        dice = random.Random(f"{seed}/ask/{number}")  # noqa: S311  # repeatable on purpose
        together = [number, *islice(numbers, dice.randrange(_MOST_TOGETHER))]
        if dice.random() < 0.3:
            refs = [DocumentRef(doc_id=doc_id, location=b"/x", size_bytes=1, mtime_ns=1) for doc_id in together]
            for found in await pool.probe(refs):
                exchange.ends[found.reason if isinstance(found, Failure) else "probed"] += 1
                if isinstance(found, Probe) and not 1 <= found.page_count < 2**31:
                    exchange.broken.append(f"request {number}: a document of {found.page_count} pages")
            continue
        spans = [
            Span(document=_document(9, doc_id), first_page=dice.randint(1, 5), page_count=dice.randint(1, 4))
            for doc_id in together
        ]
        for span, report in zip(spans, await pool.extract(spans), strict=True):
            try:
                check_report(span, report)
            except (AssertionError, UnicodeEncodeError) as error:
                exchange.broken.append(f"request {number}: {error}")
            exchange.ends["all pages" if report.lost is None else report.lost.failure.reason] += 1
        if number % 20 == 0:
            exchange.growth_bytes = max(exchange.growth_bytes, psutil.Process().memory_info().rss)


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has just gone
        return []


@contextmanager
def _errors(exchange: Exchange) -> Iterator[None]:
    """Take whatever the engine logs as an error for a broken promise."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            exchange.broken.append(f"logged: {record.getMessage()}: {record.exc_info}"[:300])

    listener = Listener(logging.ERROR)
    logger = logging.getLogger("engine")
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)
