"""What the window shows while no case is open: a place to drop a folder, and the cases of late.

Covers the page and what it is asked for. Dropping itself is accepted by the whole window.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from engine import RecentCase
from gui.views.colours import Theme
from gui.views.icons import IconName, Icons
from gui.views.labels import PlainLabel, caption, resize_font
from gui.views.messages import inert, shown_path
from gui.views.theme import Themes

RECENT_SHOWN = 6
_PATH_ROLE = Qt.ItemDataRole.UserRole
_DETAIL_ROLE = Qt.ItemDataRole.UserRole + 1


class DropZone(QFrame):
    """The large framed field with what one can do here."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._active = False
        self.setMinimumHeight(260)
        themes.changed.connect(self._repaint)

    def _repaint(self, _theme: Theme) -> None:
        self.update()

    @property
    def active(self) -> bool:
        """Whether something that can be dropped hovers over the window."""
        return self._active

    def set_active(self, active: bool) -> None:  # noqa: FBT001  # a setter in Qt's manner
        """Show that what hovers over the window can be dropped."""
        if active != self._active:
            self._active = active
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Override: a dashed frame, tinted while something hovers."""
        theme = self._themes.current
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.accent if self._active else theme.disabled), 1.5, Qt.PenStyle.DashLine))
        painter.setBrush(QColor(theme.info_soft if self._active else theme.surface))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 12, 12)


class _RecentDelegate(QStyledItemDelegate):
    """Draws a recent case in two lines: its request id, and below it where the file is."""

    def __init__(self, themes: Themes, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Override: draw both lines over the usual background."""
        self.initStyleOption(option, index)
        option.text = ""
        widget: QWidget = option.widget
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        theme = self._themes.current
        area: QRect = option.rect.adjusted(12, 8, -12, -8)
        line = widget.fontMetrics().lineSpacing()
        bold = QFont(widget.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.save()
        painter.setPen(QColor(theme.text))
        painter.setFont(bold)
        painter.drawText(area, Qt.AlignmentFlag.AlignTop, index.data(Qt.ItemDataRole.DisplayRole))
        painter.setPen(QColor(theme.muted))
        painter.setFont(widget.font())
        detail = widget.fontMetrics().elidedText(index.data(_DETAIL_ROLE), Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area.adjusted(0, line + 3, 0, 0), Qt.AlignmentFlag.AlignTop, detail)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Override: room for two lines."""
        widget: QWidget = option.widget
        return QSize(200, 2 * widget.fontMetrics().lineSpacing() + 20)


class EmptyPage(QWidget):
    """The page without a case.

    Signals:
        folder_wanted: A folder is to be chosen.
        files_wanted: Files are to be chosen.
        sample_wanted: A sample batch is to be written and run.
        case_wanted: A case file is to be chosen.
        recent_chosen: A case of late is to be opened; carries its `Path`.
    """

    folder_wanted = Signal()
    files_wanted = Signal()
    sample_wanted = Signal()
    case_wanted = Signal()
    recent_chosen = Signal(object)

    def __init__(self, *, themes: Themes, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.zone = DropZone(themes)
        self._fill_zone(icons)
        column = QVBoxLayout()
        column.setSpacing(10)
        column.addStretch(1)
        column.addWidget(self.zone)
        column.addSpacing(14)
        column.addLayout(self._recent_head(icons))
        column.addWidget(self._recent_list(themes))
        column.addStretch(2)
        middle = QWidget()
        middle.setMaximumWidth(760)
        middle.setLayout(column)
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 12, 24, 12)
        row.addStretch(1)
        row.addWidget(middle, 20)
        row.addStretch(1)
        self.show_recent(())

    def _fill_zone(self, icons: Icons) -> None:
        title = _heading("Drop a folder of PDFs", 1.7)
        title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        lead = caption("Every page is extracted or accounted for. Your files are only read, never changed.", wrap=True)
        lead.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.folder_button = QPushButton("Open &folder…")
        self.folder_button.setProperty("main", True)
        self.files_button = QPushButton("Open f&iles…")
        self.sample_button = QPushButton("Tr&y a sample batch")
        icons.dress(self.folder_button, IconName.FOLDER, "on_accent")
        icons.dress(self.files_button, IconName.DOCUMENT)
        icons.dress(self.sample_button, IconName.SAMPLE)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.files_button.clicked.connect(self.files_wanted)
        self.sample_button.clicked.connect(self.sample_wanted)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch(1)
        for button in (self.folder_button, self.files_button, self.sample_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        inside = QVBoxLayout(self.zone)
        inside.setContentsMargins(32, 32, 32, 32)
        inside.addStretch(1)
        inside.addWidget(title)
        inside.addSpacing(6)
        inside.addWidget(lead)
        inside.addSpacing(22)
        inside.addLayout(buttons)
        inside.addStretch(1)

    def _recent_head(self, icons: Icons) -> QHBoxLayout:
        self._recent_title = _heading("Recent cases", 1.1)
        self.case_button = QPushButton("Ope&n case…")
        icons.dress(self.case_button, IconName.RECENT)
        self.case_button.clicked.connect(self.case_wanted)
        row = QHBoxLayout()
        row.addWidget(self._recent_title, 1)
        row.addWidget(self.case_button)
        return row

    def _recent_list(self, themes: Themes) -> QListWidget:
        self.recent = QListWidget()
        self.recent.setAccessibleName("Recent cases")
        self.recent.setItemDelegate(_RecentDelegate(themes, self.recent))
        self.recent.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.recent.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.recent.itemActivated.connect(self._choose)
        self.recent.itemClicked.connect(self._choose)
        return self.recent

    def show_recent(self, cases: Sequence[RecentCase]) -> None:
        """Show the cases of late, the latest first."""
        self.recent.clear()
        for case in cases[:RECENT_SHOWN]:
            detail = f"{shown_path(case.path)}  ·  {_day(case.opened_at)}"
            item = QListWidgetItem(inert(case.request_id))
            item.setData(_PATH_ROLE, case.path)
            item.setData(_DETAIL_ROLE, detail)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{item.text()}, {detail}")
            item.setToolTip("")
            self.recent.addItem(item)
        rows = self.recent.count()
        self._recent_title.setText("Recent cases" if rows else "No case was opened yet")
        self.recent.setVisible(rows > 0)
        height = sum(self.recent.sizeHintForRow(row) for row in range(rows))
        self.recent.setFixedHeight(max(1, height) + 2)

    def _choose(self, item: QListWidgetItem) -> None:
        path = item.data(_PATH_ROLE)
        if isinstance(path, Path):
            self.recent_chosen.emit(path)


def _heading(text: str, size: float) -> PlainLabel:
    label = PlainLabel(text)
    resize_font(label, size, weight=QFont.Weight.DemiBold)
    return label


def _day(opened_at: str) -> str:
    """Return when a case was opened, in local time."""
    try:
        when = datetime.fromisoformat(opened_at)
    except ValueError:
        return "at an unknown time"
    return f"opened {when.astimezone():%Y-%m-%d %H:%M}"
