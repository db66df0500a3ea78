"""Runs over real case files and real folders of tiny files, for tests of the pipeline and above."""

import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine.case.casefile import CaseFile
from engine.case.reader import CaseReader
from engine.flow.clock import SystemClock
from engine.models.run import RunSummary
from engine.pipeline.inputs import RunInputs, Threads
from engine.pipeline.run import Run
from engine.pipeline.seams import Extractor
from engine.settings import FlowLimits, Settings
from engine.source.folder import FolderSource
from tests.support.pdfs import put

GoldenSet = set[tuple[str, int | None, str, str]]
"""(path of the document, page number or None for the document, outcome, hash of the text)."""


def small_flow(**changes: Any) -> Settings:
    """Return settings with a small queue and one worker."""
    return Settings(flow=FlowLimits.build(**({"workers": 1, "max_queue": 64, "span_pages": 4} | changes)))


def write_documents(folder: Path, page_counts: Iterable[int]) -> Path:
    """Write files that the scripted extractor takes for documents of so many pages, each with its own content."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, pages in enumerate(page_counts, 1):
        digits = f"{number:06d}"
        content = (digits + "x" * pages)[:pages] if pages >= len(digits) else digits[-pages:] if pages else ""
        put(folder / f"{digits}.pdf", content.encode())
    return folder


@asynccontextmanager
async def open_run(
    case_path: Path,
    folder: Path | None,
    extractor: Extractor,
    settings: Settings,
    *,
    store: Callable[[CaseFile], Any] = lambda case: case,
    stop_grace_s: float = 60.0,
    attended: bool = False,
    wall_s: Callable[[], float] = time.time,
) -> AsyncIterator[Run]:
    """Give a run over a case that is created where it is missing; the case is closed afterwards.

    Args:
        case_path: The case file.
        folder: The source, or None to go on with what is pending.
        extractor: Makes outcomes.
        settings: Limits.
        store: Wraps the case, so that a test can make it misbehave.
        stop_grace_s: How long a stop waits for pages in flight.
        attended: Whether the test resumes a run that cannot write.
        wall_s: The wall clock.
    """
    new = CaseFile.is_new(case_path)
    case = CaseFile.create(case_path, request_id="request-1") if new else CaseFile.open(case_path)
    threads = {
        name: ThreadPoolExecutor(1, f"test-{name}") for name in ("writer", "reader", "lister", "sampler", "watcher")
    }
    try:
        yield Run(
            RunInputs(
                store=store(case),
                threads=Threads(**threads),
                extractor=extractor,
                source=None if folder is None else FolderSource([folder]),
                sources=() if folder is None else (bytes(folder),),
                roots=case.info().roots if folder is None else (bytes(folder),),
                folder=case_path.parent,
                settings=settings,
                counts=case.counts(),
                operator="tester",
                paused=case.info().paused,
                was_paused=case.info().paused,
                resumed=not new,
                stop_grace_s=stop_grace_s,
                attended=attended,
                wall_s=wall_s,
                clock=SystemClock(),
                random=random.Random(1).random,  # noqa: S311  # spreads retries, guards nothing
            )
        )
    finally:
        for executor in threads.values():
            executor.shutdown()
        case.close()


async def run_once(case_path: Path, folder: Path | None, extractor: Extractor, settings: Settings) -> RunSummary:
    """Run once, to the end."""
    async with open_run(case_path, folder, extractor, settings) as run:
        return await run.execute()


def records_of(case_path: Path) -> list[dict[str, Any]]:
    """Return all audit records of a case."""
    with CaseReader(case_path) as reader:
        return [json.loads(line) for line in reader.audit_lines()]


def golden_set(case_path: Path) -> GoldenSet:
    """Return what became of every page and document: what must be equal however often a run was disturbed."""
    records = records_of(case_path)
    paths = {record["doc_id"]: record["path"] for record in records if record["event"] == "DOCUMENT"}
    golden: GoldenSet = {
        (paths[record["doc_id"]], record["page"], record["event"], record.get("text_sha256") or "")
        for record in records
        if record["event"] in {"EXTRACTED", "DEAD_LETTER", "DUPLICATE"}
    }
    return golden | {
        (record["path"], None, record["outcome"], "") for record in records if record["event"] == "DOCUMENT"
    }


def assert_one_terminal_record_each(case_path: Path) -> None:
    """Check that no page and no document has two terminal records."""
    seen = [
        (record["doc_id"], record.get("page"))
        for record in records_of(case_path)
        if record["event"] in {"EXTRACTED", "DEAD_LETTER", "DUPLICATE", "DOCUMENT"}
    ]
    assert len(seen) == len(set(seen))
