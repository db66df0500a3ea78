"""A tile: one number with its word and a small drawing, all three saying the same."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.models.record_table import plain_tooltip
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, caption, resize_font
from gui.views.theme import Themes

_ICON_PX = 20


class Tile(QWidget):
    """A number with its word."""

    def __init__(
        self, word: str, icon: IconName, tone: str, *, themes: Themes, icons: Icons, parent: QWidget | None = None
    ) -> None:
        """Show no number yet.

        Args:
            word: What is counted.
            icon: The drawing.
            tone: The name of the theme's colour for the drawing.
            themes: Says which colours are in force.
            icons: The drawings.
            parent: The header.
        """
        super().__init__(parent)
        self._look = (icon, tone)
        self._icons = icons
        self._drawing = QLabel()
        self._word = word
        self.number_label = PlainLabel("0")
        self.word_label = caption(word)
        resize_font(self.number_label, 1.3, weight=QFont.Weight.DemiBold)
        resize_font(self.word_label, 0.95)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(0)
        grid.addWidget(self._drawing, 0, 0, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.number_label, 0, 1)
        grid.addWidget(self.word_label, 1, 1)
        self._dress()
        themes.changed.connect(self._dress)

    def show_number(self, number: str, explanation: str) -> None:
        """Show a number; the explanation is its tooltip and what a screen reader says."""
        if number == self.number_label.text() and explanation == self.accessibleDescription():
            return
        self.number_label.show_text(number)
        self.setToolTip(plain_tooltip(explanation))
        self.setAccessibleName(f"{self._word}: {number}")
        self.setAccessibleDescription(explanation)

    def _dress(self) -> None:
        icon, tone = self._look
        self._drawing.setPixmap(self._icons.pixmap(icon, _ICON_PX, self.devicePixelRatioF(), tone))
