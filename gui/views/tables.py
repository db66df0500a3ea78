"""A table over a list of any length: whole rows, the keyboard, copying, and words where it is empty.

Covers the view; which records there are comes from a `RecordTable`. It never asks for the size of its contents, and
never looks at more rows than it shows.
"""

from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QRect, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from gui.models.plain_rows import tab_separated
from gui.models.record_table import Index, RecordTable
from gui.views.cells import ICON_PX, MarkDelegate
from gui.views.icons import IconName, Icons
from gui.views.theme import Themes

MOST_COPIED = 10_000
"""Most rows looked through for one copy: what a person can have looked at, and what is held at all."""

_CELL_PADDING_PX = 26
_LEAST_STRETCHED_PX = 220
_ROW_PADDING_PX = 11
_EMPTY_MARGIN_PX = 32
_BY_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


class RecordView(QTableView):
    """Shows a record table.

    Signals:
        opened (object): A record was activated, by Return or a double click.
        record_changed (object): Another record is current, or it has other values now; None for no record.
        copied (int, int): So many rows were copied, of so many that were selected. They differ where rows are
            selected that were never shown and therefore are not here.
    """

    opened = Signal(object)
    record_changed = Signal(object)
    copied = Signal(int, int)

    def __init__(
        self,
        model: RecordTable[Any],
        *,
        name: str,
        empty_title: str,
        empty_text: str,
        themes: Themes,
        icons: Icons,
        parent: QWidget | None = None,
    ) -> None:
        """Show a model.

        Args:
            model: The rows.
            name: What the table is called by a screen reader.
            empty_title: Shown where there are no rows, large.
            empty_text: And below it.
            themes: Says which colours are in force.
            icons: The drawings in cells.
            parent: The page it is on.
        """
        super().__init__(parent)
        self.setAccessibleName(name)
        self._themes = themes
        self._table = model
        self._empty = (empty_title, empty_text)
        self.copy_action = self._copy_action(icons)  # before the model: Qt tells of its selection at once
        self.setModel(model)
        marks = MarkDelegate(themes=themes, icons=icons, parent=self)
        for place, column in enumerate(model.columns):
            if column.mark:  # all other cells are drawn without a line of Python
                self.setItemDelegateForColumn(place, marks)
        self._set_up_rows()
        self._set_up_columns(model)
        self.addAction(self.copy_action)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.activated.connect(self._open)
        model.dataChanged.connect(self._follow_changes)
        themes.changed.connect(self._repaint)

    def _copy_action(self, icons: Icons) -> QAction:
        action = QAction("&Copy rows", self)
        action.setShortcut(QKeySequence.StandardKey.Copy)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.setEnabled(False)
        action.triggered.connect(self.copy_selected)
        icons.dress(action, IconName.COPY)
        return action

    def _set_up_rows(self) -> None:
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys walk in it
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + _ROW_PADDING_PX)

    def _set_up_columns(self, model: RecordTable[Any]) -> None:
        header = self.horizontalHeader()
        # Qt asks the selection whether a whole column is selected whenever it paints a header, and answers by asking
        # every row: with a million rows selected, that takes minutes. An own, empty selection is answered at once.
        header.setSelectionModel(QItemSelectionModel(model, header))
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setMinimumSectionSize(48)
        header.setFixedHeight(self.fontMetrics().height() + 16)
        metrics = self.fontMetrics()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.Bold)
        titles = QFontMetrics(bold)
        for place, column in enumerate(model.columns):
            cell = metrics.horizontalAdvance(column.typical) + (ICON_PX + 6 if column.mark else 0)
            header.resizeSection(place, max(cell, titles.horizontalAdvance(column.title)) + _CELL_PADDING_PX)
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.Interactive)

    def _stretch(self) -> None:
        """Give the room that is left to the column that takes it; where there is none, the table scrolls sideways."""
        header = self.horizontalHeader()
        for place, column in enumerate(self._table.columns):
            if column.stretches:
                others = header.length() - header.sectionSize(place)
                header.resizeSection(place, max(_LEAST_STRETCHED_PX, self.viewport().width() - others))

    def visible_range(self) -> tuple[int, int] | None:
        """Return the first and the last row that show, counted from 0, or None where there are none."""
        count = self._table.rowCount()
        first, last = self.rowAt(0), self.rowAt(max(0, self.viewport().height() - 1))
        if count == 0 or first < 0:
            return None
        return first, count - 1 if last < 0 else last

    def refresh(self) -> None:
        """Ask anew for what shows; see `RecordTable.refresh_visible`."""
        shown = self.visible_range()
        if shown is not None and self.isVisible():
            self._table.refresh_visible(*shown)

    def current_record(self) -> Any | None:
        """Return the record of the current row, or None where there is none or it has not come yet."""
        index = self.currentIndex()
        return self._table.held_record(index.row()) if index.isValid() else None

    def copy_selected(self) -> None:
        """Copy the selected rows to the clipboard, as plain tab-separated text."""
        selected = 0
        records: list[Any] = []
        # Ranges, never single rows: Qt would make an index for each of a million.
        ranges = sorted((block.top(), block.bottom()) for block in self.selectionModel().selection().toList())
        for top, bottom in ranges:
            selected += bottom - top + 1
            for row in range(top, min(bottom, top + MOST_COPIED) + 1):
                record = self._table.held_record(row)
                if record is not None and len(records) < MOST_COPIED:
                    records.append(record)
        if records:
            QGuiApplication.clipboard().setText(tab_separated(self._table.columns, records))
        self.copied.emit(len(records), selected)

    def _repaint(self) -> None:
        self.viewport().update()

    def _open(self, index: QModelIndex) -> None:
        record = self._table.held_record(index.row())
        if record is not None:
            self.opened.emit(record)

    def _follow_changes(self, top_left: QModelIndex, bottom_right: QModelIndex) -> None:
        index = self.currentIndex()
        if index.isValid() and top_left.row() <= index.row() <= bottom_right.row():
            self.record_changed.emit(self.current_record())

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Override: tell which record is current."""
        super().currentChanged(current, previous)
        if current.row() != previous.row():
            self.record_changed.emit(self._table.record(current.row()) if current.isValid() else None)

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        """Override: let copying be possible only where something is selected."""
        super().selectionChanged(selected, deselected)
        self.copy_action.setEnabled(self.selectionModel().hasSelection())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Override: whoever comes by keyboard sees from which row the arrow keys start."""
        super().focusInEvent(event)
        shown = self.visible_range()
        if shown is None or self.selectionModel().hasSelection():
            return
        if self.currentIndex().isValid():
            self.selectRow(self.currentIndex().row())  # Qt made it current without a sign
        elif event.reason() in _BY_KEYBOARD:
            self.selectRow(shown[0])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Override: keep the columns as wide as the table."""
        super().resizeEvent(event)
        self._stretch()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Override: say why there is nothing to see."""
        super().paintEvent(event)
        if self._table.rowCount():
            return
        title, text = self._empty
        painter = QPainter(self.viewport())
        area = self.viewport().rect().adjusted(_EMPTY_MARGIN_PX, _EMPTY_MARGIN_PX, -_EMPTY_MARGIN_PX, -_EMPTY_MARGIN_PX)
        upper = QRect(area.left(), area.top(), area.width(), area.height() // 2 - 4)
        lower = QRect(area.left(), upper.bottom() + 8, area.width(), area.height() // 2 - 4)
        across = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        font = QFont(self.font())
        font.setPointSizeF(max(1.0, font.pointSizeF()) * 1.25)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(self._themes.current.text))
        painter.drawText(upper, int(across | Qt.AlignmentFlag.AlignBottom), title)
        painter.setFont(self.font())
        painter.setPen(QColor(self._themes.current.muted))
        painter.drawText(lower, int(across | Qt.AlignmentFlag.AlignTop), text)
