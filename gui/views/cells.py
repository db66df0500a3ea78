"""How a table's cells are drawn: a small drawing and a colour beside the word that says the same.

Covers looks only; what a cell says comes from the model. Nothing is a widget: a delegate paints what is visible.
"""

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gui.models.columns import Mark, Role
from gui.views.icons import IconName, Icons
from gui.views.theme import Themes

ICON_PX = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    icon: IconName
    tone: str
    """Name of the theme's colour."""


LOOKS: dict[Mark, _Look] = {
    Mark.EXTRACTED: _Look(icon=IconName.EXTRACTED, tone="good"),
    Mark.PARTLY: _Look(icon=IconName.WARNING, tone="warn"),
    Mark.DEAD_LETTER: _Look(icon=IconName.FAILED, tone="bad"),
    Mark.DUPLICATE: _Look(icon=IconName.DUPLICATE, tone="twin"),
    Mark.LEFT_OUT: _Look(icon=IconName.LEFT_OUT, tone="muted"),
    Mark.PENDING: _Look(icon=IconName.PENDING, tone="muted"),
    Mark.WORKING: _Look(icon=IconName.WORKING, tone="accent"),
}


class MarkDelegate(QStyledItemDelegate):
    """Draws the cells of a column with marks."""

    def __init__(self, *, themes: Themes, icons: Icons, parent: QWidget) -> None:
        """Draw in the colours in force.

        Args:
            themes: Says which colours are in force.
            icons: The drawings.
            parent: The table.
        """
        super().__init__(parent)
        self._themes = themes
        self._icons = icons

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Override: add the drawing and the colour of the cell's mark."""
        super().initStyleOption(option, index)
        name = index.data(Role.MARK)
        if name is None:
            return
        look = LOOKS[Mark(name)]
        option.icon = self._icons.icon(look.icon, look.tone)
        option.decorationSize = QSize(ICON_PX, ICON_PX)
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
        colour = QColor(getattr(self._themes.current, look.tone))
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, colour)
        option.decorationAlignment = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
