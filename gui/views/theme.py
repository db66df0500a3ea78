"""Light or dark: follows the system while the program runs, or what the user chose, and tells the views.

Covers which `Theme` is in force, the application's palette and its style sheet. The colours themselves stand in
`colours`, the icons that are tinted with them in `icons`.
"""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from string import Template

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from gui.views.colours import DARK, LIGHT, Theme

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
"""The data folder: beside `gui` in a checkout as well as in an installed wheel."""


class Appearance(StrEnum):
    """What the user asks for."""

    SYSTEM = "system"  # As the system has it, following its changes.
    LIGHT = "light"  # Always light.
    DARK = "dark"  # Always dark.


_SCHEMES = {
    Appearance.SYSTEM: Qt.ColorScheme.Unknown,
    Appearance.LIGHT: Qt.ColorScheme.Light,
    Appearance.DARK: Qt.ColorScheme.Dark,
}


class Themes(QObject):
    """Keeps the application in one theme and says when it changes.

    Views take `current` when they are made and connect to `changed`; they ask nothing else about colours.

    Signals:
        changed (Theme): The colours are others now; palette and style sheet of the application are already set.
    """

    changed = Signal(object)

    def __init__(self, application: QApplication, appearance: Appearance = Appearance.SYSTEM) -> None:
        """Set Fusion, palette and style sheet, and follow the system from now on.

        Args:
            application: The application whose palette and style sheet are kept.
            appearance: What the user asks for.
        """
        super().__init__(application)
        self._application = application
        application.setStyle("Fusion")
        self._system_palette_dark = _is_dark(application.palette())
        self._template = Template((RESOURCES / "style" / "sluicegate.qss").read_text(encoding="utf-8"))
        self._appearance = appearance
        self._current = self._wanted()
        self._dress()
        application.styleHints().colorSchemeChanged.connect(self._follow)

    @property
    def current(self) -> Theme:
        """The theme in force."""
        return self._current

    @property
    def appearance(self) -> Appearance:
        """What the user asks for."""
        return self._appearance

    def set_appearance(self, appearance: Appearance) -> None:
        """Follow the system, or stay light or dark."""
        self._appearance = appearance
        # Where the desktop can do it, window frames and native dialogs follow too.
        self._application.styleHints().setColorScheme(_SCHEMES[appearance])
        self._follow()

    @Slot()
    def _follow(self) -> None:
        wanted = self._wanted()
        if wanted is not self._current:
            self._current = wanted
            self._dress()
            self.changed.emit(wanted)

    def _wanted(self) -> Theme:
        if self._appearance is not Appearance.SYSTEM:
            return DARK if self._appearance is Appearance.DARK else LIGHT
        scheme = self._application.styleHints().colorScheme()
        if scheme is Qt.ColorScheme.Unknown:  # a desktop that does not say; its palette does
            return DARK if self._system_palette_dark else LIGHT
        return DARK if scheme is Qt.ColorScheme.Dark else LIGHT

    def _dress(self) -> None:
        self._application.setPalette(self._current.palette())
        colours = {name: value for name, value in asdict(self._current).items() if isinstance(value, str)}
        pictures = {"pictures": (RESOURCES / "style").as_posix(), "shade": "dark" if self._current.dark else "light"}
        self._application.setStyleSheet(self._template.substitute(colours | pictures))


def _is_dark(palette: QPalette) -> bool:
    window, text = palette.color(QPalette.ColorRole.Window), palette.color(QPalette.ColorRole.WindowText)
    return window.lightness() < text.lightness()
