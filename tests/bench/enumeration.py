"""Very many files: how soon the first page comes, how long listing takes, what it needs, and how soon a resume begins.

Each size is run once as a new case, stopped as soon as every file stands in the manifest, and then resumed up to its
first new page. Every file is a document of one page with its own content.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.models.facts import Fact, Noted, PagesDone, Receipt
from engine.models.outcome import Outcome
from engine.session.directories import Directories
from tests.bench.measured import MeasuredSession, new_session, settings_for
from tests.bench.programs import python_module, run_program
from tests.bench.tables import megabytes, table
from tests.support.pdfs import PdfFile

_FILES_A_FOLDER = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """What so many files cost."""

    files: int
    first_page_s: float | None
    """From the start of the program until a page was committed."""
    first_page_of_run_s: float | None
    """The same, from the start of the run."""
    listed_s: float | None
    """From the start of the run until every file stood in the manifest."""
    listed_us_per_file: float | None
    pages_meanwhile: int
    """Pages extracted until then."""
    peak_rss_main_bytes: int
    loop_lag_p99_ms: float
    loop_lag_max_ms: float
    resumed_first_page_s: float | None
    """From the start of the program that resumes until a new page was committed; None where none was left."""
    resumed_first_page_of_run_s: float | None
    resumed_peak_rss_main_bytes: int


def measure(
    sizes: Sequence[int], *, workers: int, flat: bool = False, say: Callable[[str], None] = print
) -> tuple[Enumeration, ...]:
    """Measure each number of files.

    Args:
        sizes: Numbers of files.
        workers: Worker processes.
        flat: Whether all files lie in one folder, instead of a thousand in each.
        say: Told about every step.

    Raises:
        ProgramError: When a run fails.
    """
    results = []
    for files in sizes:
        with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as place:
            say(f"writing {files:,} files")
            source = write_files(Path(place, "source"), files, flat=flat)
            say(f"running over {files:,} files")
            results.append(_measured(source, Path(place, "home"), files, workers))
    return tuple(results)


def write_files(folder: Path, files: int, *, flat: bool) -> Path:
    """Write small documents of one page, each with its own content, and return their folder."""
    for start in range(0, files, _FILES_A_FOLDER):
        place = folder if flat else folder / f"{start // _FILES_A_FOLDER:06d}"
        place.mkdir(parents=True, exist_ok=True)
        for number in range(start, min(files, start + _FILES_A_FOLDER)):
            (place / f"{number:07d}.pdf").write_bytes(_document(number))
    return folder


def lines(results: Sequence[Enumeration]) -> Iterator[str]:
    """Yield the table."""
    head = ("", *(f"{result.files:,} files" for result in results))
    yield from table(head, [(name, *(read(result) for result in results)) for name, read in _ROWS])


def _measured(source: Path, home: Path, files: int, workers: int) -> Enumeration:
    call = ("--home", str(home), "--workers", str(workers))
    fresh = run_program(python_module("enumeration", *call, "--source", str(source)))
    again = run_program(python_module("enumeration", *call))
    listed_s = _since(fresh.report["listed_s"], fresh.report["asked_s"])
    return Enumeration(
        files=files,
        first_page_s=_since(fresh.report["first_page_s"], fresh.started_s),
        first_page_of_run_s=_since(fresh.report["first_page_s"], fresh.report["asked_s"]),
        listed_s=listed_s,
        listed_us_per_file=None if listed_s is None else 1e6 * listed_s / files,
        pages_meanwhile=fresh.report["pages"],
        peak_rss_main_bytes=fresh.rss.main,
        loop_lag_p99_ms=fresh.report["loop_lag_ms"]["p99"],
        loop_lag_max_ms=fresh.report["loop_lag_ms"]["max"],
        resumed_first_page_s=_since(again.report["first_page_s"], again.started_s),
        resumed_first_page_of_run_s=_since(again.report["first_page_s"], again.report["asked_s"]),
        resumed_peak_rss_main_bytes=again.rss.main,
    )


def _since(at_s: float | None, start_s: float) -> float | None:
    return None if at_s is None else at_s - start_s


def _document(number: int) -> bytes:
    """Return the bytes of a document; a number of eight digits is all that differs."""
    return _FORM.replace(b"00000000", b"%08d" % number, 1)


def _form() -> bytes:
    file = PdfFile()
    file.page(b"BT /F1 12 Tf 72 720 Td (Record 00000000 of the archive) Tj ET")
    return file.to_bytes()


_FORM = _form()
_SECONDS = "{:.2f} s"


def _or_none(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)


_ROWS: tuple[tuple[str, Callable[[Enumeration], str]], ...] = (
    ("first page, from the program's start", lambda result: _or_none(result.first_page_s, _SECONDS)),
    ("first page, from the run's start", lambda result: _or_none(result.first_page_of_run_s, _SECONDS)),
    ("all files listed, from the run's start", lambda result: _or_none(result.listed_s, _SECONDS)),
    ("  a file", lambda result: _or_none(result.listed_us_per_file, "{:.0f} us")),
    ("  pages extracted meanwhile", lambda result: f"{result.pages_meanwhile:,}"),
    ("peak RSS, main process", lambda result: f"{megabytes(result.peak_rss_main_bytes)} MB"),
    ("loop lag p99", lambda result: f"{result.loop_lag_p99_ms:.1f} ms"),
    ("loop lag max", lambda result: f"{result.loop_lag_max_ms:.1f} ms"),
    (
        "resumed: first new page, from the program's start",
        lambda result: _or_none(result.resumed_first_page_s, _SECONDS),
    ),
    (
        "resumed: first new page, from the run's start",
        lambda result: _or_none(result.resumed_first_page_of_run_s, _SECONDS),
    ),
    ("resumed: peak RSS, main process", lambda result: f"{megabytes(result.resumed_peak_rss_main_bytes)} MB"),
)


class _Landmarks:
    """Notes when something was committed for the first time; called on the writer's thread."""

    def __init__(self, stop: Callable[[], None], *, resumed: bool) -> None:
        self._stop = stop
        self._resumed = resumed
        self.first_page_s: float | None = None
        self.listed_s: float | None = None
        self.pages = 0

    def on_commit(self, facts: Sequence[Fact], _receipt: Receipt) -> None:
        """Look for what was waited for."""
        now_s = time.monotonic()
        for fact in facts:
            if isinstance(fact, PagesDone):
                self.pages += sum(result.outcome is Outcome.EXTRACTED for result in fact.results)
                if self.pages and self.first_page_s is None:
                    self.first_page_s = now_s
            elif isinstance(fact, Noted) and fact.enumerated:
                self.listed_s = now_s
        if self.first_page_s is not None and (self._resumed or self.listed_s is not None):
            self._stop()


async def _run(session: MeasuredSession, sources: Sequence[Path]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(session.stop)

    marks = _Landmarks(stop, resumed=not sources)
    session.observer.case.on_commit = marks.on_commit
    try:
        await session.run(sources)
    finally:
        await session.close()
    found = {"first_page_s": marks.first_page_s, "listed_s": marks.listed_s, "pages": marks.pages}
    return session.observer.report() | found


def main() -> None:
    """Run over a source until every file is in the manifest, or go on with what is pending up to the first page."""
    parser = argparse.ArgumentParser(description="One run of the enumeration's benchmark")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--source", type=Path)
    given = parser.parse_args()
    directories = Directories.below(given.home)
    case = directories.cases / "bench.sluice"

    async def run() -> dict[str, Any]:
        session = new_session(case, directories=directories, settings=settings_for(given.workers))
        return await _run(session, [given.source] if given.source else [])

    json.dump(asyncio.run(run()), sys.stdout)


if __name__ == "__main__":
    main()
