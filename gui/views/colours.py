"""The colours of the window, once for light and once for dark.

Covers every colour that views use, under the name of its purpose; which set is in force is the business of `theme`.
Text colours keep a contrast of 4.5:1 or more against the backgrounds they are used on, and a test holds that. A
colour never says anything alone: words, icons, line patterns or hatching say it too.
"""

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette

from engine import HoldCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """One set of colours, each as `#rrggbb`."""

    dark: bool
    window: str
    """Behind everything."""
    surface: str
    """Cards, tables and input fields."""
    raised: str
    """Buttons and table headers."""
    hover: str
    """What the pointer is on."""
    border: str
    field: str
    """Edge of what can be typed in or ticked; 3:1 against its ground."""
    text: str
    muted: str
    """Secondary text: captions, units, axis labels."""
    disabled: str
    """Text and icons of what cannot be used now; exempt from the contrast rule, as everywhere."""
    accent: str
    """Links, focus, progress, the one main button."""
    on_accent: str
    """Text on `accent`."""
    selection: str
    """Behind selected rows; normal text stays readable on it."""
    good: str
    warn: str
    bad: str
    twin: str
    """Duplicates."""
    good_soft: str
    """Behind a short text in `good`, and likewise for the others."""
    warn_soft: str
    bad_soft: str
    info_soft: str
    series: str
    """The first curve of a chart."""
    series_two: str
    """The second curve."""
    limit: str
    """Lines of limits in charts."""
    grid: str
    holds: dict[HoldCause, str]
    """Shading of the charts while admission is held."""

    def palette(self) -> QPalette:
        """Return the palette for widgets that take their colours from it."""
        palette = QPalette()
        roles = {
            QPalette.ColorRole.Window: self.window,
            QPalette.ColorRole.WindowText: self.text,
            QPalette.ColorRole.Base: self.surface,
            QPalette.ColorRole.AlternateBase: self.window,
            QPalette.ColorRole.ToolTipBase: self.raised,
            QPalette.ColorRole.ToolTipText: self.text,
            QPalette.ColorRole.PlaceholderText: self.muted,
            QPalette.ColorRole.Text: self.text,
            QPalette.ColorRole.Button: self.raised,
            QPalette.ColorRole.ButtonText: self.text,
            QPalette.ColorRole.BrightText: self.bad,
            QPalette.ColorRole.Highlight: self.accent,
            QPalette.ColorRole.HighlightedText: self.on_accent,
            QPalette.ColorRole.Accent: self.accent,
            QPalette.ColorRole.Link: self.accent,
            QPalette.ColorRole.LinkVisited: self.twin,
        }
        for role, colour in roles.items():
            palette.setColor(role, QColor(colour))
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(self.disabled))
        return palette

    @property
    def scheme(self) -> Qt.ColorScheme:
        """Return what Qt calls this set."""
        return Qt.ColorScheme.Dark if self.dark else Qt.ColorScheme.Light


LIGHT = Theme(
    dark=False,
    window="#f3f5f7",
    surface="#ffffff",
    raised="#fafbfc",
    hover="#e9eef4",
    border="#d9dfe6",
    field="#808c99",
    text="#1b2530",
    muted="#55626f",
    disabled="#a3adb8",
    accent="#1763a6",
    on_accent="#ffffff",
    selection="#d8e8f8",
    good="#1a7346",
    warn="#855600",
    bad="#b0281f",
    twin="#654a9e",
    good_soft="#e3f4ea",
    warn_soft="#fdf1d8",
    bad_soft="#fce8e6",
    info_soft="#e5eff9",
    series="#1763a6",
    series_two="#0d7a6b",
    limit="#a15c00",
    grid="#e8ecf0",
    holds={
        HoldCause.WATERMARK: "#4a86c5",
        HoldCause.USER: "#7d5fc0",
        HoldCause.MEMORY: "#cc4b3f",
        HoldCause.DISK: "#b07a18",
        HoldCause.UPSTREAM: "#2c8f83",
        HoldCause.STORAGE: "#8d6a5c",
    },
)

DARK = Theme(
    dark=True,
    window="#13171c",
    surface="#1a2027",
    raised="#222a33",
    hover="#2b3540",
    border="#303a45",
    field="#6f7c8a",
    text="#e4e9ee",
    muted="#9ba8b5",
    disabled="#5d6874",
    accent="#6fb1f2",
    on_accent="#0c1620",
    selection="#213a55",
    good="#5fcb90",
    warn="#e4b657",
    bad="#ff8f84",
    twin="#bda4f2",
    good_soft="#17352a",
    warn_soft="#382d15",
    bad_soft="#3f2022",
    info_soft="#1b3046",
    series="#6fb1f2",
    series_two="#56c9b5",
    limit="#e0a44a",
    grid="#252d36",
    holds={
        HoldCause.WATERMARK: "#5a9bdc",
        HoldCause.USER: "#a386e8",
        HoldCause.MEMORY: "#f0786c",
        HoldCause.DISK: "#d9a13c",
        HoldCause.UPSTREAM: "#4fbcae",
        HoldCause.STORAGE: "#c29c8c",
    },
)
