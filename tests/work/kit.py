"""What the tests of the worker layer share: pools with small limits, documents to hand over, conditions to wait for."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine.models.document import DocumentRef, Failure, OpenDocument, PageResult, Probe, Span, SpanReport
from engine.settings import MIB, Clocks, FlowLimits, Settings, WorkerLimits
from engine.work.pool import WorkerPool

IMPOSTOR = Path(__file__).parent / "impostor.py"


def settings(*, workers: int = 1, clocks: dict[str, float] | None = None, **limits: Any) -> Settings:
    """Return settings for a small pool; the names of clocks and limits are those of the settings."""
    limits = {"recycle_rss_bytes": 1024 * MIB} | limits
    return Settings(
        flow=FlowLimits.build(workers=workers), clocks=Clocks(**(clocks or {})), worker=WorkerLimits(**limits)
    )


def impostor(behaviour: str, *details: object) -> tuple[str, ...]:
    """Return the command of a worker that speaks our protocol and misbehaves."""
    return (sys.executable, "-I", str(IMPOSTOR), behaviour, *map(str, details))


@asynccontextmanager
async def running_pool(chosen: Settings | None = None, **keywords: Any) -> AsyncIterator[WorkerPool]:
    """Start a pool and close it at the end."""
    pool = WorkerPool(chosen or settings(), **keywords)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.close()


async def until(condition: Callable[[], object], *, limit_s: float = 120.0) -> None:
    """Wait for a condition; a bound makes a hang a failure."""
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.005)


def ref(path: Path | bytes, doc_id: int = 1) -> DocumentRef:
    """Return a document that was enumerated."""
    return DocumentRef(doc_id=doc_id, location=os.fsencode(path), size_bytes=0, mtime_ns=0)


async def look_into(pool: WorkerPool, document: DocumentRef) -> Probe | Failure:
    """Probe one document."""
    (found,) = await pool.probe([document])
    assert found is not None  # the first one is never left
    return found


async def read(pool: WorkerPool, span: Span) -> SpanReport:
    """Extract one span."""
    (report,) = await pool.extract([span])
    return report


async def opened(pool: WorkerPool, path: Path | bytes, doc_id: int = 1) -> OpenDocument:
    """Probe a document that is known to open."""
    probe = await look_into(pool, ref(path, doc_id))
    assert isinstance(probe, Probe), probe
    return OpenDocument(
        doc_id=doc_id,
        location=os.fsencode(path),
        sha256=probe.sha256,
        page_count=probe.page_count,
        size_bytes=probe.size_bytes,
        mtime_ns=probe.mtime_ns,
    )


def invented(page_count: int = 8, doc_id: int = 1) -> OpenDocument:
    """Return a document for impostors, who do not look at it."""
    return OpenDocument(
        doc_id=doc_id, location=b"/nowhere", sha256="0" * 64, page_count=page_count, size_bytes=1, mtime_ns=1
    )


def whole(document: OpenDocument, **fields: Any) -> Span:
    """Return all pages of a document as one span."""
    return Span(document=document, first_page=1, page_count=document.page_count, **fields)


async def extracted(pool: WorkerPool, path: Path | bytes) -> tuple[PageResult, ...]:
    """Probe a document and extract all its pages at once."""
    report = await read(pool, whole(await opened(pool, path)))
    assert report.lost is None
    assert report.untried == ()
    return report.results


async def refused(pool: WorkerPool, path: Path | bytes) -> Failure:
    """Probe a document that does not open."""
    failure = await look_into(pool, ref(path))
    assert isinstance(failure, Failure), failure
    return failure


def pages_of(report: SpanReport) -> tuple[list[int], int | None, list[int]]:
    """Return the page numbers of a report's three fields."""
    lost = None if report.lost is None else report.lost.page
    return [result.page for result in report.results], lost, list(report.untried)


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def limits_of(pid: int) -> dict[str, list[str]]:
    """Return the limits of a process as Linux shows them: name to soft and hard limit."""
    rows = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    return {row[:25].strip(): row[25:].split()[:2] for row in rows}


def status_of(pid: int) -> dict[str, str]:
    """Return what Linux says of a process: name to value."""
    rows = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (row.partition(":") for row in rows)}


def exists(pid: int) -> bool:
    """Whether a process is there, if only as a zombie."""
    return Path(f"/proc/{pid}").exists()


def open_descriptors() -> int:
    """Return how many descriptors this process has open; 0 where the system does not tell."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0
