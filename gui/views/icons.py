"""The icons: our own drawings from `resources/icons`, tinted for the theme in force.

Covers loading, tinting and re-tinting when the theme changes. Which icon stands for what is decided by the views.
"""

from enum import StrEnum
from weakref import WeakKeyDictionary

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAction, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton
from shiboken6 import isValid

from gui.views.theme import RESOURCES, Themes

_SIZES_PX = (16, 20, 24, 32, 48, 64)
_APP_SIZES_PX = (16, 24, 32, 48, 64, 128, 256)


class IconName(StrEnum):
    """Every drawing, under the name of its file."""

    APP = "app"  # The program: a sluice gate.
    ADD = "add"
    CHARTS = "charts"
    COPY = "copy"
    DEAD_LETTER = "dead-letter"
    DOCUMENT = "document"
    DUPLICATE = "duplicate"
    EXPORT = "export"
    EXTRACTED = "extracted"
    FAILED = "failed"
    FOLDER = "folder"
    HELD = "held"
    INFO = "info"
    LEFT_OUT = "left-out"
    PAUSE = "pause"
    PENDING = "pending"
    PLAY = "play"
    RECENT = "recent"
    SAMPLE = "sample"
    SETTINGS = "settings"
    STOP = "stop"
    VERIFY = "verify"
    WARNING = "warning"
    WORKING = "working"


def app_icon() -> QIcon:
    """Return the program's own icon, in its own colours."""
    renderer = _renderer(IconName.APP, "#000000")
    icon = QIcon()
    for size_px in _APP_SIZES_PX:
        icon.addPixmap(_drawn(renderer, size_px))
    return icon


class Icons(QObject):
    """Icons in the colours of the theme in force; everything dressed with one is tinted anew when the theme changes."""

    def __init__(self, themes: Themes) -> None:
        """Start with no icon drawn; each is drawn when it is first asked for.

        Args:
            themes: Says which colours are in force.
        """
        super().__init__(themes)
        self._themes = themes
        self._drawn: dict[tuple[IconName, str, str], QIcon] = {}
        # Weak: what is dressed here belongs to its window and must go with it.
        self._dressed: WeakKeyDictionary[QAction | QAbstractButton, tuple[IconName, str]] = WeakKeyDictionary()
        themes.changed.connect(self._dress_all)

    def icon(self, name: IconName, tone: str = "text") -> QIcon:
        """Return an icon.

        Args:
            name: The drawing.
            tone: The name of one of the theme's colours.
        """
        theme = self._themes.current
        key = (name, getattr(theme, tone), theme.disabled)
        icon = self._drawn.get(key)
        if icon is None:
            icon = self._drawn[key] = _tinted(*key)
        return icon

    def pixmap(self, name: IconName, size_px: int, ratio: float = 1.0, tone: str = "text") -> QPixmap:
        """Return a drawing at a size in device-independent pixels."""
        return self.icon(name, tone).pixmap(QSize(size_px, size_px), ratio)

    def dress(self, target: QAction | QAbstractButton, name: IconName, tone: str = "text") -> None:
        """Give an action or a button an icon, and keep it in the theme's colours for as long as it lives."""
        self._dressed[target] = (name, tone)
        target.setIcon(self.icon(name, tone))

    @Slot()
    def _dress_all(self) -> None:
        self._drawn.clear()
        for target, (name, tone) in list(self._dressed.items()):
            if isValid(target):
                target.setIcon(self.icon(name, tone))


def _tinted(name: IconName, colour: str, disabled: str) -> QIcon:
    icon = QIcon()
    normal, faded = _renderer(name, colour), _renderer(name, disabled)
    for size_px in _SIZES_PX:
        pixmap = _drawn(normal, size_px)
        icon.addPixmap(pixmap, QIcon.Mode.Normal)
        icon.addPixmap(pixmap, QIcon.Mode.Selected)
        icon.addPixmap(_drawn(faded, size_px), QIcon.Mode.Disabled)
    return icon


def _renderer(name: IconName, colour: str) -> QSvgRenderer:
    drawing = (RESOURCES / "icons" / f"{name}.svg").read_bytes()
    return QSvgRenderer(QByteArray(drawing.replace(b"currentColor", colour.encode())))


def _drawn(renderer: QSvgRenderer, size_px: int) -> QPixmap:
    pixmap = QPixmap(size_px, size_px)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    return pixmap
