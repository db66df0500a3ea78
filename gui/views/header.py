"""The header of a run: where it stands, how far it is, and that the counts add up.

Covers showing a snapshot; the sentences come from `gui.models.progress`. What the run is waiting for stands in the
status line.
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from engine import RunState, Snapshot
from gui.models.figures import count, counted, duration
from gui.models.progress import headline, progress, reconciliation, speed, subline
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, caption, card, resize_font, set_mark
from gui.views.theme import Themes
from gui.views.tiles import Tile

_ICON_PX = 32
_BESIDE_PX = 36
_ROOM_PX = 110
"""Margins, the drawing before the sums, the space between, and some air."""


class RunHeader(QWidget):
    """Shows where a run stands."""

    def __init__(self, *, themes: Themes, icons: Icons, parent: QWidget | None = None) -> None:
        """Show nothing yet.

        Args:
            themes: Says which colours are in force.
            icons: The drawings.
            parent: The page it is on.
        """
        super().__init__(parent)
        self._icons = icons
        self._look = (IconName.INFO, "muted")
        self._sum_tone = "muted"
        self._drawing = QLabel()
        self.state_label = PlainLabel("")
        self.subline_label = caption(wrap=True)
        self.speed_label = PlainLabel("")
        self.elapsed_label = caption()
        self.bar = QProgressBar()
        self.progress_label = PlainLabel("")
        self.pages_label = PlainLabel("")
        self.documents_label = caption()

        def tile(word: str, icon: IconName, tone: str) -> Tile:
            return Tile(word, icon, tone, themes=themes, icons=icons)

        self.extracted = tile("pages extracted", IconName.EXTRACTED, "good")
        self.dead = tile("dead letters", IconName.DEAD_LETTER, "bad")
        self.duplicates = tile("duplicate pages", IconName.DUPLICATE, "twin")
        self.left_out = tile("files left out", IconName.LEFT_OUT, "muted")
        self._sum_drawing = QLabel()
        self._tiles = QHBoxLayout()
        self._foot = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._arrange()
        self._dress()
        themes.changed.connect(self._dress)

    def _arrange(self) -> None:
        resize_font(self.state_label, 1.45, weight=QFont.Weight.DemiBold)
        resize_font(self.speed_label, 1.1, weight=QFont.Weight.DemiBold)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        for label in (self.speed_label, self.elapsed_label):
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for label in (self.pages_label, self.documents_label):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addStretch(1)
        words.addWidget(self.state_label)
        words.addWidget(self.subline_label)
        words.addStretch(1)
        numbers = QVBoxLayout()
        numbers.setSpacing(1)
        numbers.addWidget(self.speed_label)
        numbers.addWidget(self.elapsed_label)
        numbers.addStretch(1)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self._drawing, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        top.addLayout(numbers)
        self._tiles.setSpacing(28)
        for tile in (self.extracted, self.dead, self.duplicates, self.left_out):
            self._tiles.addWidget(tile)
        self._tiles.addStretch(1)
        sums = QHBoxLayout()
        sums.setSpacing(8)
        sums.addWidget(self._sum_drawing, 0, Qt.AlignmentFlag.AlignTop)
        lines = QVBoxLayout()
        lines.setSpacing(1)
        lines.addWidget(self.pages_label)
        lines.addWidget(self.documents_label)
        sums.addLayout(lines, 1)
        self._foot.setSpacing(8)
        self._foot.addLayout(self._tiles)
        self._foot.addLayout(sums, 1)
        frame = card()
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(16, 12, 16, 12)
        inside.setSpacing(8)
        inside.addLayout(top)
        inside.addWidget(self.bar)
        inside.addWidget(self.progress_label)
        inside.addSpacing(2)
        inside.addLayout(self._foot)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(frame)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show where the run stands."""
        self.state_label.show_text(headline(snapshot))
        more = subline(snapshot)
        self.subline_label.show_text(more)
        self.subline_label.setVisible(bool(more))
        self.speed_label.show_text(speed(snapshot))
        self.elapsed_label.show_text(f"{duration(snapshot.active_s)} of active time" if snapshot.active_s else "")
        self._show_progress(snapshot)
        self._show_counts(snapshot)
        look, sum_tone = _look(snapshot), "good" if snapshot.counts.reconciled else "muted"
        if (look, sum_tone) != (self._look, self._sum_tone):
            self._look, self._sum_tone = look, sum_tone
            self._dress()

    def _show_progress(self, snapshot: Snapshot) -> None:
        done = progress(snapshot)
        # A bar from 0 to 0 is a busy one: nobody knows the total yet.
        self.bar.setRange(0, 0 if done.percent is None else 100)
        if done.percent is not None:
            self.bar.setValue(done.percent)
        reconciled = done.percent == 100
        set_mark(self.bar, "notice", "good" if reconciled else None)
        self.bar.setAccessibleDescription(done.text)
        self.progress_label.show_text(done.text)

    def _show_counts(self, snapshot: Snapshot) -> None:
        counts = snapshot.counts
        dead = sum(counts.reasons.values())
        pages, documents = counts.pages, counts.documents
        self.extracted.show_number(
            count(pages.extracted),
            f"The text of {counted(pages.extracted, 'page')} in {counted(documents.extracted, 'document')} is stored.",
        )
        self.dead.show_number(
            count(dead),
            f"{counted(pages.dead_letter, 'page')} of documents that open, and "
            f"{counted(max(0, dead - pages.dead_letter), 'document')} that could not be opened.",
        )
        self.duplicates.show_number(
            count(pages.duplicate),
            f"Pages of {counted(documents.duplicate, 'document')} with the same bytes as another one; none was "
            "processed twice.",
        )
        self.left_out.show_number(
            count(counts.skipped),
            "Entries that are no documents, such as links and other kinds of files; each is listed.",
        )
        self.pages_label.show_text(reconciliation(pages, "page"))
        self.documents_label.show_text(reconciliation(documents, "document"))
        self._fit()

    def _fit(self) -> None:
        """Set the sums beside the tiles where both fit, and below them where they do not: a sum is never cut off."""
        needed = self._tiles.sizeHint().width() + _ROOM_PX
        needed += max(self.pages_label.sizeHint().width(), self.documents_label.sizeHint().width())
        beside = needed <= self.width()
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if direction is not self._foot.direction():
            self._foot.setDirection(direction)
            self._foot.setSpacing(_BESIDE_PX if beside else 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Override: arrange tiles and sums for the new width."""
        super().resizeEvent(event)
        self._fit()

    def _dress(self) -> None:
        icon, tone = self._look
        ratio = self.devicePixelRatioF()
        self._drawing.setPixmap(self._icons.pixmap(icon, _ICON_PX, ratio, tone))
        self._sum_drawing.setPixmap(self._icons.pixmap(IconName.VERIFY, 16, ratio, self._sum_tone))


def _look(snapshot: Snapshot) -> tuple[IconName, str]:
    """Return the drawing for a state, and its colour; the words beside it say the same."""
    if snapshot.error:
        return IconName.WARNING, "bad"
    state, reconciled = snapshot.state, snapshot.counts.reconciled
    if state is RunState.FINISHED:
        return (IconName.EXTRACTED, "good") if reconciled else (IconName.WARNING, "bad")
    looks = {
        RunState.IDLE: (IconName.INFO, "muted"),
        RunState.RUNNING: (IconName.PLAY, "accent"),
        RunState.PAUSING: (IconName.PAUSE, "warn"),
        RunState.PAUSED: (IconName.PAUSE, "warn"),
        RunState.STOPPING: (IconName.STOP, "warn"),
        RunState.INCOMPLETE: (IconName.WARNING, "warn"),
    }
    return looks[state]
