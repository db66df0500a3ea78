"""Colours that can be read, and a theme that changes while the program runs."""

import re
from dataclasses import asdict

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QCheckBox

from engine import HoldCause
from gui.views.charts.layers import HATCHES
from gui.views.colours import DARK, LIGHT, Theme
from gui.views.theme import RESOURCES, Appearance, Themes
from tests.support.windows import Show

TEXT = ("text", "muted", "accent", "good", "warn", "bad", "twin", "limit", "series", "series_two")
GROUNDS = ("window", "surface", "raised")
PAIRS = [(text, ground) for text in TEXT for ground in GROUNDS]
PAIRS += [("text", ground) for ground in ("hover", "selection", "info_soft", "good_soft", "warn_soft", "bad_soft")]
PAIRS += [(tone, "selection") for tone in ("good", "warn", "bad", "twin", "muted", "accent")]
PAIRS += [("good", "good_soft"), ("warn", "warn_soft"), ("bad", "bad_soft"), ("accent", "info_soft")]
PAIRS += [("on_accent", "accent")]


def _luminance(colour: str) -> float:
    channels = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in _rgb(colour)]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def _rgb(colour: str) -> list[float]:
    made = QColor(colour)
    return [made.redF(), made.greenF(), made.blueF()]


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_can_be_read_on_its_ground(theme: Theme, text: str, ground: str) -> None:
    """Every text colour has a contrast of 4.5:1 or more against every ground that it is used on."""
    assert _contrast(getattr(theme, text), getattr(theme, ground)) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["surface", "window"])
def test_fields_and_curves_stand_out_from_their_ground(theme: Theme, ground: str) -> None:
    """Edges of fields, focus, curves and the shades of holds have a contrast of 3:1 or more."""
    for colour in (theme.field, theme.accent, theme.series, theme.series_two, *theme.holds.values()):
        assert _contrast(colour, getattr(theme, ground)) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_is_one_and_every_hold_has_its_own(theme: Theme) -> None:
    """No name stands for something that is no colour; each hold has a colour and a hatching of its own."""
    colours = [value for value in asdict(theme).values() if isinstance(value, str)]
    assert all(QColor(colour).isValid() and len(colour) == 7 for colour in colours)
    assert set(theme.holds) == set(HATCHES) == set(HoldCause)
    assert len(set(theme.holds.values())) == len(set(HATCHES.values())) == len(HoldCause)
    assert theme.scheme is (Qt.ColorScheme.Dark if theme is DARK else Qt.ColorScheme.Light)


def test_a_change_dresses_the_application_before_it_is_told(application: QApplication, themes: Themes) -> None:
    """Whoever hears of the change already finds the new palette and style sheet in force."""
    found: list[tuple[Theme, str, bool]] = []
    themes.changed.connect(
        lambda theme: found.append(
            (
                theme,
                application.palette().color(QPalette.ColorRole.WindowText).name(),
                DARK.surface in application.styleSheet(),
            )
        )
    )
    themes.set_appearance(Appearance.DARK)
    assert found == [(DARK, DARK.text, True)]
    assert themes.current is DARK
    assert themes.appearance is Appearance.DARK


def test_the_same_theme_again_is_no_change(themes: Themes) -> None:
    """Asking for what is in force already tells nobody."""
    changes = QSignalSpy(themes.changed)
    themes.set_appearance(Appearance.LIGHT)
    assert changes.count() == 0


def test_a_system_that_does_not_say_is_judged_by_its_palette(application: QApplication) -> None:
    """Where the desktop names no colour scheme, its own palette decides."""
    application.setPalette(DARK.palette())
    by_palette = Themes(application, Appearance.SYSTEM)
    expected = DARK if application.styleHints().colorScheme() is Qt.ColorScheme.Unknown else by_palette.current
    assert by_palette.current is expected
    by_palette.set_appearance(Appearance.LIGHT)
    by_palette.deleteLater()


def test_widgets_take_over_a_theme_while_they_are_shown(themes: Themes, show: Show) -> None:
    """A checked box that is on screen is drawn in the new accent after the change."""
    box = show(QCheckBox("x"), 60, 30)
    box.setChecked(True)
    QApplication.processEvents()

    def accents(theme: Theme) -> int:
        image, accent = box.grab().toImage(), QColor(theme.accent)
        return sum(image.pixelColor(x, y) == accent for x in range(image.width()) for y in range(image.height()))

    assert accents(LIGHT) > 20
    themes.set_appearance(Appearance.DARK)
    QApplication.processEvents()
    assert accents(DARK) > 20


def test_the_style_sheet_lies_beside_the_package() -> None:
    """The data folder is where a checkout and a wheel both have it, with everything that the style sheet names."""
    sheet = (RESOURCES / "style" / "sluicegate.qss").read_text(encoding="utf-8")
    pictures = set(re.findall(r"\$pictures/(\w+)-\$shade\.svg", sheet))
    assert pictures >= {"check", "up", "down"}
    for name in pictures:
        for shade in ("light", "dark"):
            assert (RESOURCES / "style" / f"{name}-{shade}.svg").is_file()
