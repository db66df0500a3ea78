"""The actions of the window: their words, shortcuts, menus and toolbar, and when each one can be used.

Covers what is offered. What an action does is connected by `main_window`.
"""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenuBar, QSizePolicy, QToolBar, QToolButton, QWidget

from gui.views.icons import IconName, Icons
from gui.window.abilities import Abilities

_HOLD = "Hold at once; pages in flight are finished"
_GO_ON = "Go on from where it stands"
_STOP = "Finish the pages in flight, commit, and stop; the case can be resumed"


class Actions:
    """Every action of a window, as attributes.

    Args:
        window: The window that owns them; shortcuts work wherever its focus is.
        icons: Dresses them.
    """

    def __init__(self, window: QMainWindow, icons: Icons) -> None:
        self._icons = icons

        def make(text: str, keys: str, tip: str, icon: IconName | None = None) -> QAction:
            action = QAction(text, window)
            if icon is not None:
                icons.dress(action, icon)
            action.setStatusTip(tip)
            if keys:
                action.setShortcut(QKeySequence(keys))
                action.setToolTip(f"{tip} ({QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)})")
            else:
                action.setToolTip(tip)
            return action

        self.open_folder = make("&Open folder…", "Ctrl+O", "Run on a folder of PDFs", IconName.FOLDER)
        self.open_files = make("Open f&iles…", "Ctrl+Shift+O", "Run on single PDF files", IconName.DOCUMENT)
        self.open_case = make("Open &case…", "Ctrl+Alt+O", "Open a case file and see where it stands", IconName.RECENT)
        self.sample = make(
            "&Try a sample batch", "", "Write a small batch of good and bad PDFs, and run on it", IconName.SAMPLE
        )
        self.export_audit = make(
            "Export audit &log…", "Ctrl+E", "Write the hash-chained audit log to a file", IconName.VERIFY
        )
        self.export_text = make(
            "Export te&xts…", "Ctrl+Shift+E", "Write the text of every page below a folder", IconName.EXPORT
        )
        self.close_case = make("Close c&ase", "Ctrl+W", "Stop safely and close this case")
        self.quit = make("&Quit", "Ctrl+Q", "Stop safely and leave")
        self.pause = make("&Pause", "Space", _HOLD, IconName.PAUSE)
        self.stop = make("&Stop", "Ctrl+.", _STOP, IconName.STOP)
        self.limits = make("&Limits", "Ctrl+L", "Show or hide the limits of the flow", IconName.SETTINGS)
        self.about = make("&About Sluicegate", "", "Version, licence and where the log is", IconName.INFO)
        self.limits.setCheckable(True)
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        self.about.setMenuRole(QAction.MenuRole.AboutRole)
        self.show(Abilities())

    def show(self, abilities: Abilities) -> None:
        """Enable what can be done, and let the one button for pause and resume say which it is."""
        resume = abilities.resume and not abilities.pause
        text = "&Resume" if resume else "&Pause"
        if self.pause.text() != text:
            self.pause.setText(text)
            tip = _GO_ON if resume else _HOLD
            self._icons.dress(self.pause, IconName.PLAY if resume else IconName.PAUSE)
            self.pause.setStatusTip(tip)
            self.pause.setToolTip(f"{tip} (Space)")
        self.pause.setEnabled(abilities.pause or abilities.resume)
        self.stop.setEnabled(abilities.stop)
        self.export_audit.setEnabled(abilities.export)
        self.export_text.setEnabled(abilities.export)
        self.close_case.setEnabled(abilities.close)

    def fill_menu(self, bar: QMenuBar) -> None:
        """Put all actions into menus."""
        case = bar.addMenu("&Case")
        case.addActions([self.open_folder, self.open_files, self.open_case, self.sample])
        case.addSeparator()
        case.addActions([self.export_audit, self.export_text])
        case.addSeparator()
        case.addActions([self.close_case, self.quit])
        run = bar.addMenu("&Run")
        run.addActions([self.pause, self.stop])
        view = bar.addMenu("&View")
        view.addAction(self.limits)
        bar.addMenu("&Help").addAction(self.about)

    def fill_toolbar(self, bar: QToolBar) -> None:
        """Put what is needed during a run onto the toolbar."""
        bar.setMovable(False)
        bar.setFloatable(False)
        bar.setIconSize(QSize(18, 18))
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        bar.addActions([self.pause, self.stop])
        bar.addSeparator()
        bar.addActions([self.export_audit, self.export_text])
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(space)
        bar.addAction(self.limits)
        for button in bar.findChildren(QToolButton):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
