"""Loading what only an open case needs, in steps between which the window answers.

Covers loading modules ahead of the first case. What is made of them is the business of `main_window`, which loads
them itself, in one go, where a case is opened before they are all here.
"""

import asyncio
from importlib import import_module

from PySide6 import QtCore, QtGui, QtWidgets


async def load_run_page() -> None:
    """Load the page of a case and the charts in it; call it on the thread of the window."""
    # Knows nothing of Qt, so that it can be loaded in a thread; Qt's classes had better be made in the window's own.
    await asyncio.to_thread(import_module, "numpy")
    # pyqtgraph takes every name out of these three, and a class is made when its name is first taken: half of what
    # loading pyqtgraph costs.
    for module in (QtCore, QtGui, QtWidgets):
        for name in dir(module):
            getattr(module, name)
        await asyncio.sleep(0)
    for part in ("pyqtgraph", "gui.window.run_page"):
        import_module(part)
        await asyncio.sleep(0)
