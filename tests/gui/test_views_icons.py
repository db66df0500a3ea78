"""Icons: every drawing is there, tinted, and keeps to the theme."""

import gc
import weakref

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QColor, QIcon
from PySide6.QtWidgets import QApplication, QPushButton

from gui.views.icons import IconName, Icons, app_icon
from gui.views.theme import RESOURCES, Appearance, Themes


def _strongest(icon: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal) -> QColor:
    """Return the colour of the most opaque pixel."""
    image = icon.pixmap(QSize(32, 32), 1.0, mode).toImage()
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    return max(pixels, key=QColor.alpha)


@pytest.mark.parametrize("name", list(IconName))
def test_every_icon_is_drawn_in_the_asked_colour(icons: Icons, themes: Themes, name: IconName) -> None:
    """Each drawing exists, shows something, and is tinted; the program's own has its own colours."""
    strongest = _strongest(icons.icon(name, "bad"))
    assert strongest.alpha() == 255
    if name is not IconName.APP:
        assert strongest.name() == themes.current.bad
        assert _strongest(icons.icon(name, "bad"), QIcon.Mode.Disabled).name() == themes.current.disabled


def test_every_drawing_in_the_folder_has_its_name() -> None:
    """No file lies in the folder that the program does not know."""
    assert {path.stem for path in (RESOURCES / "icons").glob("*.svg")} == {name.value for name in IconName}


def test_the_program_has_its_icon_in_every_usual_size(application: QApplication) -> None:
    """Task bars and title bars find the size that they want."""
    assert {size.width() for size in app_icon().availableSizes()} >= {16, 32, 48, 256}


def test_what_is_dressed_follows_the_theme(icons: Icons, themes: Themes) -> None:
    """Buttons and actions get their icon anew, in the new colours, and the same icon is drawn once."""
    button, action = QPushButton(), QAction()
    icons.dress(button, IconName.PAUSE)
    icons.dress(action, IconName.STOP, "bad")
    assert icons.icon(IconName.PAUSE) is icons.icon(IconName.PAUSE)
    themes.set_appearance(Appearance.DARK)
    assert _strongest(button.icon()).name() == themes.current.text
    assert _strongest(action.icon()).name() == themes.current.bad


def test_dressing_keeps_nothing_alive(icons: Icons, themes: Themes) -> None:
    """A button that is gone is forgotten, and a later change of theme does not reach for it."""
    button = QPushButton()
    icons.dress(button, IconName.PLAY)
    gone = weakref.ref(button)
    deleted = QPushButton()
    icons.dress(deleted, IconName.PLAY)
    deleted.deleteLater()
    del button
    gc.collect()
    QApplication.processEvents()
    assert gone() is None
    themes.set_appearance(Appearance.DARK)
