"""From what a person drops or chooses to an open case and its run.

Covers dropped paths, the file dialogs and the one question before a run. Opening itself is the business of `control`.
Every public method returns at once; the work goes on in a task.
"""

import asyncio
import os
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from PySide6.QtCore import QObject, QUrl
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget
from shiboken6 import isValid

from engine import CASE_SUFFIX, EngineError, default_case_path, default_request_id
from gui.views.labels import Tone
from gui.views.messages import result_of, shown_path
from gui.views.start_dialog import StartChoice, StartDialog, look_at
from gui.window.control import CaseControl
from gui.window.seams import Engine, Tasks


def local_paths(urls: Iterable[QUrl]) -> tuple[Path, ...]:
    """Return the local files and folders among dropped addresses, names that are not UTF-8 included.

    `QUrl.toLocalFile` replaces bytes that are not UTF-8, so that the file would not be found any more. Does not look
    at the file system.
    """
    found = []
    for url in urls:
        if not url.isLocalFile():
            continue
        if os.name == "nt":
            found.append(Path(url.toLocalFile()))
        else:
            encoded = url.path(QUrl.ComponentFormattingOption.FullyEncoded)
            found.append(Path(os.fsdecode(unquote_to_bytes(encoded))))
    return tuple(found)


def _missing(paths: Iterable[Path]) -> list[Path]:
    """Return those that are not there, or that the system refuses to look at; blocking."""
    return [path for path in paths if not os.path.exists(path)]  # noqa: PTH110  # `Path.exists` raises where refused


class Opening(QObject):
    """Everything that ends with a case being open.

    Args:
        control: Opens cases and runs them.
        engine: The ways into the engine.
        tasks: Owner of the tasks.
        window: The window that dialogs belong to.
    """

    def __init__(self, *, control: CaseControl, engine: Engine, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._control = control
        self._engine = engine
        self._tasks = tasks
        self._window = window
        self._busy = False

    def take(self, paths: Sequence[Path], *, ask: bool = True) -> None:
        """Open case files and run on everything else.

        Args:
            paths: Folders, files and case files.
            ask: Whether to ask for the request id and the case file, or to take the proposals.
        """
        if paths:
            self._start(self._take(tuple(paths), ask=ask))

    def open_case(self, path: Path) -> None:
        """Open a case file and show where it stands."""
        self._start(self._open_case(path, ()))

    def choose_folder(self) -> None:
        """Ask for a folder and run on it."""
        self._start(self._choose(QFileDialog.FileMode.Directory, "Open a folder of PDFs", ""))

    def choose_files(self) -> None:
        """Ask for files and run on them."""
        filters = "PDF files (*.pdf *.PDF);;All files (*)"
        self._start(self._choose(QFileDialog.FileMode.ExistingFiles, "Open PDF files", filters))

    def choose_case(self) -> None:
        """Ask for a case file and open it."""
        filters = f"Sluicegate cases (*{CASE_SUFFIX})"
        self._start(self._choose(QFileDialog.FileMode.ExistingFile, "Open a case", filters))

    def sample(self) -> None:
        """Write the sample batch and run on it, with the proposals taken."""
        self._start(self._sample())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start one flow; while one is under way, its dialog is open and another would confuse."""
        if self._busy:
            work.close()
            return
        self._busy = self._tasks.start(self._one_at_a_time(work), name="open") is not None

    async def _one_at_a_time(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except EngineError as error:
            self._control.said.emit(error.user_message, Tone.BAD)
        finally:
            self._busy = False

    async def _choose(self, mode: QFileDialog.FileMode, title: str, filters: str) -> None:
        dialog = QFileDialog(self._window, title)
        dialog.setFileMode(mode)
        if filters:
            dialog.setNameFilter(filters)
        if mode is QFileDialog.FileMode.Directory:
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if mode is QFileDialog.FileMode.ExistingFile:
            dialog.setDirectory(str(self._engine.directories.cases))
        if await result_of(dialog) == QDialog.DialogCode.Accepted:
            await self._take(tuple(Path(name) for name in dialog.selectedFiles()), ask=True)

    async def _take(self, paths: tuple[Path, ...], *, ask: bool) -> None:
        cases = [path for path in paths if path.suffix == CASE_SUFFIX]
        sources = tuple(path for path in paths if path.suffix != CASE_SUFFIX)
        if len(cases) > 1:
            self._control.said.emit("One window shows one case: drop a single case file.", Tone.WARN)
        elif self._control.running:
            self._control.said.emit(
                "A run is going on in this window. Stop it or let it finish before you start on other sources.",
                Tone.WARN,
            )
        elif cases:
            await self._open_case(cases[0], sources)
        else:
            await self._begin(sources, ask=ask)

    async def _open_case(self, path: Path, sources: tuple[Path, ...]) -> None:
        if (self._is_open(path) or await self._control.open(path)) and sources:
            self._control.run(sources)

    def _is_open(self, path: Path) -> bool:
        session = self._control.session
        return session is not None and session.info.path == path

    async def _begin(self, sources: tuple[Path, ...], *, ask: bool) -> None:
        # Before a case is made for it: a case about a mistyped folder would only be in the way.
        missing = await asyncio.to_thread(_missing, sources)
        if missing:
            self._control.said.emit(
                f"There is no folder or file {shown_path(missing[0])}, or it cannot be reached. Nothing was started; "
                "check the name, and whether you may open it.",
                Tone.BAD,
            )
            return
        session = self._control.session
        proposed_path = (
            session.info.path
            if session is not None
            else await asyncio.to_thread(default_case_path, self._engine.directories, sources)
        )
        proposed_id = default_request_id(sources)
        choice: StartChoice | None = StartChoice(request_id=proposed_id, case_path=proposed_path)
        if ask:
            choice = await self._ask(sources, proposed_id, proposed_path)
        if choice is None:
            return
        if self._is_open(choice.case_path) or await self._control.open(choice.case_path, request_id=choice.request_id):
            self._control.run(sources)

    async def _ask(self, sources: Sequence[Path], request_id: str, case_path: Path) -> StartChoice | None:
        dialog = StartDialog(sources, request_id=request_id, case_path=case_path, parent=self._window)

        def look(path: Path) -> None:
            self._tasks.start(answer(path), name="look at the case file's place")

        async def answer(path: Path) -> None:
            place = await asyncio.to_thread(look_at, path)
            if isValid(dialog):
                dialog.show_place(place)

        dialog.place_asked.connect(look)
        look(dialog.path)
        accepted = await result_of(dialog) == QDialog.DialogCode.Accepted
        return dialog.choice if accepted else None

    async def _sample(self) -> None:
        folder = self._engine.directories.samples / "sample-batch"
        if self._control.running:
            await self._take((folder,), ask=False)
            return
        self._control.busy.emit("Writing the sample batch…")
        number = await self._engine.write_sample_batch(folder)
        self._control.said.emit(f"Wrote {number:,} sample files to {shown_path(folder)}", Tone.INFO)
        await self._begin((folder,), ask=False)
