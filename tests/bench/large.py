"""Huge documents: whether one of very many pages or bytes stays within the same bounds, and occupies all workers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.bench.documents import Planned, collection
from tests.bench.tables import megabytes, table
from tests.bench.throughput import PartRun, Work, run_part

_PICTURE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """One huge document."""

    pages: int
    size_bytes: int
    run: PartRun
    """The program without a window over it."""


def measure(*, pages: int, picture_pages: int, workers: int, say: Callable[[str], None] = print) -> tuple[Large, ...]:
    """Run over a document of so many pages, and over one with a picture of a megabyte on each page.

    Raises:
        ProgramError: When a run fails.
    """
    results = []
    for planned in (
        Planned(path="pages.pdf", pages=pages),
        Planned(path="bytes.pdf", pages=picture_pages, picture_bytes=_PICTURE_BYTES),
    ):
        say(f"{planned.path}: {planned.pages:,} pages")
        folder = collection([planned]).folder
        run = run_part("headless", Work.over(folder, workers=workers))
        results.append(Large(pages=planned.pages, size_bytes=(folder / planned.path).stat().st_size, run=run))
    return tuple(results)


def lines(results: Sequence[Large]) -> Iterator[str]:
    """Yield the table."""
    rows = [
        (
            f"{result.pages:,}",
            megabytes(result.size_bytes),
            f"{result.run.pages:,}",
            f"{result.run.pages_per_s:,.1f}",
            megabytes(result.run.rss.main),
            megabytes(max(result.run.rss.others, default=0)),
            megabytes(result.run.rss.tree),
            " + ".join(f"{pages:,}" for pages in result.run.more.get("worker_pages", ())),
        )
        for result in results
    ]
    yield from table(("pages", "MB", "done", "pages/s", "main (MB)", "worker (MB)", "tree (MB)", "by worker"), rows)
