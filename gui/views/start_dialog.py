"""The one question before a run: under which request id, and in which case file.

Covers the dialog over given sources. Opening the case and running it is the business of `gui.window`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from engine import CASE_SUFFIX
from gui.views.labels import PlainLabel, caption
from gui.views.messages import shown_path

SHOWN_SOURCES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChoice:
    """What the person decided."""

    request_id: str | None
    """The request id of a new case, or None to go on with the case that the file holds."""
    case_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands where a case file is to go."""

    path: Path
    exists: bool
    is_folder: bool
    free: Path
    """A name next to it that no file has."""


def look_at(path: Path) -> Place:
    """Return what stands at a path. It asks the file system: call it on a thread, never on the event loop.

    Where the system refuses to look, nothing seems to be there: making the case then says what is wrong.
    """
    free = path
    number = 2
    while os.path.exists(free):  # noqa: PTH110  # unlike `Path.exists`, no error where the system refuses to look
        free = path.with_name(f"{path.stem} {number}{path.suffix}")
        number += 1
    is_folder = os.path.isdir(path)  # noqa: PTH112  # as above
    return Place(path=path, exists=free != path, is_folder=is_folder, free=free)


class StartDialog(QDialog):
    """Asks for the request id and the place of the case file, with sensible answers filled in.

    Signals:
        place_asked: Another case file was named; carries its `Path`. Answer with `show_place`; until then the dialog
            cannot be accepted.

    Args:
        sources: What was dropped or chosen.
        request_id: Proposed request id.
        case_path: Proposed case file.
        parent: The window that it belongs to.
    """

    place_asked = Signal(object)

    def __init__(
        self, sources: Sequence[Path], *, request_id: str, case_path: Path, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Start a run")
        self.setMinimumWidth(640)
        self._proposed_id = request_id
        self._sources = PlainLabel(summary_of(sources), wrap=True)
        self._sources.setAccessibleName("Sources")
        self.request_id = QLineEdit(request_id)
        self.request_id.setAccessibleDescription("The same bytes under the same request id are extracted once.")
        self.case_path = QLineEdit(str(case_path))
        self.case_path.setAccessibleDescription("All text and the audit log go into this one file.")
        browse = QPushButton("&Browse…")
        browse.clicked.connect(self._browse)
        place = QHBoxLayout()
        place.setSpacing(8)
        place.addWidget(self.case_path, 1)
        place.addWidget(browse)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setVerticalSpacing(12)
        form.addRow("Sources", self._sources)
        form.addRow("&Request id", self.request_id)
        form.addRow("&Case file", place)
        place_label = form.labelForField(place)
        if place_label is not None:
            place_label.setBuddy(self.case_path)  # type: ignore[attr-defined]  # a row's label is a QLabel
        self.hint = caption(wrap=True)
        self.hint.setMinimumHeight(self.fontMetrics().lineSpacing() * 3)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.other_name = QPushButton("Use &another name")
        self.other_name.clicked.connect(self._use_other_name)
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.start_button = QPushButton("&Start")
        self.start_button.setDefault(True)
        self.start_button.setProperty("main", True)
        self._buttons.addButton(self.start_button, QDialogButtonBox.ButtonRole.AcceptRole)
        self._buttons.addButton(self.other_name, QDialogButtonBox.ButtonRole.ActionRole)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 20)
        column.setSpacing(16)
        column.addLayout(form)
        column.addWidget(self.hint)
        column.addWidget(self._buttons)
        self._place: Place | None = None
        self.request_id.textChanged.connect(self._check)
        self.case_path.textChanged.connect(self._check)
        self.request_id.setFocus()
        self.request_id.selectAll()
        self._check()

    @property
    def choice(self) -> StartChoice:
        """What the fields say now."""
        exists = self._place is not None and self._place.exists
        return StartChoice(request_id=None if exists else self.request_id.text().strip(), case_path=self.path)

    @property
    def path(self) -> Path:
        """The case file that the field names, with the suffix that case files have."""
        path = Path(self.case_path.text().strip())
        return path if path.suffix == CASE_SUFFIX or not path.name else path.with_name(path.name + CASE_SUFFIX)

    def show_place(self, place: Place) -> None:
        """Take in what stands at a path; an answer that the field has overtaken is dropped."""
        if place.path == self.path:
            self._place = place
            self._check()

    def _check(self) -> None:
        """Say what Start would do with the fields as they are, and allow it only where it can work."""
        path = self.path
        usable = path.is_absolute() and bool(path.name)
        if self._place is not None and self._place.path != path:
            self._place = None
        if self._place is None and usable:
            self.place_asked.emit(path)
        place = self._place
        exists = place is not None and place.exists
        self.request_id.setEnabled(not exists)
        self.other_name.setVisible(exists)
        self.start_button.setText("&Go on with this case" if exists else "&Start")
        problem = ""
        if not usable:
            problem = "Give the full path of the case file."
        elif place is not None and place.is_folder:
            problem = "There is a folder of this name. Choose another name."
        elif not exists and not self.request_id.text().strip():
            problem = "Give a request id: it ties the texts and the log to the request that they answer."
        self.start_button.setEnabled(not problem and place is not None)
        if problem:
            self.hint.setText(problem)
        elif exists:
            self.hint.setText(
                "This case exists already and keeps its own request id. Going on adds these sources to it; what it "
                "has done is not done again."
            )
        else:
            self.hint.setText(
                "The case file will hold every text and the audit log. The sources are only read, never changed."
            )

    def _use_other_name(self) -> None:
        if self._place is not None:
            self.case_path.setText(str(self._place.free))
            self.request_id.setFocus()

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Where the case file goes", str(self.path))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"Sluicegate cases (*{CASE_SUFFIX})")
        dialog.setDefaultSuffix(CASE_SUFFIX.lstrip("."))
        # An existing case is no mistake here: the dialog says what going on with it means.
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.case_path.setText)
        dialog.open()


def summary_of(sources: Sequence[Path]) -> str:
    """Return the first few sources, one a line and inert, and how many more there are."""
    lines = [shown_path(path) for path in sources[:SHOWN_SOURCES]]
    more = len(sources) - SHOWN_SOURCES
    if more > 0:
        lines.append(f"and {more:,} more")
    return "\n".join(lines)
