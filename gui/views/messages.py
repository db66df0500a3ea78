"""Sentences for people: the bar of messages in a window, questions that block nothing, and what a reader announces.

Covers how a sentence is shown. Which sentence is shown when is the business of `gui.window`. Everything is shown as
plain text: a file name or a message that looks like markup stays what it is.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMessageBox,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from engine import display_name
from gui.views.colours import Theme
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, Tone
from gui.views.theme import Themes

MOST_MESSAGES = 3
"""How many messages stand at once; a further one takes the place of the oldest."""

_SPOKEN = {Tone.INFO: "Note", Tone.GOOD: "Done", Tone.WARN: "Attention", Tone.BAD: "Error"}
_INKS = {Tone.INFO: "accent", Tone.GOOD: "good", Tone.WARN: "warn", Tone.BAD: "bad"}
_ICONS = {
    Tone.INFO: IconName.INFO,
    Tone.GOOD: IconName.EXTRACTED,
    Tone.WARN: IconName.WARNING,
    Tone.BAD: IconName.FAILED,
}
_ICON_PX = 18


def inert(text: str) -> str:
    r"""Return a sentence so that it can only be read: one line, no controls, no tricks with direction.

    Characters that would steer a line or the direction of reading, and lone surrogates, become `\u{..}`. Names that
    were escaped already stay as they are.
    """
    return "".join(char if char.isprintable() or char == "\u00a0" else f"\\u{{{ord(char):x}}}" for char in text)


def shown_path(path: Path) -> str:
    """Return a path as people may see it, bytes that are no UTF-8 included."""
    return display_name(os.fsencode(path))


def announce(widget: QWidget, text: str, *, urgent: bool = False) -> None:
    """Let a screen reader say a sentence.

    Args:
        widget: Where it belongs.
        text: What to say.
        urgent: Whether it may interrupt.
    """
    event = QAccessibleAnnouncementEvent(widget, text)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if urgent else politeness.Polite)
    QAccessible.updateAccessibility(event)


class Message(QFrame):
    """One message: a mark, a sentence, and a button to put it away.

    Args:
        text: The sentence.
        tone: What kind of news it is.
        passing: Whether the next message takes its place.
        icons: Gives the mark.

    Signals:
        dismissed: The person put it away; carries the message.
    """

    dismissed = Signal(QWidget)

    def __init__(self, text: str, tone: Tone, *, passing: bool, icons: Icons) -> None:
        super().__init__()
        self.text = text
        self.tone = tone
        self.passing = passing
        self._icons = icons
        self.setProperty("notice", tone.value)
        self.setAccessibleName(f"{_SPOKEN[tone]}: {text}")
        self._mark = QLabel()
        label = PlainLabel(text, wrap=True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        close = QToolButton()
        close.setAutoRaise(True)
        close.setText("✕")
        close.setToolTip("Put this message away")
        close.setAccessibleName("Put this message away")
        close.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        close.clicked.connect(self._dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 7, 8, 7)
        row.setSpacing(10)
        row.addWidget(self._mark)
        row.addWidget(label, 1)
        row.addWidget(close)
        self.show_theme()

    def _dismiss(self) -> None:
        self.dismissed.emit(self)

    def show_theme(self) -> None:
        """Take the colours in force."""
        self._mark.setPixmap(
            self._icons.pixmap(_ICONS[self.tone], _ICON_PX, self.devicePixelRatioF(), _INKS[self.tone])
        )


class MessageBar(QWidget):
    """The messages of a window, newest at the bottom; it takes no room while there is none.

    Nothing here waits for an answer, and no message covers what it speaks of.
    """

    def __init__(self, *, themes: Themes, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        themes.changed.connect(self._show_theme)
        self.setAccessibleName("Messages")
        self._messages: list[Message] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 8, 12, 0)
        self._column.setSpacing(6)
        self.hide()

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences that stand now, oldest first."""
        return tuple(message.text for message in self._messages)

    def show_message(self, text: str, tone: Tone = Tone.INFO) -> None:
        """Show a sentence and let a screen reader say it; one that stands already moves to the end.

        Args:
            text: A finished sentence. Controls in it are made visible; line breaks stay.
            tone: What kind of news it is.
        """
        self._show(text, tone, passing=False)

    def show_passing(self, text: str) -> None:
        """Show that something is going on; the next message takes its place.

        Args:
            text: A finished sentence.
        """
        self._show(text, Tone.INFO, passing=True)

    def _show(self, text: str, tone: Tone, *, passing: bool) -> None:
        text = "\n".join(inert(line) for line in text.split("\n"))
        for message in list(self._messages):
            if message.text == text or message.passing:
                self._remove(message)
        while len(self._messages) >= MOST_MESSAGES:
            self._remove(self._messages[0])
        message = Message(text, tone, passing=passing, icons=self._icons)
        message.dismissed.connect(self._remove)
        self._messages.append(message)
        self._column.addWidget(message)
        self.show()
        announce(self, f"{_SPOKEN[tone]}: {text}", urgent=tone in {Tone.WARN, Tone.BAD})

    def clear(self) -> None:
        """Put all messages away."""
        for message in list(self._messages):
            self._remove(message)

    def _remove(self, message: Message) -> None:
        if message in self._messages:
            self._messages.remove(message)
            self._column.removeWidget(message)
            message.hide()
            message.deleteLater()
        if not self._messages:
            self.hide()

    def _show_theme(self, _theme: Theme) -> None:
        for message in self._messages:
            message.show_theme()


async def result_of(dialog: QDialog) -> int:
    """Open a dialog without blocking, wait for the person, and dispose of it.

    Args:
        dialog: A dialog that is not shown yet. Its `exec` would run a second event loop and break other tasks.

    Returns:
        Its result code, such as `QDialog.DialogCode.Accepted`.
    """
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def settle(result: int) -> None:
        if not future.done():
            future.set_result(result)

    dialog.finished.connect(settle)
    dialog.open()
    try:
        return await future
    finally:
        if isValid(dialog):  # the window may have taken it along
            dialog.finished.disconnect(settle)
            dialog.close()
            dialog.deleteLater()


class Question(QMessageBox):
    """A question with one button for each answer, all of it plain text.

    Args:
        title: Title of the dialog.
        text: The question.
        detail: What follows from the answers.
        answers: Captions of the buttons, the default first.
        escape: Index of the answer that Escape gives.
        parent: The window that it belongs to.
    """

    def __init__(
        self, *, title: str, text: str, detail: str, answers: Sequence[str], escape: int, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setIcon(QMessageBox.Icon.Question)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setInformativeText(detail)
        self._buttons: list[QPushButton] = []
        for number, answer in enumerate(answers):
            role = QMessageBox.ButtonRole.RejectRole if number == escape else QMessageBox.ButtonRole.AcceptRole
            self._buttons.append(self.addButton(answer, role))
        self.setDefaultButton(self._buttons[0])
        self.setEscapeButton(self._buttons[escape])

    async def ask(self) -> int:
        """Show the question without blocking and return the index of the answer."""
        answer: list[int] = []
        buttons = self._buttons
        self.buttonClicked.connect(lambda button: answer.append(buttons.index(button)))
        escape = buttons.index(self.escapeButton())  # type: ignore[arg-type]  # always one of ours
        await result_of(self)
        return answer[0] if answer else escape
