"""Exports of one case: beside whatever else goes on, each recorded once it is written."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import TypeVar

from engine.case.export import export_verified
from engine.case.reader import CaseReader
from engine.case.texts import export_text
from engine.models.facts import Noted
from engine.models.run import ExportReport, TextReport
from engine.pipeline import evidence

T = TypeVar("T")


class Exports:
    """Writes exports, and knows whether one is under way.

    Args:
        reader: Opens a reader of the case, for one export.
        record: Commits the record of an export.
        thread: Writes them, one after the other.
    """

    def __init__(
        self, reader: Callable[[], CaseReader], record: Callable[[Noted], Awaitable[None]], thread: Executor
    ) -> None:
        self._reader = reader
        self._thread = thread
        self._record = record
        self._under_way = 0
        self._ended = asyncio.Event()

    async def audit(self, out: Path, *, as_it_is: bool = False) -> ExportReport:
        """Write the audit log to a file, verified before it stands under its name.

        Args:
            out: The file.
            as_it_is: Whether to write a log that does not verify all the same.

        Raises:
            ExportError: When it could not be written; then nothing new stands under that name.
            CaseDamagedError: When it does not verify; then nothing is exported.
            StorageError: When the record of the export could not be written.
        """

        def export() -> ExportReport:
            with self._reader() as reader:
                return export_verified(reader, out, as_it_is=as_it_is)

        return await self._export(
            export, lambda report: evidence.exported("audit", records=report.records, head=report.head)
        )

    async def text(self, folder: Path) -> TextReport:
        """Write the texts to a folder, one file per document.

        Raises:
            ExportError: When it could not be written.
            StorageError: When the record of the export could not be written.
        """

        def export() -> TextReport:
            with self._reader() as reader:
                return export_text(reader, folder)

        return await self._export(export, lambda report: evidence.exported("text", records=report.pages))

    async def wait(self) -> None:
        """Wait until none is under way."""
        while self._under_way:
            await self._ended.wait()

    async def _export(self, export: Callable[[], T], record: Callable[[T], Noted]) -> T:
        self._under_way += 1
        self._ended.clear()
        try:
            report = await asyncio.get_running_loop().run_in_executor(self._thread, export)
            await self._record(record(report))
            return report
        finally:
            self._under_way -= 1
            self._ended.set()
