"""A table model over a list of any length that is read block by block, as it is looked at.

Covers what both tables share: memory that does not grow with the list, asking for what is missing, growing without
a reset and refreshing without flicker. It knows no database: it says what it needs, and is given it.
"""

import html
from collections.abc import Sequence
from typing import Any, Generic

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from gui.models.blocks import BLOCK_ROWS, Blocks
from gui.models.columns import Column, Role, Row
from gui.models.throttle import Throttle

LOADING = "…"
"""Shown in a row that has not come yet."""

_ASK_DELAY_MS = 40
_PATIENCE_MS = 5000
"""After this time an answer is not waited for any longer."""
_MOST_WANTED = 4
"""Blocks that wait to be asked for: what a view shows, and no more of what a fast scroll flew over."""

Index = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()


class RecordTable(QAbstractTableModel, Generic[Row]):
    """Rows of records, numbered from 1 by whoever owns them; row 0 of the model is number 1.

    Signals:
        requested (int, int): Records are looked at that are not here or out of date: number of the first one (from
            1) and how many. Answer with `put_rows`, or with `drop_request` where that fails. One request is under
            way at a time; a new one means that the one before is answered, dropped or given up.
    """

    requested = Signal(int, int)

    def __init__(self, columns: Sequence[Column[Row]], parent: QObject | None = None) -> None:
        """Start with no rows.

        Args:
            columns: The columns, in order.
            parent: Owner of the model.
        """
        super().__init__(parent)
        self.columns = tuple(columns)
        self._row_count = 0
        self._blocks: Blocks[Row] = Blocks()
        # The state of asking: blocks that a view wants, the newest last; the one that is asked for; whether that one
        # went out of date before its answer came.
        self._wanted: dict[int, None] = {}
        self._asked: int | None = None
        self._outdated = False
        self._asking = Throttle(self._ask, delay_ms=_ASK_DELAY_MS, parent=self)
        self._patience = Throttle(self._give_up, delay_ms=_PATIENCE_MS, parent=self)

    @property
    def held_records(self) -> int:
        """How many records are in memory."""
        return self._blocks.records

    def set_row_count(self, count: int) -> None:
        """Say how many records there are; the table grows or shrinks at its end, without a reset."""
        if count > self._row_count:
            self.beginInsertRows(_NO_PARENT, self._row_count, count - 1)
            self._row_count = count
            self.endInsertRows()
        elif count < self._row_count:
            self.beginRemoveRows(_NO_PARENT, count, self._row_count - 1)
            self._row_count = count
            self._blocks.cut(count)
            self.endRemoveRows()

    def clear(self) -> None:
        """Forget everything, for another case."""
        self.beginResetModel()
        self._row_count = 0
        self._blocks.clear()
        self._wanted.clear()
        self._asking.drop()
        self._settle()
        self.endResetModel()

    def put_rows(self, first: int, rows: Sequence[Row]) -> None:
        """Take over records that were asked for; those beyond the known end are left out.

        Args:
            first: Number of the first record, from 1, as it was asked for.
            rows: The record of that number and those after it; fewer than were asked for where there are no more.
        """
        start = first - 1
        fitting = rows[: max(0, self._row_count - start)]
        if fitting:
            last_column = len(self.columns) - 1
            for top, bottom in self._blocks.put(start, fitting):
                self.dataChanged.emit(self.index(top, 0), self.index(bottom, last_column))
        block = self._blocks.block_of(start)
        if block == self._asked:
            again = self._outdated
            self._settle()
            if again:
                self._want(block)
            self._ask()

    def drop_request(self, first: int) -> None:
        """Say that a request will not be answered; its records are asked for again when they are looked at again."""
        if self._blocks.block_of(first - 1) == self._asked:
            self._give_up()

    def refresh_visible(self, first: int, last: int) -> None:
        """Ask anew for what a view shows, and for everything else once it is looked at again.

        What is shown stays until the answer comes, and only rows that differ are drawn again.

        Args:
            first: First visible row of the model, from 0.
            last: Last visible row.
        """
        self._blocks.make_stale()
        self._outdated = self._asked is not None
        if self._row_count:
            last = min(last, self._row_count - 1)
            for block in range(self._blocks.block_of(max(0, first)), self._blocks.block_of(last) + 1):
                self._want(block)

    def record(self, row: int) -> Row | None:
        """Return the record of a row; where it is missing or out of date, it is asked for."""
        record = self._blocks.get(row)
        block = self._blocks.block_of(row)
        if record is None or not self._blocks.is_fresh(block):
            self._want(block)
        return record

    def held_record(self, row: int) -> Row | None:
        """Return the record of a row if it is here, and ask for nothing."""
        return self._blocks.get(row)

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        """Override: return how many records there are."""
        return 0 if parent.isValid() else self._row_count

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        """Override: return how many columns there are."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Override: return what a cell shows, or what is behind it; see `Role`."""
        if role not in _READERS or not index.isValid():
            return None
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column.alignment
        record = self.record(index.row())
        if record is None:
            return LOADING if role in _TEXT_ROLES else None
        return _READERS[role](column, record)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Override: return a column's title, explanation or alignment."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(column.tooltip)
        return column.alignment if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _want(self, block: int) -> None:
        if block == self._asked:
            return
        self._wanted.pop(block, None)
        self._wanted[block] = None
        while len(self._wanted) > _MOST_WANTED:
            del self._wanted[next(iter(self._wanted))]
        self._asking.ask()

    def _ask(self) -> None:
        while self._asked is None and self._wanted:
            block, _ = self._wanted.popitem()
            first = block * BLOCK_ROWS
            limit = min(BLOCK_ROWS, self._row_count - first)
            if limit > 0:
                self._asked = block
                self._patience.ask()
                self.requested.emit(first + 1, limit)

    def _give_up(self) -> None:
        self._settle()
        self._ask()

    def _settle(self) -> None:
        """Note that no request is under way any more."""
        self._asked = None
        self._outdated = False
        self._patience.drop()


def plain_tooltip(text: str) -> str:
    """Return a tooltip that shows `text` as it is: Qt takes a tooltip for markup when it looks like it."""
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>"


def _tip(column: Column[Row], record: Row) -> str:
    return plain_tooltip((column.tip or column.display)(record))


def _mark(column: Column[Row], record: Row) -> str | None:
    return column.mark(record) if column.mark else None


_READERS: dict[int, Any] = {
    Qt.ItemDataRole.DisplayRole: lambda column, record: column.display(record),
    Qt.ItemDataRole.ToolTipRole: _tip,
    Qt.ItemDataRole.AccessibleTextRole: lambda column, record: f"{column.title}: {column.display(record)}",
    Qt.ItemDataRole.TextAlignmentRole: None,  # the same for every record
    Role.RECORD: lambda _, record: record,
    Role.RAW: lambda column, record: column.raw(record),
    Role.MARK: _mark,
}
_TEXT_ROLES = frozenset({Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole})
