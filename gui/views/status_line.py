"""The status line: what the run is waiting for and what would help, and how well its workers are shut in."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from engine import HoldCause, Posture, Snapshot
from gui.models.record_table import plain_tooltip
from gui.models.words import HOLDS
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, Tone, caption, set_mark
from gui.views.theme import Themes

_ICON_PX = 16
_TROUBLE = (HoldCause.MEMORY, HoldCause.DISK, HoldCause.UPSTREAM, HoldCause.STORAGE)


class StatusLine(QFrame):
    """Shows the sentence about the bottleneck, which stands out where something outside holds the run up.

    At its right it says how well the workers of this run are shut in.
    """

    def __init__(self, *, themes: Themes, icons: Icons, parent: QWidget | None = None) -> None:
        """Say nothing yet.

        Args:
            themes: Says which colours are in force.
            icons: The drawings.
            parent: The page it is on.
        """
        super().__init__(parent)
        self._icons = icons
        self._tone = Tone.INFO
        self._posture: Posture | None = None
        self._drawing = QLabel()
        self.sentence_label = PlainLabel(wrap=True)
        self.sentence_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.sentence_label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.posture_label = caption()
        self.posture_label.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 7, 12, 7)
        row.setSpacing(9)
        row.addWidget(self._drawing, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.sentence_label, 1)
        row.addWidget(self.posture_label, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setProperty("notice", Tone.INFO.value)
        self.setAccessibleName("What the run is waiting for")
        self._dress()
        themes.changed.connect(self._dress)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what a snapshot says."""
        causes = [hold.cause for hold in snapshot.stage.holds]
        tone = Tone.WARN if any(cause in _TROUBLE for cause in causes) else Tone.INFO
        if tone is not self._tone:
            self._tone = tone
            set_mark(self, "notice", tone.value)
            self._dress()
        if snapshot.bottleneck != self.sentence_label.text():
            self.sentence_label.show_text(snapshot.bottleneck)
            self.setAccessibleDescription(snapshot.bottleneck)
        self.setToolTip(plain_tooltip("\n".join(HOLDS[cause].text for cause in causes)) if causes else "")
        self._show_posture(snapshot.posture)
        self._drawing.setVisible(bool(snapshot.bottleneck))
        self.setVisible(bool(snapshot.bottleneck) or snapshot.posture is not None)

    def _show_posture(self, posture: Posture | None) -> None:
        """Say in a word or two how the workers are shut in, and in full for whoever asks."""
        self.posture_label.setVisible(posture is not None)
        if posture is None or posture == self._posture:
            return
        self._posture = posture
        self.posture_label.show_text("Workers: sandboxed" if posture.confined else "Workers: reduced protection")
        words = f"Sandbox of the workers: {posture.sandbox}."
        if posture.limits:
            words += f"\nLimits of each worker: {', '.join(posture.limits)}."
        self.posture_label.setToolTip(plain_tooltip(words))
        self.posture_label.setAccessibleDescription(words)

    def _dress(self) -> None:
        icon, tone = (IconName.HELD, "warn") if self._tone is Tone.WARN else (IconName.INFO, "accent")
        self._drawing.setPixmap(self._icons.pixmap(icon, _ICON_PX, self.devicePixelRatioF(), tone))
