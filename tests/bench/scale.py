"""A very large case: what it takes to open it, to go on with it, to count it and to export it.

The case is made by the program's own code from the source's seam to the file: a source that makes up files, and an
extractor that makes up pages. Each step has a process of its own, so that its memory is its own.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.case.export import export_audit
from engine.case.reader import CaseReader
from engine.case.verify import verify_file
from engine.models.document import FoundFile
from engine.models.outcome import RunState
from engine.models.run import RunSummary
from engine.session.directories import Directories
from engine.session.opening import usual_parts
from engine.session.session import Session
from engine.settings import Settings
from tests.bench.bulk import BulkExtractor
from tests.bench.measured import new_session
from tests.bench.programs import python_module, run_program
from tests.bench.tables import megabytes, table

PAGES_EACH = 3
_BATCH = 1000
_LEFT_FOR_RESUME = 0.01
_CHARS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One of the steps."""

    step: str
    """`fill` (up to the last hundredth), `open`, `resume` (to the end), `count`, `rows`, `export` or `verify`."""
    count: int
    """Pages, rows or records that it was about."""
    time_s: float
    first_s: float | None
    """From the start to the first of them, where that is what people wait for."""
    peak_rss_bytes: int


STEPS = ("fill", "open", "resume", "count", "rows", "export", "verify")


def measure(files: int, *, say: Callable[[str], None] = print) -> tuple[Step, ...]:
    """Make a case of so many documents and take every step with it.

    Raises:
        ProgramError: When one of them fails.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
        steps = []
        for step in STEPS:
            ended = run_program(python_module("scale", step, home, "--files", str(files)))
            steps.append(Step(step=step, peak_rss_bytes=ended.rss.main, **ended.report))
            say(f"{step}: {steps[-1].count:,} in {steps[-1].time_s:.2f} s, {megabytes(ended.rss.main)} MB")
    return tuple(steps)


def lines(steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield the table."""
    rows = [
        (
            step.step,
            f"{step.count:,}",
            f"{step.time_s:.2f}",
            "" if step.first_s is None else f"{step.first_s:.2f}",
            megabytes(step.peak_rss_bytes),
        )
        for step in steps
    ]
    yield from table(("step", "count", "time (s)", "first (s)", "peak RSS (MB)"), rows)


class MadeUpSource:
    """Yields files that are not there.

    Args:
        root: The folder that they would be in.
        files: How many.
    """

    def __init__(self, root: bytes, files: int) -> None:
        self._root = root
        self._files = files

    def batches(self, stop: threading.Event) -> Iterator[Sequence[FoundFile]]:
        """Yield them in batches, as a folder does."""
        for first in range(0, self._files, _BATCH):
            if stop.is_set():
                return
            yield [self._file(number) for number in range(first, min(first + _BATCH, self._files))]

    def _file(self, number: int) -> FoundFile:
        path = b"%03d/%07d.pdf" % (number // _BATCH, number)
        return FoundFile(root=self._root, path=path, size_bytes=PAGES_EACH, mtime_ns=1_700_000_000_000_000_000)


class _Steps:
    """The steps, each in a process of its own.

    Args:
        home: Where everything lies.
        files: How many documents the case has.
    """

    def __init__(self, home: Path, files: int) -> None:
        self._home = home
        self._files = files
        self._case = home / "cases" / "scale.sluice"
        self._root = home / "source"
        self._root.mkdir(exist_ok=True)
        self._first_s: float | None = None

    def take(self, step: str) -> dict[str, Any]:
        """Take one, and return what it is about and how long it took, imports not included."""
        take: Callable[[], int] = getattr(self, f"_{step}")
        started_s = time.perf_counter()
        count = take()
        ended_s = time.perf_counter()
        first_s = None if self._first_s is None else self._first_s - started_s
        return {"count": count, "time_s": ended_s - started_s, "first_s": first_s}

    def _session(self) -> Session:
        parts = replace(
            usual_parts(),
            extractor=lambda _settings: BulkExtractor(chars=_CHARS),
            source=lambda _paths: MadeUpSource(bytes(self._root), self._files),
        )
        return new_session(self._case, directories=Directories.below(self._home), settings=Settings(), parts=parts)

    def _fill(self) -> int:
        enough = round(self._files * PAGES_EACH * (1 - _LEFT_FOR_RESUME))
        return asyncio.run(self._run([self._root], until=enough)).counts.pages.terminal

    def _open(self) -> int:
        session = self._session()
        count = session.snapshot().counts.pages.enumerated
        asyncio.run(session.close())
        return count

    def _resume(self) -> int:
        before = self._read(lambda reader: reader.counts().pages.terminal)
        summary = asyncio.run(self._run([], until=None))
        if summary.state is not RunState.FINISHED or not summary.counts.reconciled:
            raise SystemExit(f"The case does not reconcile: {summary.counts}")
        return summary.counts.pages.terminal - before

    async def _run(self, sources: Sequence[Path], *, until: int | None) -> RunSummary:
        session = self._session()
        before = session.snapshot().counts.pages.terminal
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(session.run(sources))
                while not running.done():
                    await asyncio.sleep(0.01)  # between two looks
                    snapshot = session.snapshot()
                    if self._first_s is None and snapshot.counts.pages.terminal > before:
                        self._first_s = time.perf_counter()
                    if until is not None and not snapshot.enumerating and snapshot.counts.pages.terminal >= until:
                        session.stop()
            return running.result()
        finally:
            await session.close()

    def _count(self) -> int:
        return self._read(lambda reader: reader.counts().pages.terminal)

    def _rows(self) -> int:
        def read(reader: CaseReader) -> int:
            shown = 0
            for first in range(1, self._files + 1, max(1, self._files // 100)):
                shown += len(reader.document_rows(first, 100))
            return shown

        return self._read(read)

    def _export(self) -> int:
        def export(reader: CaseReader) -> int:
            records, head = export_audit(reader, self._home / "audit.jsonl")
            (self._home / "head").write_text(head)
            return records

        return self._read(export)

    def _verify(self) -> int:
        report = verify_file(self._home / "audit.jsonl", expect_head=(self._home / "head").read_text())
        if not report.ok:
            raise SystemExit(" ".join(report.problems))
        return report.records

    def _read(self, read: Callable[[CaseReader], int]) -> int:
        with CaseReader(self._case) as reader:
            return read(reader)


def main() -> None:
    """Take one step and print its figures."""
    parser = argparse.ArgumentParser(description="One step with a very large case")
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("home", type=Path)
    parser.add_argument("--files", type=int, required=True)
    given = parser.parse_args()
    json.dump(_Steps(given.home, given.files).take(given.step), sys.stdout)


if __name__ == "__main__":
    main()
