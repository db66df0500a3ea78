"""Small parts that every view uses: labels that never take text for markup, cards, captions and notices.

What they look like is the style sheet's business; here they get the marks that it looks for.
"""

import re
from enum import StrEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from gui.models.record_table import plain_tooltip


class Tone(StrEnum):
    """What a notice says by its look, beside its words."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    INFO = "info"


class PlainLabel(QLabel):
    """A label that shows its text as it is: names and paths from documents cannot smuggle in markup."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False) -> None:
        """Show `text`, in several lines where `wrap` allows it."""
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self.setText(text)

    def show_text(self, text: str) -> None:
        """Show another text; costs nothing where it is the same."""
        if text != self.text():
            self.setText(text)


class ElidedLabel(QLabel):
    """A secondary text on one line that ends with "…" where it does not fit; the whole of it is its tooltip."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        """Show `text`, as far as it fits."""
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("caption", True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show another text; costs nothing where it is the same."""
        if text != self.text():
            self.setText(text)
            self.setToolTip(plain_tooltip(text))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Override: draw what fits."""
        painter = QPainter(self)
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), int(self.alignment()), shown)


def caption(text: str = "", parent: QWidget | None = None, *, wrap: bool = False) -> PlainLabel:
    """Return a label for secondary text."""
    label = PlainLabel(text, parent, wrap=wrap)
    label.setProperty("caption", True)
    return label


def breakable(text: str) -> str:
    """Return a text such as a path, with places for a line break after its separators; for showing only."""
    return re.sub(r"([/\\_.\-]|\S{24})", "\\1\u200b", text)


def card(parent: QWidget | None = None) -> QFrame:
    """Return a raised surface."""
    frame = QFrame(parent)
    frame.setProperty("card", True)
    return frame


class Notice(PlainLabel):
    """A message in place; hidden while there is nothing to say, and readable by a screen reader when there is."""

    def __init__(self, parent: QWidget | None = None, tone: Tone = Tone.BAD) -> None:
        """Start hidden."""
        super().__init__(parent=parent, wrap=True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setProperty("notice", tone.value)
        self.hide()

    def say(self, text: str, tone: Tone | None = None) -> None:
        """Show a message, or hide with an empty one."""
        if tone is not None:
            set_mark(self, "notice", tone.value)
        self.show_text(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))


def set_mark(widget: QWidget, name: str, value: object) -> None:
    """Set a mark that the style sheet looks for, and let it look again."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)


def resize_font(widget: QWidget, factor: float, *, weight: QFont.Weight | None = None) -> None:
    """Make a widget's font larger or smaller than the system's, and heavier."""
    font = widget.font()
    if font.pointSizeF() > 0:
        font.setPointSizeF(font.pointSizeF() * factor)
    else:
        font.setPixelSize(round(font.pixelSize() * factor))
    if weight is not None:
        font.setWeight(weight)
    widget.setFont(font)
