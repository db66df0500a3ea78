"""Columns of tables as data: title, explanation and how each cell is read from a record.

Covers what both tables share: the column record, the marks beside a word, and the roles under which a model gives
more than its text. Which columns a table has stands with that table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

from PySide6.QtCore import Qt

Row = TypeVar("Row")


class Mark(StrEnum):
    """A small sign beside a word; a view gives it a drawing and a colour."""

    EXTRACTED = "extracted"
    PARTLY = "partly"  # Extracted, with something to look at.
    DEAD_LETTER = "dead_letter"
    DUPLICATE = "duplicate"
    LEFT_OUT = "left_out"
    PENDING = "pending"
    WORKING = "working"


class Role(IntEnum):
    """What the models give beside Qt's own roles."""

    RECORD = Qt.ItemDataRole.UserRole + 1  # The whole record of the row.
    RAW = Qt.ItemDataRole.UserRole + 2  # The value behind the text, for sorting and exports.
    MARK = Qt.ItemDataRole.UserRole + 3  # The cell's `Mark`, or None.


# Asked for every cell that is painted, and slow to join.
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    """One column."""

    title: str
    tooltip: str
    """What the column says, for its header."""
    display: Callable[[Row], str]
    """The cell's text."""
    raw: Callable[[Row], int | str]
    """The value behind it; of one kind for the whole column, so that it sorts."""
    tip: Callable[[Row], str] | None = None
    """More about the cell, in plain text; without it, its text."""
    mark: Callable[[Row], Mark | None] | None = None
    right: bool = False
    """Whether it stands at the right, as figures do."""
    typical: str = ""
    """A long but usual text, from which a view takes the column's width."""
    stretches: bool = False
    """Whether it takes the room that is left."""

    @property
    def alignment(self) -> Qt.AlignmentFlag:
        """Where its text and title stand."""
        return _RIGHT if self.right else _LEFT
