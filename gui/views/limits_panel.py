"""The panel with the limits of the flow, which can be changed while a run is going on.

Covers editing and refusing: an impossible combination is named in place, with the engine's own sentence, and cannot
be applied. Taking a change over is the business of whoever listens.
"""

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from engine import FlowLimits, SettingsError
from gui.models.record_table import plain_tooltip
from gui.views.knobs import BURST, KNOBS, LARGEST, RATE, Knob
from gui.views.labels import Notice, PlainLabel, Tone, caption

_USUAL_RATE_PER_S = 20.0
"""What the rate starts from when it is switched on for the first time."""
_EXPLANATIONS = {knob.field: knob.explanation for knob in (*KNOBS, RATE, BURST)}


class LimitsPanel(QWidget):
    """Edits the limits of the flow.

    Signals:
        applied (FlowLimits): These limits, which are possible, are to be taken over.
    """

    applied = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        """Show the defaults.

        Args:
            parent: The dock or page it is in.
        """
        super().__init__(parent)
        self.setAccessibleName("Limits of the flow")
        self._in_force = FlowLimits.build()
        self._candidate: FlowLimits | None = self._in_force
        self._edited: str | None = None
        self._seen: dict[str, Any] = {}
        self.boxes: dict[str, QSpinBox] = {}
        self.notices: dict[str, Notice] = {}
        self.rate_switch = QCheckBox(RATE.title)
        self.rate_box = QDoubleSpinBox()
        self.apply_button = QPushButton("&Apply")
        self.defaults_button = QPushButton("Back to &defaults")
        self.answer = Notice(tone=Tone.GOOD)
        self._arrange()
        self._fill(self._in_force)
        self._check()
        self.apply_button.clicked.connect(self.apply)
        self.defaults_button.clicked.connect(self.back_to_defaults)

    @property
    def in_force(self) -> FlowLimits:
        """The limits that were shown or applied last."""
        return self._in_force

    @property
    def candidate(self) -> FlowLimits | None:
        """The limits as they are typed in, or None where they are impossible."""
        return self._candidate

    @property
    def edited(self) -> bool:
        """Whether something is typed in that was not applied."""
        return self._candidate != self._in_force

    def show_limits(self, limits: FlowLimits) -> None:
        """Show the limits in force; what a user is typing is not overwritten while it says something else."""
        was_edited = self.edited
        self._in_force = limits
        if not was_edited:
            self._fill(limits)
        self._check()

    def apply(self) -> None:
        """Ask for the limits that are typed in, if they are possible and differ from those in force."""
        self._check()
        limits = self._candidate
        if limits is None or limits == self._in_force:
            return
        self._in_force = limits
        self._edited = None
        self._check()
        self.answer.say("Applied; the change is in the audit log.", Tone.GOOD)
        self.applied.emit(limits)

    def refuse(self, sentence: str) -> None:
        """Say that the limits applied last could not be taken over."""
        self.answer.say(sentence, Tone.BAD)

    def back_to_defaults(self) -> None:
        """Type in the defaults for this computer; they count only when they are applied."""
        self._edited = None
        self._fill(FlowLimits.build())
        self._check()
        self.apply_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _arrange(self) -> None:
        form = QWidget()
        grid = QGridLayout(form)
        grid.setContentsMargins(14, 12, 14, 12)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(0, 1)
        for knob in (*KNOBS, BURST):
            self.boxes[knob.field] = self._whole_box()
        for knob in KNOBS:
            label = PlainLabel(knob.title)
            label.setBuddy(self.boxes[knob.field])
            self._add_row(grid, knob, label, self.boxes[knob.field])
        self._set_up_rate()
        self._add_row(grid, RATE, self.rate_switch, self.rate_box)
        burst_label = PlainLabel(BURST.title)
        burst_label.setBuddy(self.boxes[BURST.field])
        self._add_row(grid, BURST, burst_label, self.boxes[BURST.field])
        grid.setRowStretch(grid.rowCount(), 1)
        scroll = QScrollArea()
        scroll.setWidget(form)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setMinimumWidth(form.minimumSizeHint().width() + scroll.verticalScrollBar().sizeHint().width())
        self.apply_button.setProperty("main", True)
        buttons = QHBoxLayout()
        buttons.addWidget(self.defaults_button)
        buttons.addStretch(1)
        buttons.addWidget(self.apply_button)
        foot = QVBoxLayout()
        foot.setContentsMargins(14, 4, 14, 12)
        foot.setSpacing(8)
        foot.addWidget(self.answer)
        foot.addLayout(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        column.addLayout(foot)

    def _whole_box(self) -> QSpinBox:
        box = QSpinBox()
        box.setRange(0, LARGEST)
        box.setGroupSeparatorShown(True)
        box.valueChanged.connect(self._touch)
        return box

    def _set_up_rate(self) -> None:
        self.rate_box.setRange(0.0, LARGEST)
        self.rate_box.setDecimals(1)
        self.rate_box.setValue(_USUAL_RATE_PER_S)
        self.rate_box.valueChanged.connect(self._touch)
        self.rate_switch.toggled.connect(self._touch)

    def _add_row(self, grid: QGridLayout, knob: Knob, label: QWidget, box: QAbstractSpinBox) -> None:
        row = grid.rowCount()
        label.setToolTip(plain_tooltip(knob.explanation))
        box.setToolTip(plain_tooltip(knob.explanation))
        box.setAccessibleName(f"{knob.title.replace('&', '')}, in {knob.unit}")
        box.setMinimumWidth(96)
        box.setAlignment(Qt.AlignmentFlag.AlignRight)
        box.setKeyboardTracking(True)
        grid.addWidget(label, row, 0)
        grid.addWidget(box, row, 1)
        grid.addWidget(caption(knob.unit), row, 2)
        self.notices[knob.field] = Notice()
        grid.addWidget(self.notices[knob.field], row + 1, 0, 1, 3)

    def _fill(self, limits: FlowLimits) -> None:
        for field, box in self.boxes.items():
            box.blockSignals(True)
            box.setValue(getattr(limits, field))
            box.blockSignals(False)
        for widget in (self.rate_switch, self.rate_box):
            widget.blockSignals(True)
        self.rate_switch.setChecked(limits.rate_per_s is not None)
        if limits.rate_per_s is not None:
            self.rate_box.setValue(limits.rate_per_s)
        for widget in (self.rate_switch, self.rate_box):
            widget.blockSignals(False)

    @Slot()
    def _touch(self) -> None:
        typed = self._typed()
        if typed == self._seen:
            return  # Qt repeats the signal at every Return
        self._edited = next((field for field, value in typed.items() if value != self._seen.get(field)), self._edited)
        self.answer.say("")
        self._check()

    def _typed(self) -> dict[str, Any]:
        """Return what is typed in, by the names of `FlowLimits`."""
        values: dict[str, Any] = {field: box.value() for field, box in self.boxes.items()}
        values[RATE.field] = self.rate_box.value() if self.rate_switch.isChecked() else None
        return values

    def _check(self) -> None:
        """Work out the candidate, and say in place what makes it impossible."""
        self._seen = values = self._typed()
        for box in (self.rate_box, self.boxes[BURST.field]):
            box.setEnabled(self.rate_switch.isChecked())
        sentence = ""
        try:
            self._candidate = FlowLimits(**values)
        except SettingsError as error:
            self._candidate, sentence = None, error.user_message
        # Below the field that was changed last: the person is there, and one value alone is seldom the wrong one.
        place = self._edited or KNOBS[0].field
        for field, notice in self.notices.items():
            notice.say(sentence if field == place else "")
            self._describe(field, sentence if field == place else "")
        self.apply_button.setEnabled(self._candidate is not None and self._candidate != self._in_force)

    def _describe(self, field: str, sentence: str) -> None:
        """Tell a screen reader, which is at the field, what is wrong with it."""
        box = self.boxes.get(field, self.rate_box)
        words = " ".join(part for part in (_EXPLANATIONS[field], sentence) if part)
        if words != box.accessibleDescription():
            box.setAccessibleDescription(words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Override: Return applies."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.apply()
            event.accept()
            return
        super().keyPressEvent(event)
