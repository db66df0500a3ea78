"""Where an export goes: the file dialogs before the audit log or the texts are written.

Covers the questions. Writing is the engine's, telling the result is the business of `control`.
"""

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from engine import CaseInfo
from gui.views.messages import result_of, shown_path
from gui.views.start_dialog import look_at
from gui.window.control import CaseControl
from gui.window.seams import Tasks
from gui.window.sentences import case_name


class Saving(QObject):
    """Asks where to, and has it written. Every public method returns at once.

    Args:
        control: Has the case and exports it.
        tasks: Owner of the tasks.
        window: The window that dialogs belong to.
    """

    def __init__(self, *, control: CaseControl, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._control = control
        self._tasks = tasks
        self._window = window
        self._asking = False

    def export_audit(self) -> None:
        """Ask for a file and write the audit log to it."""
        session = self._control.session
        if session is not None and not self._asking:
            self._asking = self._tasks.start(self._export_audit(session.info), name="export audit log") is not None

    def export_text(self) -> None:
        """Ask for a folder and write the texts below it."""
        session = self._control.session
        if session is not None and not self._asking:
            self._asking = self._tasks.start(self._export_text(session.info), name="export texts") is not None

    async def _export_audit(self, info: CaseInfo) -> None:
        proposed = info.path.with_name(f"{case_name(info)}-audit.jsonl")
        dialog = QFileDialog(self._window, "Export the audit log", str(proposed))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("Audit log, one JSON record a line (*.jsonl)")
        dialog.setDefaultSuffix("jsonl")
        dialog.selectFile(proposed.name)
        out = await self._chosen(dialog)
        if out is not None:
            await self._control.export_audit(out, shown_as=shown_path(out))

    async def _export_text(self, info: CaseInfo) -> None:
        dialog = QFileDialog(self._window, "Export the texts into a folder", str(info.path.parent))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        chosen = await self._chosen(dialog)
        if chosen is not None:
            # A folder of its own, which is new: texts of two exports must not get mixed.
            folder = (await asyncio.to_thread(look_at, chosen / f"{case_name(info)}-texts")).free
            await self._control.export_text(folder, shown_as=shown_path(folder))

    async def _chosen(self, dialog: QFileDialog) -> Path | None:
        try:
            accepted = await result_of(dialog) == QDialog.DialogCode.Accepted
        finally:
            self._asking = False
        return Path(dialog.selectedFiles()[0]) if accepted and dialog.selectedFiles() else None
