"""What the window needs from outside: a session, the ways to get one, and an owner for its tasks.

These protocols belong to the window. The engine's session fits the first ones; `gui.app` provides the last.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine import (
    CaseInfo,
    DeadLetterRow,
    Directories,
    DocumentRow,
    ExportReport,
    HoldMark,
    MetricSample,
    RunSummary,
    Settings,
    Snapshot,
    TextReport,
)


class MetricsReader(Protocol):
    """The rings of metrics, to be read by whoever draws them."""

    def read(self, window_s: float | None, points: int) -> Sequence[MetricSample]:
        """Return at most `points` samples of the last `window_s` seconds, or of all time for None."""
        ...

    def holds(self, window_s: float | None) -> Sequence[HoldMark]:
        """Return the holds in that time."""
        ...

    def rss_slope_bytes_per_s(self) -> float | None:
        """Return the trend of resident memory, or None where it is too early to tell."""
        ...


class CaseSession(Protocol):
    """An open case, as far as the window uses it; errors that leave it are `EngineError`."""

    @property
    def info(self) -> CaseInfo:
        """What identifies the case."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        ...

    @property
    def metrics(self) -> MetricsReader:
        """The metrics of this session."""
        ...

    def snapshot(self) -> Snapshot:
        """Return everything that header and status line show; cheap, at any time."""
        ...

    async def run(self, sources: Sequence[Path] = (), *, attended: bool = False) -> RunSummary:
        """Run on these sources, or go on with what is pending; returns when it is finished or stopped."""
        ...

    def pause(self) -> None:
        """Hold admission at once."""
        ...

    def resume(self) -> None:
        """Let admission go again."""
        ...

    def stop(self) -> None:
        """Admit nothing more, drain, commit, and let `run` return."""
        ...

    def apply(self, settings: Settings) -> None:
        """Take over other settings at once."""
        ...

    async def document_rows(self, first: int, limit: int) -> Sequence[DocumentRow]:
        """Return rows of the manifest, from number `first`, counted from 1."""
        ...

    async def dead_letter_rows(self, first: int, limit: int) -> Sequence[DeadLetterRow]:
        """Return dead letters, from number `first`, counted from 1."""
        ...

    async def export_audit(self, out: Path) -> ExportReport:
        """Write the audit log to a file and verify it."""
        ...

    async def export_text(self, folder: Path) -> TextReport:
        """Write the texts below a folder."""
        ...

    async def close(self) -> None:
        """Stop, wait, end the workers and close the case."""
        ...


class CaseOpener(Protocol):
    """Opens a case, or creates it where the file does not exist."""

    def __call__(
        self, path: Path, *, request_id: str | None, settings: Settings | None, directories: Directories
    ) -> Awaitable[CaseSession]:
        """Return the session over the case."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The ways into the engine that the window uses."""

    directories: Directories
    """Where the program keeps its own files."""
    open_case: CaseOpener
    write_sample_batch: Callable[[Path], Awaitable[int]]
    """Writes sample documents to a folder and returns how many."""


class Tasks(Protocol):
    """Owns the tasks that the window starts: reports their failures, and ends them with the window."""

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[None] | None:
        """Start a task; None once the window is going away."""
        ...
