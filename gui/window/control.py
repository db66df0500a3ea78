"""The one place where the window and a session meet.

Covers opening and closing a case, the run, its pause, its limits and the exports, and turns every error of the engine
into a sentence. What is shown of a session is pulled by `refresh`; what is asked before opening is in `opening`.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from engine import (
    CaseError,
    Directories,
    EngineError,
    FlowLimits,
    Settings,
    SettingsError,
    Snapshot,
    load_settings,
    remember_case,
    save_settings,
)
from gui.views.labels import Tone
from gui.window.abilities import Abilities, abilities_of, at_rest
from gui.window.seams import CaseSession, Engine, Tasks
from gui.window.sentences import ending, exported_audit, exported_text

_log = logging.getLogger(__name__)
_LAST_WRITE_S = 5.0
"""How long a cancelled task waits for the small file that its thread is writing."""

Kept = TypeVar("Kept")


class CaseControl(QObject):
    """Holds the open case and carries out what the window wants of it.

    The mutable state is the session, whether it is being closed, whether its run goes on, whether an export does, and
    the limits that are not saved yet. It changes only in the synchronous parts of the methods below, all on the
    loop's thread.

    Signals:
        opened: A case was opened; carries its `CaseInfo`.
        closing: The case is about to be closed: ask its session for nothing more.
        closed: The case was closed.
        changed: Something changed by an action: show it now, without waiting for the next tick.
        refused: Other limits could not be taken over; carries the sentence.
        said: Something is to be told; carries the sentence and its `Tone`.
        busy: Something goes on that takes a moment; carries the sentence.
    """

    opened = Signal(object)
    closing = Signal()
    closed = Signal()
    changed = Signal()
    refused = Signal(str)
    said = Signal(str, object)
    busy = Signal(str)

    def __init__(self, *, engine: Engine, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._tasks = tasks
        self._session: CaseSession | None = None
        self._run_ended: asyncio.Event | None = None
        self._export_ended: asyncio.Event | None = None
        self._closing = False
        self._moving = asyncio.Lock()
        self._unkept: FlowLimits | None = None
        self._keeping = asyncio.Lock()
        self._writing = asyncio.Lock()

    @property
    def session(self) -> CaseSession | None:
        """The session over the open case, or None."""
        return self._session

    @property
    def running(self) -> bool:
        """Whether a run has been started and has not returned."""
        return self._run_ended is not None

    @property
    def abilities(self) -> Abilities:
        """What can be done at this moment; nothing while the case is being closed."""
        return self.abilities_in(self.snapshot())

    def abilities_in(self, snapshot: Snapshot | None) -> Abilities:
        """Return what can be done at this moment, for a snapshot that was just taken.

        Args:
            snapshot: What `snapshot` returned.
        """
        if snapshot is None or self._session is None or self._closing:
            return Abilities()
        return abilities_of(snapshot, running=self.running, read_only=self._session.info.read_only)

    def snapshot(self) -> Snapshot | None:
        """Return the state of the open case, or None where none is open."""
        if self._session is None:
            return None
        snapshot = self._session.snapshot()
        return snapshot if self.running else at_rest(snapshot, self._session.info)

    async def open(self, path: Path, *, request_id: str | None = None) -> bool:
        """Open a case, or create it, in place of the one that is open.

        Args:
            path: The case file.
            request_id: The request id of a new case.

        Returns:
            Whether it is open now; if not, the reason was told.
        """
        self.stop()
        async with self._moving:
            await self._close()
            with self._told():
                settings, trouble = await self._settings_or_defaults()
                session = await self._engine.open_case(
                    path, request_id=request_id, settings=settings, directories=self._engine.directories
                )
                self._session = session
                _log.info("case opened")
                self.opened.emit(session.info)
                if session.info.note:
                    self.said.emit(session.info.note, Tone.INFO)
                if trouble:
                    self.said.emit(trouble, Tone.WARN)
                await self._write(remember_case, self._engine.directories, session.info)
                return True
        return False

    async def close(self) -> None:
        """Stop what runs, wait until it is drained and committed, and close the case."""
        self.stop()
        async with self._moving:
            await self._close()

    async def _close(self) -> None:
        session = self._session
        if session is None:
            return
        while self._export_ended is not None:  # another one may begin before this goes on
            self.busy.emit("Closing when the export is written…")
            await self._export_ended.wait()
        self._closing = True
        self.closing.emit()
        try:
            with self._told():
                await session.close()
            if self._run_ended is not None:
                await self._run_ended.wait()
        finally:
            self._closing = False
            self._session = None
            _log.info("case closed")
            self.closed.emit()

    def run(self, sources: Sequence[Path] = ()) -> None:
        """Start a run on sources, or on what is pending; nothing where one goes on already."""
        if self._session is None or self._closing or self.running:
            return
        self._run_ended = asyncio.Event()
        if self._tasks.start(self._run(self._session, sources, self._run_ended), name="run") is None:
            self._run_ended = None
        self.changed.emit()

    async def _run(self, session: CaseSession, sources: Sequence[Path], ended: asyncio.Event) -> None:
        try:
            with self._told():
                _log.info("run started on %d sources", len(sources))
                summary = await session.run(sources, attended=True)
                _log.info("run ended: %s", summary.state)
                self.said.emit(*ending(summary))
        finally:
            self._run_ended = None
            ended.set()
            self.changed.emit()

    def pause(self) -> None:
        """Hold admission at once."""
        if self._session is not None and self.abilities.pause:
            with self._told():
                self._session.pause()
            self.changed.emit()

    def resume(self) -> None:
        """Let a held run go on, or start a run on what is pending."""
        if self._session is None or not self.abilities.resume:
            return
        with self._told():
            self._session.resume()
            self.run()
        self.changed.emit()

    def pause_or_resume(self) -> None:
        """Do what the one button for both says."""
        if self.abilities.pause:
            self.pause()
        else:
            self.resume()

    def stop(self) -> None:
        """Ask the run to drain, commit and return; at once, and safe at any time."""
        if self._session is not None and self.running:
            with self._told():
                self._session.stop()
            self.changed.emit()

    def apply(self, limits: FlowLimits) -> None:
        """Let other limits hold from now on, in this run and in later ones."""
        try:
            if self._session is not None:
                self._session.apply(replace(self._session.settings, flow=limits))
        except EngineError as error:
            self.refused.emit(error.user_message)
        else:
            self._unkept = limits
            self._tasks.start(self._keep(), name="save settings")
        self.changed.emit()

    async def _keep(self) -> None:
        """Save the limits applied last; one save at a time, so that an older one never comes after a newer one."""
        async with self._keeping:
            limits, self._unkept = self._unkept, None
            if limits is None:  # an earlier task has saved them
                return
            with self._told():
                settings, _ = await self._settings_or_defaults()
                settings = replace(settings, flow=limits)
                await self._write(save_settings, self._engine.directories, settings)

    async def export_audit(self, out: Path, *, shown_as: str) -> None:
        """Write the audit log to a file, verify it and tell the result.

        Args:
            out: The file.
            shown_as: How the file is named in the message.
        """
        if (session := self._begin_export("Exporting the audit log…")) is not None:
            with self._export_ends(), self._told():
                self.said.emit(*exported_audit(await session.export_audit(out), shown_as))

    async def export_text(self, folder: Path, *, shown_as: str) -> None:
        """Write the texts below a folder and tell the result.

        Args:
            folder: The folder.
            shown_as: How the folder is named in the message.
        """
        if (session := self._begin_export("Exporting the texts…")) is not None:
            with self._export_ends(), self._told():
                self.said.emit(*exported_text(await session.export_text(folder), shown_as))

    def _begin_export(self, sentence: str) -> CaseSession | None:
        if self._session is None:
            return None
        if self._closing:
            self.said.emit("The case is being closed; open it again to export from it.", Tone.WARN)
            return None
        if self._export_ended is not None:
            self.said.emit("An export is being written already; wait for it to end.", Tone.WARN)
            return None
        self._export_ended = asyncio.Event()
        self.busy.emit(sentence)
        return self._session

    @contextmanager
    def _export_ends(self) -> Iterator[None]:
        ended = self._export_ended
        try:
            yield
        finally:
            self._export_ended = None
            if ended is not None:
                ended.set()
            self.changed.emit()

    async def _settings_or_defaults(self) -> tuple[Settings, str]:
        """Return the saved settings; where they cannot be used, the defaults and a sentence on that.

        A case that is finished needs no settings to be looked at, and a window is where other ones are made.
        """
        try:
            return await asyncio.to_thread(load_settings, self._engine.directories), ""
        except SettingsError as error:
            return Settings(), (
                f"{error.user_message} Until then the default limits hold. The file is left as it is; applying other "
                "limits in this window replaces it."
            )

    async def _write(self, write: Callable[[Directories, Kept], None], directories: Directories, what: Kept) -> None:
        """Write one of the program's own files, in a thread and one at a time, even where a writer is cancelled."""
        async with self._writing:
            written = asyncio.get_running_loop().run_in_executor(None, write, directories, what)
            try:
                await asyncio.shield(written)
            except asyncio.CancelledError:
                # A thread cannot be stopped, and the next writer must not be overtaken by this one.
                await asyncio.wait([written], timeout=_LAST_WRITE_S)
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell an error of the engine instead of letting it go on; anything else is a fault and goes on."""
        try:
            yield
        except EngineError as error:
            if not (self._closing and isinstance(error, CaseError)):  # closing under a call is no news
                self.said.emit(error.user_message, Tone.BAD)
