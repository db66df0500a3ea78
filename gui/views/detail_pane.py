"""A table with everything about its current row beside it.

Covers showing a `Details`; what is said about a record is decided in `gui.models.details`.
"""

import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QScrollArea, QSplitter, QVBoxLayout, QWidget

from gui.models.details import Details
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, breakable, caption, card, resize_font
from gui.views.tables import RecordView

_HINT = "Select a row to see what happened, what it means and what to do."
_PANE_WIDTH_PX = 330
_LONG_WORD = 20


class DetailPane(QWidget):
    """Shows one record, spelled out."""

    def __init__(self, *, icons: Icons, parent: QWidget | None = None) -> None:
        """Show a hint.

        Args:
            icons: The drawing on the button.
            parent: The splitter.
        """
        super().__init__(parent)
        self.details: Details | None = None
        self.title_label = PlainLabel(wrap=True)
        self.headline_label = PlainLabel(wrap=True)
        self.copy_button = QPushButton("Cop&y all of this")
        self._body = QWidget()
        self._rows = QGridLayout(self._body)
        self._pairs: list[tuple[PlainLabel, PlainLabel]] = []
        self._set_up(icons)
        self.show_details(None)

    def _set_up(self, icons: Icons) -> None:
        resize_font(self.headline_label, 1.15, weight=QFont.Weight.DemiBold)
        self.title_label.setProperty("caption", True)
        self._rows.setContentsMargins(0, 6, 0, 0)
        self._rows.setHorizontalSpacing(12)
        self._rows.setVerticalSpacing(7)
        self._rows.setColumnStretch(1, 1)
        self.copy_button.setProperty("flat", True)
        icons.dress(self.copy_button, IconName.COPY)
        self.copy_button.clicked.connect(self.copy)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(3)
        column.addWidget(self.headline_label)
        column.addWidget(self.title_label)
        column.addWidget(self._body)
        column.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.viewport().setAutoFillBackground(False)
        inside.setAutoFillBackground(False)
        frame = card()
        around = QVBoxLayout(frame)
        around.setContentsMargins(1, 1, 1, 1)
        around.addWidget(scroll)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(frame)

    def show_details(self, details: Details | None) -> None:
        """Show a record, or the hint for None."""
        self.details = details
        self.headline_label.setVisible(details is not None)
        self.copy_button.setVisible(details is not None)
        self._body.setVisible(details is not None)
        self.title_label.show_text(_HINT if details is None else breakable(details.title))
        self.setAccessibleName("Details of the selected row")
        self.setAccessibleDescription(_HINT if details is None else details.text)
        if details is None:
            return
        self.headline_label.show_text(details.headline)
        self._fill([*details.sentences, *details.fields])

    def copy(self) -> None:
        """Copy everything that is shown, as plain text."""
        if self.details is not None:
            QGuiApplication.clipboard().setText(self.details.text)

    def _fill(self, pairs: list[tuple[str, str]]) -> None:
        """Show names and values, with the labels that are there and more where they do not suffice."""
        while len(self._pairs) < len(pairs):
            self._pairs.append((caption(), _answer()))
            for side, label in enumerate(self._pairs[-1]):
                self._rows.addWidget(label, len(self._pairs) - 1, side, Qt.AlignmentFlag.AlignTop)
        for place, labels in enumerate(self._pairs):
            for side, label in enumerate(labels):
                label.show_text(_wrappable(pairs[place][side]) if place < len(pairs) else "")
                label.setVisible(place < len(pairs))


def _wrappable(text: str) -> str:
    """Return a text that fits the pane: words too long for it get places to break at, all others stay as they are."""
    return re.sub(rf"\S{{{_LONG_WORD},}}", lambda word: re.sub(r"(\S{8})", "\\1\u200b", breakable(word[0])), text)


def _answer() -> PlainLabel:
    label = PlainLabel(wrap=True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label


class TableWithDetails(QSplitter):
    """A table, and everything about its current row at its right."""

    def __init__(
        self, view: RecordView, describe: Callable[[Any], Details], *, icons: Icons, parent: QWidget | None = None
    ) -> None:
        """Join a table with its details.

        Args:
            view: The table.
            describe: Spells a record of that table out.
            icons: The drawings.
            parent: The page it is on.
        """
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.view = view
        self.pane = DetailPane(icons=icons)
        self._describe = describe
        self.setChildrenCollapsible(True)
        self.setHandleWidth(9)
        self.addWidget(view)
        self.addWidget(self.pane)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        self.setSizes([3 * _PANE_WIDTH_PX, _PANE_WIDTH_PX])
        self.setCollapsible(0, False)
        view.record_changed.connect(self._show)

    def _show(self, record: Any | None) -> None:
        self.pane.show_details(None if record is None else self._describe(record))
