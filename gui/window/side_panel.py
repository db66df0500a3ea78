"""A panel at the side of the window that can be put away.

Covers the frame around a view; what is in it is the view's business.
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QScrollArea, QToolButton, QVBoxLayout, QWidget

from gui.views.labels import PlainLabel, card, resize_font


class SidePanel(QDockWidget):
    """Shows a view at the side, on a raised surface with its title and a button to put it away.

    Args:
        title: What stands above the view.
        view: The view.
        parent: The window.
    """

    def __init__(self, title: str, view: QWidget, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName(title)
        self.setAllowedAreas(Qt.DockWidgetArea.RightDockWidgetArea)
        self.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        self.setTitleBarWidget(QWidget())  # the title stands inside the frame
        heading = PlainLabel(title)
        resize_font(heading, 1.1, weight=QFont.Weight.DemiBold)
        close = QToolButton()
        close.setAutoRaise(True)
        close.setText("✕")
        close.setToolTip("Put this panel away")
        close.setAccessibleName("Put this panel away")
        close.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        close.clicked.connect(self.close)
        head = QHBoxLayout()
        head.setContentsMargins(14, 8, 8, 0)
        head.addWidget(heading, 1)
        head.addWidget(close)
        frame = card()
        frame.setStyleSheet("QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }")
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(0)
        inside.addLayout(head)
        inside.addWidget(view, 1)
        for area in view.findChildren(QScrollArea):
            area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the focus of what is in it
        around = QWidget()
        column = QVBoxLayout(around)
        column.setContentsMargins(0, 10, 12, 10)
        column.addWidget(frame)
        self.setWidget(around)
